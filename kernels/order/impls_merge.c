/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_merge.cpu: a merge sort, for any element and any length. */
#include "kernels/order/order_rows.h"

#define ROW(op_, more)                                                                         \
    {                                                                                          \
        .op = op_, .name = op_ "_merge.cpu",                                                   \
        .summary = "a merge sort, for any element and any length" more,                        \
        .applies = order_applies, .space = order_merge_space,                                  \
        .fallback = order_merge_fallback, .valid = order_quick_valid,                          \
        .plan = order_merge_plan, .symbolic = "*"                                              \
    }

OPTUNE_IMPLS(order, merge) = {
    ROW("sort", ""), ROW("argsort", ""), ROW("topk", "; the first k are kept"), {0}};
