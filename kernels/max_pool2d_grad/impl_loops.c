/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_grad_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

GENERIC_IMPL(max_pool2d_grad, loops, "gathers what windows give, element by element",
             pool_generic_plan);
