/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_grad_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

OPTUNE_IMPL(pool_grad, loops) = GENERIC_ROW("max_pool2d_grad",
                                 "gathers what windows give, element by element",
                                 pool_generic_plan);
