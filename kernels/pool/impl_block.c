/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_block.cpu: NCHW<c>c, vectors of channels. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(pool, block) = POOL_ROW("max_pool2d", "max_pool2d_block.cpu", pool_block,
                                          "NCHW<c>c, tiles of vectors of channels");
