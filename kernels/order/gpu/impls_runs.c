/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_runs.gpu: pieces in shared memory, merged pass by pass. */
#include "kernels/order/gpu/order_gpu.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_runs.gpu",                                                    \
        .summary = "pieces in shared memory, merged pass by pass",                             \
        .applies = order_runs_applies, .space = order_runs_space,                              \
        .fallback = order_runs_fallback, .valid = order_runs_valid, .plan = order_runs_plan,   \
        .estimate = order_runs_estimate                                                        \
    }

OPTUNE_IMPLS(order_gpu, runs) = {ROW("sort"), ROW("argsort"), ROW("topk"), {0}};
