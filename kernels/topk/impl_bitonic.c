/* SPDX-License-Identifier: Apache-2.0 */
/* topk_bitonic.gpu: a network in shared memory. */
#include "kernels/order/order_gpu.h"

OPTUNE_IMPL(topk, bitonic) = {
    .op = "topk",
    .name = "topk_bitonic.gpu",
    .summary = "a network in shared memory",
    .applies = order_bitonic_applies,
    .space = order_bitonic_space,
    .fallback = order_bitonic_fallback,
    .valid = order_bitonic_valid,
    .plan = order_bitonic_plan,
};
