/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loop.cpu: one element at a time, a few lines together. */
#include "kernels/scan/scan_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_loop.cpu",                                                    \
        .summary = "one element at a time, a few lines together", .applies = scan_applies,     \
        .space = scan_loop_space, .fallback = scan_loop_fallback, .valid = scan_loop_valid,    \
        .plan = scan_loop_plan, .symbolic = "*"                                                \
    }

OPTUNE_IMPLS(scan, loop) = {ROW("cumsum"), ROW("cumprod"), {0}};
