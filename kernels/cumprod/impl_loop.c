/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod_loop.cpu: one element at a time, a few lines together. */
#include "kernels/scan/scan_rows.h"

OPTUNE_IMPL(cumprod, loop) = {
    .op = "cumprod",
    .name = "cumprod_loop.cpu",
    .summary = "one element at a time, a few lines together",
    .applies = scan_applies,
    .space = scan_loop_space,
    .fallback = scan_loop_fallback,
    .valid = scan_loop_valid,
    .plan = scan_loop_plan,
};
