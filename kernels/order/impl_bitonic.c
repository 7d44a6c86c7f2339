/* SPDX-License-Identifier: Apache-2.0 */
/* sort_bitonic.gpu: a network in shared memory. */
#include "kernels/order/order_gpu.h"

OPTUNE_IMPL(order, bitonic) = {
    .op = "sort",
    .name = "sort_bitonic.gpu",
    .summary = "a network in shared memory",
    .applies = order_bitonic_applies,
    .space = order_bitonic_space,
    .fallback = order_bitonic_fallback,
    .valid = order_bitonic_valid,
    .plan = order_bitonic_plan,
};
