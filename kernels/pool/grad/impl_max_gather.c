/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_grad_gather.gpu: every element of the data collects from the windows that hold it. */
#include "kernels/pool/pool_gpu.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_gather_plan(task, config, plan, true);
}

OPTUNE_IMPL(pool_grad, max_gather) = {
    .op = "max_pool2d_grad",
    .name = "max_pool2d_grad_gather.gpu",
    .summary = "every element collects from the windows that hold it",
    .applies = pool_gpu_applies,
    .space = pool_gpu_space,
    .fallback = pool_gpu_fallback,
    .valid = pool_gpu_valid,
    .plan = plan,
};
