/* SPDX-License-Identifier: Apache-2.0 */
/* topk_loops.generic: any dtype, axis and dims. */
#include "kernels/order/generic.h"

OPTUNE_IMPL(topk, loops) = GENERIC_ROW("topk",
                                       "a heap in the output, line by line, in any dtype",
                                       order_generic_plan);
