/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d without a schedule of any target's own: right everywhere, tuned nowhere. */
#include "kernels/pool/schedules.h"

POOL_IMPL(avg_pool2d, plain, "avg_pool2d.generic", pool_plain, "one window after the other");
