/* SPDX-License-Identifier: Apache-2.0 */
/* topk_merge.cpu: a merge sort, for any element and any length; the first k are kept. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(topk, merge) = {
    .op = "topk",
    .name = "topk_merge.cpu",
    .summary = "a merge sort, for any element and any length; the first k are kept",
    .applies = order_applies,
    .space = order_merge_space,
    .fallback = order_merge_fallback,
    .valid = order_quick_valid,
    .plan = order_merge_plan,
};
