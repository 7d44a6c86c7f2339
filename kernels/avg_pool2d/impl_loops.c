/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

OPTUNE_IMPL(avg_pool2d, loops) = GENERIC_ROW("avg_pool2d",
                                             "one window after the other, in any dtype",
                                             pool_generic_plan);
