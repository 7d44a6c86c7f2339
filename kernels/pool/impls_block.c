/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_block.cpu: NCHW<c>c, vectors of channels. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPLS(pool, block) = POOL_ROWS("_block.cpu", pool_block,
                                      "NCHW<c>c, tiles of vectors of channels");
