/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_flat.cpu: NCHW of stride 1, small planes as one long row. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPLS(pool, flat) = POOL_ROWS("_flat.cpu", pool_flat,
                                     "NCHW of stride 1, small padded planes as one row");
