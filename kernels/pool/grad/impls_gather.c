/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_gather.gpu: every element of the data collects from the windows that hold it. */
#include "kernels/pool/pool_gpu.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_gather.gpu",                                                  \
        .summary = "every element collects from the windows that hold it",                     \
        .applies = pool_gpu_applies, .space = pool_gather_space,                               \
        .fallback = pool_gather_fallback, .valid = pool_gather_valid,                          \
        .plan = pool_gather_plan, .estimate = pool_gather_estimate                             \
    }

OPTUNE_IMPLS(pool_grad, gather) = {ROW("max_pool2d_grad"), ROW("avg_pool2d_grad"), {0}};
