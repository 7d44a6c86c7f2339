/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_block.cpu: NCHW<c>c, vectors of channels. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(avg_pool2d, block) = POOL_ROW("avg_pool2d", "avg_pool2d_block.cpu", pool_block,
                                          "NCHW<c>c, tiles of vectors of channels");
