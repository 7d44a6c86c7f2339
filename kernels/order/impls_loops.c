/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loops.generic: any dtype, axis and dims. */
#include "kernels/order/generic.h"

#define ROW(op)                                                                                \
    GENERIC_ROW(op, "a heap in the output, line by line, in any dtype", order_generic_plan)

OPTUNE_IMPLS(order, loops) = {ROW("sort"), ROW("argsort"), ROW("topk"), {0}};
