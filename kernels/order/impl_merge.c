/* SPDX-License-Identifier: Apache-2.0 */
/* sort_merge.cpu: a merge sort, for any element and any length. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(order, merge) = {
    .op = "sort",
    .name = "sort_merge.cpu",
    .summary = "a merge sort, for any element and any length",
    .applies = order_applies,
    .space = order_merge_space,
    .fallback = order_merge_fallback,
    .valid = order_quick_valid,
    .plan = order_merge_plan,
};
