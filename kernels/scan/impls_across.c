/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_across.gpu: a thread for each line, side by side. */
#include "kernels/scan/scan_gpu.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_across.gpu",                                                  \
        .summary = "a thread for each line, side by side", .applies = scan_gpu_applies,        \
        .space = scan_across_space, .fallback = scan_across_fallback,                          \
        .valid = scan_across_valid, .plan = scan_across_plan, .estimate = scan_across_estimate \
    }

OPTUNE_IMPLS(scan, across) = {ROW("cumsum"), ROW("cumprod"), {0}};
