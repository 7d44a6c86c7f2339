/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_rows.cpu: NCHW, rows of a window folded first, then columns. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPLS(pool, rows) = POOL_ROWS("_rows.cpu", pool_rows,
                                     "NCHW, first the rows of windows, then their columns");
