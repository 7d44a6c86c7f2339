/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_team.gpu: a team of threads for a contiguous line. */
#include "kernels/scan/scan_gpu.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_team.gpu",                                                    \
        .summary = "a team of threads for a contiguous line", .applies = scan_team_applies,    \
        .space = scan_team_space, .fallback = scan_team_fallback, .valid = scan_team_valid,    \
        .plan = scan_team_plan, .estimate = scan_team_estimate                                 \
    }

OPTUNE_IMPLS(scan, team) = {ROW("cumsum"), ROW("cumprod"), {0}};
