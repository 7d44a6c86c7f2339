/* SPDX-License-Identifier: Apache-2.0 */
/* topk_quick.cpu: splits without branches, down to a few dozen, only where the k best are. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(topk, quick) = {
    .op = "topk",
    .name = "topk_quick.cpu",
    .summary = "splits without branches, down to a few dozen, only where the k best are",
    .applies = order_narrow,
    .space = order_quick_space,
    .fallback = order_quick_fallback,
    .valid = order_quick_valid,
    .plan = order_quick_plan,
};
