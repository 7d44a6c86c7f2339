/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_window.gpu: a thread for each window, in any layout. */
#include "kernels/pool/pool_gpu.h"

OPTUNE_IMPL(pool, window) = {
    .op = "max_pool2d",
    .name = "max_pool2d_window.gpu",
    .summary = "a thread for each window",
    .applies = pool_gpu_applies,
    .space = pool_gpu_space,
    .fallback = pool_gpu_fallback,
    .valid = pool_gpu_valid,
    .plan = pool_window_plan,
};
