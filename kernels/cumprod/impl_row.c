/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod_row.cpu: a contiguous axis in registers, rows shared by threads where there are few. */
#include "kernels/scan/scan_rows.h"

OPTUNE_IMPL(cumprod, row) = {
    .op = "cumprod",
    .name = "cumprod_row.cpu",
    .summary = "a contiguous axis in registers, rows shared by threads where there are few",
    .applies = scan_row_applies,
    .space = scan_row_space,
    .fallback = scan_row_fallback,
    .valid = scan_row_valid,
    .plan = scan_row_plan,
};
