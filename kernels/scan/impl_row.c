/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_row.cpu: a contiguous axis in registers, rows shared by threads where there are few. */
#include "kernels/scan/scan_rows.h"

OPTUNE_IMPL(scan, row) = {
    .op = "cumsum",
    .name = "cumsum_row.cpu",
    .summary = "a contiguous axis in registers, rows shared by threads where there are few",
    .applies = scan_row_applies,
    .space = scan_row_space,
    .fallback = scan_row_fallback,
    .valid = scan_row_valid,
    .plan = scan_row_plan,
};
