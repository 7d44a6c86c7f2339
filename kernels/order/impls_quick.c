/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_quick.cpu: splits without branches, down to a few dozen. */
#include "kernels/order/order_rows.h"

#define ROW(op_, more)                                                                         \
    {                                                                                          \
        .op = op_, .name = op_ "_quick.cpu",                                                   \
        .summary = "splits without branches, down to a few dozen" more,                        \
        .applies = order_narrow, .space = order_quick_space, .fallback = order_quick_fallback, \
        .valid = order_quick_valid, .plan = order_quick_plan, .symbolic = "*"                  \
    }

OPTUNE_IMPLS(order, quick) = {
    ROW("sort", ""), ROW("argsort", ""), ROW("topk", ", only where the k best are"), {0}};
