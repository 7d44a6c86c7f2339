/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_rows.cpu: NCHW, rows of a window folded first, then columns. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(pool, rows) = POOL_ROW("max_pool2d", "max_pool2d_rows.cpu", pool_rows,
                                         "NCHW, first the rows of windows, then their columns");
