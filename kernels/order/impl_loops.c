/* SPDX-License-Identifier: Apache-2.0 */
/* sort_loops.generic: any dtype, axis and dims. */
#include "kernels/order/generic.h"

OPTUNE_IMPL(order, loops) = GENERIC_ROW("sort",
                                       "a heap in the output, line by line, in any dtype",
                                       order_generic_plan);
