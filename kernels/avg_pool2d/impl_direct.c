/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_direct.cpu: NCHW, vectors along the width, straight from the data. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(avg_pool2d, direct) = POOL_ROW("avg_pool2d", "avg_pool2d_direct.cpu", pool_direct,
                                           "NCHW, tiles of vectors along the width");
