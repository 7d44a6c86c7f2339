/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod_across.gpu: a thread for each line, side by side. */
#include "kernels/scan/scan_gpu.h"

OPTUNE_IMPL(cumprod, across) = {
    .op = "cumprod",
    .name = "cumprod_across.gpu",
    .summary = "a thread for each line, side by side",
    .applies = scan_gpu_applies,
    .space = scan_across_space,
    .fallback = scan_across_fallback,
    .valid = scan_across_valid,
    .plan = scan_across_plan,
};
