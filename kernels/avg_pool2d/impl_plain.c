/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d without a schedule of any target's own: right everywhere, tuned nowhere. */
#include "kernels/pool/schedules.h"

OPTUNE_IMPL(avg_pool2d, plain) = POOL_ROW("avg_pool2d", "avg_pool2d.generic", pool_plain,
                                          "one window after the other");
