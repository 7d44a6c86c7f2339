/* SPDX-License-Identifier: Apache-2.0 */
/* <op>.generic: no schedule of any target's own: right everywhere, tuned nowhere. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPLS(pool, plain) = POOL_ROWS_OF(".generic", pool_plain, "one window after the other",
                                         "data.0 data.2");
