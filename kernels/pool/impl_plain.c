/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d without a schedule of any target's own: right everywhere, tuned nowhere. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(pool, plain) = POOL_ROW("max_pool2d", "max_pool2d.generic", pool_plain,
                                          "one window after the other");
