/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_sweep.cpu: lines beside each other as lanes, row by row with carries in the first
 * cache. */
#include "kernels/scan/scan_rows.h"

OPTUNE_IMPL(scan, sweep) = {
    .op = "cumsum",
    .name = "cumsum_sweep.cpu",
    .summary = "lines beside each other as lanes, row by row with carries in the first cache",
    .applies = scan_columns_applies,
    .space = scan_sweep_space,
    .fallback = scan_sweep_fallback,
    .valid = scan_sweep_valid,
    .plan = scan_sweep_plan,
};
