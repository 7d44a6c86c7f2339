/* SPDX-License-Identifier: Apache-2.0 */
/* argsort_loops.generic: any dtype, axis and dims. */
#include "kernels/order/generic.h"

OPTUNE_IMPL(argsort, loops) = GENERIC_ROW("argsort",
                                          "a heap in the output, line by line, in any dtype",
                                          order_generic_plan);
