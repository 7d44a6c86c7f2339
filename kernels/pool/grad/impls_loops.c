/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

#define ROW(op)                                                                                \
    GENERIC_ROW(op, "gathers what windows give, element by element", pool_generic_plan)

OPTUNE_IMPLS(pool_grad, loops) = {ROW("max_pool2d_grad"), ROW("avg_pool2d_grad"), {0}};
