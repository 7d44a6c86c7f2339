/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_direct.cpu: NCHW, vectors along the width, straight from the data. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPLS(pool, direct) = POOL_ROWS_OF("_direct.cpu", pool_direct,
                                          "NCHW, tiles of vectors along the width",
                                          "data.0 data.2");
