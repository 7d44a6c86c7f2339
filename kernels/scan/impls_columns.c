/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_columns.cpu: lines beside each other as lanes, carries in registers. */
#include "kernels/scan/scan_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_columns.cpu",                                                 \
        .summary = "lines beside each other as lanes, carries in registers",                   \
        .applies = scan_columns_applies, .space = scan_columns_space,                          \
        .fallback = scan_columns_fallback, .valid = scan_columns_valid,                        \
        .plan = scan_columns_plan, .symbolic = "*"                                             \
    }

OPTUNE_IMPLS(scan, columns) = {ROW("cumsum"), ROW("cumprod"), {0}};
