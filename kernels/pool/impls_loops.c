/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loops.generic: any dtype, layout and dims. */
#include "kernels/pool/generic.h"

#define ROW(op) GENERIC_ROW(op, "one window after the other, in any dtype", pool_generic_plan)

OPTUNE_IMPLS(pool, loops) = {ROW("max_pool2d"), ROW("avg_pool2d"), {0}};
