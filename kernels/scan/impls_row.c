/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_row.cpu: a contiguous axis in registers, rows shared by threads where there are few. */
#include "kernels/scan/scan_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_row.cpu",                                                     \
        .summary =                                                                             \
            "a contiguous axis in registers, rows shared by threads where there are few",      \
        .applies = scan_row_applies, .space = scan_row_space, .fallback = scan_row_fallback,   \
        .valid = scan_row_valid, .plan = scan_row_plan, .symbolic = "*"                        \
    }

OPTUNE_IMPLS(scan, row) = {ROW("cumsum"), ROW("cumprod"), {0}};
