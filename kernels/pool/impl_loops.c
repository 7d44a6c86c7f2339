/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

OPTUNE_IMPL(pool, loops) = GENERIC_ROW("max_pool2d",
                                             "one window after the other, in any dtype",
                                             pool_generic_plan);
