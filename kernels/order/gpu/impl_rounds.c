/* SPDX-License-Identifier: Apache-2.0 */
/* topk_rounds.gpu: the best of every piece, until one is left. */
#include "kernels/order/gpu/order_gpu.h"

OPTUNE_IMPL(order_gpu, rounds) = {
    .op = "topk",
    .name = "topk_rounds.gpu",
    .summary = "the best of every piece, until one is left",
    .applies = order_rounds_applies,
    .space = order_runs_space,
    .fallback = order_rounds_fallback,
    .valid = order_rounds_valid,
    .plan = order_rounds_plan,
    .estimate = order_rounds_estimate,
};
