/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_sweep.cpu: lines beside each other as lanes, row by row with carries in the first cache. */
#include "kernels/scan/scan_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_sweep.cpu",                                                   \
        .summary =                                                                             \
            "lines beside each other as lanes, row by row with carries in the first cache",    \
        .applies = scan_columns_applies, .space = scan_sweep_space,                            \
        .fallback = scan_sweep_fallback, .valid = scan_sweep_valid, .plan = scan_sweep_plan,   \
        .symbolic = "*"                                                                        \
    }

OPTUNE_IMPLS(scan, sweep) = {ROW("cumsum"), ROW("cumprod"), {0}};
