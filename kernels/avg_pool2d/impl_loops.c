/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

GENERIC_IMPL(avg_pool2d, loops, "one window after the other, in any dtype", pool_generic_plan);
