/* SPDX-License-Identifier: Apache-2.0 */
/* argsort_quick.cpu: splits without branches, down to a few dozen. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(argsort, quick) = {
    .op = "argsort",
    .name = "argsort_quick.cpu",
    .summary = "splits without branches, down to a few dozen",
    .applies = order_narrow,
    .space = order_quick_space,
    .fallback = order_quick_fallback,
    .valid = order_quick_valid,
    .plan = order_quick_plan,
};
