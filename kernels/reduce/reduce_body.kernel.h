/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies of reductions share: the op's expressions, and joining the parts that
 * threads reduced separately.
 */
#ifndef OPTUNE_KERNELS_REDUCE_BODY_H
#define OPTUNE_KERNELS_REDUCE_BODY_H

#include "kernels/common/scalar_cpu.kernel.h"
#include "kernels/common/stored.kernel.h"
#include "kernels/reduce/expressions.kernel.h"

/* Tensors in memory: 16-bit floats become SCALAR, which is float, vector by vector in a buffer,
 * from which loops over lanes take them. */
#if STORED_HALF
#define HALVES(t) __builtin_types_compatible_p(t, float)
#define MEMORY(t) __typeof__(__builtin_choose_expr(HALVES(t), (stored)0, (t)0))
#define TAKEN(x) ((SCALAR) __builtin_choose_expr(HALVES(IN_T), stored_value((stored)(x)), (x)))
#define GIVEN(x) __builtin_choose_expr(HALVES(OUT_T), stored_of((SCALAR)(x)), (x))
#else
#define MEMORY(t) t
#define TAKEN(x) ((SCALAR)(x))
#define GIVEN(x) (x)
#endif
typedef MEMORY(IN_T) in_memory;
typedef MEMORY(OUT_T) out_memory;

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
    out_memory *out = arg[1];
    for (i64 k = 0; k < OUTPUTS; k++) {
        SCALAR sum = in[k];
        for (i64 p = 1; p < PARTS; p++)
            sum = combine(sum, in[p * OUTPUTS + k]);
        out[k] = GIVEN(finish(sum));
    }
}
#else
typedef out_memory made;
#define MADE(x) GIVEN(finish(x))
#endif

#endif
