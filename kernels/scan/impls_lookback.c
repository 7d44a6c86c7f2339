/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_lookback.cuda: a contiguous axis in one pass. */
#include "kernels/scan/scan_lookback.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_lookback.cuda", .summary = "a contiguous axis in one pass",   \
        .applies = scan_lookback_applies, .space = scan_lookback_space,                        \
        .fallback = scan_lookback_fallback, .valid = scan_lookback_valid,                      \
        .plan = scan_lookback_plan, .estimate = scan_lookback_estimate, .symbolic = "*"        \
    }

OPTUNE_IMPLS(scan, lookback) = {ROW("cumsum"), ROW("cumprod"), {0}};
