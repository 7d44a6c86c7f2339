/* SPDX-License-Identifier: Apache-2.0 */
/* sort_radix.cpu: digits, the least significant first. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(order, radix) = {
    .op = "sort",
    .name = "sort_radix.cpu",
    .summary = "digits, the least significant first",
    .applies = order_applies,
    .space = order_radix_space,
    .fallback = order_radix_fallback,
    .valid = order_radix_valid,
    .plan = order_radix_plan,
};
