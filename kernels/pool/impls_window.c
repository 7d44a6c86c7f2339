/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_window.gpu: a thread for each window, in any layout. */
#include "kernels/pool/pool_gpu.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_window.gpu", .summary = "a thread for each window",           \
        .applies = pool_window_applies, .space = pool_window_space,                            \
        .fallback = pool_window_fallback, .valid = pool_window_valid,                          \
        .plan = pool_window_plan, .estimate = pool_window_estimate                             \
    }

OPTUNE_IMPLS(pool, window) = {ROW("max_pool2d"), ROW("avg_pool2d"), {0}};
