/* SPDX-License-Identifier: Apache-2.0 */
/* topk_radix.cpu: digits, the least significant first; the first k are kept. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(topk, radix) = {
    .op = "topk",
    .name = "topk_radix.cpu",
    .summary = "digits, the least significant first; the first k are kept",
    .applies = order_applies,
    .space = order_radix_space,
    .fallback = order_radix_fallback,
    .valid = order_radix_valid,
    .plan = order_radix_plan,
};
