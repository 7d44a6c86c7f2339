/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_radix.cpu: digits, the least significant first. */
#include "kernels/order/order_rows.h"

#define ROW(op_, more)                                                                         \
    {                                                                                          \
        .op = op_, .name = op_ "_radix.cpu",                                                   \
        .summary = "digits, the least significant first" more, .applies = order_applies,       \
        .space = order_radix_space, .fallback = order_radix_fallback,                          \
        .valid = order_radix_valid, .plan = order_radix_plan, .symbolic = "*"                  \
    }

OPTUNE_IMPLS(order, radix) = {
    ROW("sort", ""), ROW("argsort", ""), ROW("topk", "; the first k are kept"), {0}};
