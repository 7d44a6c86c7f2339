/* SPDX-License-Identifier: Apache-2.0 */
/* topk_runs.gpu: pieces in shared memory, merged pass by pass. */
#include "kernels/order/order_gpu.h"

OPTUNE_IMPL(topk, runs) = {
    .op = "topk",
    .name = "topk_runs.gpu",
    .summary = "pieces in shared memory, merged pass by pass",
    .applies = order_runs_applies,
    .space = order_runs_space,
    .fallback = order_runs_fallback,
    .valid = order_runs_valid,
    .plan = order_runs_plan,
};
