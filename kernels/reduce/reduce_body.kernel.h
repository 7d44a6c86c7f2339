/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies of reductions share: the op's expressions, and joining the parts that
 * threads reduced separately.
 */
#ifndef OPTUNE_KERNELS_REDUCE_BODY_H
#define OPTUNE_KERNELS_REDUCE_BODY_H

#include "kernels/common/scalar_cpu.kernel.h"
#include "kernels/reduce/expressions.kernel.h"

/* Loops over lanes stay loops until they become one instruction, and loops over vectors are
 * then unrolled: this is what keeps partial results in registers. */
#define LANES ((int)(VEC_BYTES / sizeof(SCALAR)))
#define EACH_VECTOR UNROLL(16)
#define EACH_LANE UNROLL(1)

/* What a stage writes for one output: the result, or with parts what is joined later. */
#if PARTS > 1
typedef SCALAR made;
#define MADE(x) (x)

void join(void *const *arg)
{
    const SCALAR *in = arg[0];
    OUT_T *out = arg[1];
    for (i64 k = 0; k < OUTPUTS; k++) {
        SCALAR sum = in[k];
        for (i64 p = 1; p < PARTS; p++)
            sum = combine(sum, in[p * OUTPUTS + k]);
        out[k] = finish(sum);
    }
}
#else
typedef OUT_T made;
#define MADE(x) finish(x)
#endif

#endif
