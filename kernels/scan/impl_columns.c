/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_columns.cpu: lines beside each other as lanes, carries in registers. */
#include "kernels/scan/scan_rows.h"

OPTUNE_IMPL(scan, columns) = {
    .op = "cumsum",
    .name = "cumsum_columns.cpu",
    .summary = "lines beside each other as lanes, carries in registers",
    .applies = scan_columns_applies,
    .space = scan_columns_space,
    .fallback = scan_columns_fallback,
    .valid = scan_columns_valid,
    .plan = scan_columns_plan,
};
