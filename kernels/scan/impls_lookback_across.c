/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_lookback_across.cuda: neighbouring lines in one pass. */
#include "kernels/scan/scan_lookback.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_lookback_across.cuda",                                        \
        .summary = "neighbouring lines in one pass", .applies = scan_lookback_across_applies,  \
        .space = scan_lookback_across_space, .fallback = scan_lookback_across_fallback,        \
        .valid = scan_lookback_across_valid, .plan = scan_lookback_across_plan,                \
        .estimate = scan_lookback_across_estimate, .symbolic = "*"                             \
    }

OPTUNE_IMPLS(scan, lookback_across) = {ROW("cumsum"), ROW("cumprod"), {0}};
