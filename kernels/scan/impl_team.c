/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_team.gpu: a team of threads for a contiguous line. */
#include "kernels/scan/scan_gpu.h"

OPTUNE_IMPL(scan, team) = {
    .op = "cumsum",
    .name = "cumsum_team.gpu",
    .summary = "a team of threads for a contiguous line",
    .applies = scan_team_applies,
    .space = scan_team_space,
    .fallback = scan_team_fallback,
    .valid = scan_team_valid,
    .plan = scan_team_plan,
};
