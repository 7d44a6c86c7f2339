/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_grad_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

OPTUNE_IMPL(avg_pool2d_grad,
            loops) = GENERIC_ROW("avg_pool2d_grad",
                                 "gathers what windows give, element by element",
                                 pool_generic_plan);
