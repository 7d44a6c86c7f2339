/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_direct.cpu: NCHW, vectors along the width, straight from the data. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(pool, direct) = POOL_ROW("max_pool2d", "max_pool2d_direct.cpu", pool_direct,
                                           "NCHW, tiles of vectors along the width");
