/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_flat.cpu: NCHW of stride 1, small planes as one long row. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(pool, flat) = POOL_ROW("max_pool2d", "max_pool2d_flat.cpu", pool_flat,
                                         "NCHW of stride 1, small padded planes as one row");
