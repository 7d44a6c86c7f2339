/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fused behind a call, for CPU bodies: the fused operators applied to values that are
 * still in registers. A body calls epilogue() (a vector) or epilogue_one() (one element) once
 * on every finished output value, after the last accumulation, just before it is stored, or
 * epilogue_rows() on a tile it has just stored. EPILOGUE tells whether anything is fused; where
 * nothing is they are the identity and cost nothing.
 *
 * The harness defines, in a module whose plan offered to fuse (optune_plan_fuse):
 * EPILOGUE_OPERANDS(X, o), an X(k, a, at, step) for each extra input: its number, its place
 * among the stage's arguments, the index that goes with element `o` of the output, and how far
 * the next lane's is (0 or 1); and EPILOGUE_CHAIN(v, E), statements that apply all expressions
 * to `v` with E(k) as extra input k.
 */
#ifndef OPTUNE_KERNELS_COMMON_EPILOGUE_H
#define OPTUNE_KERNELS_COMMON_EPILOGUE_H

#include "kernels/common/cpu.kernel.h"

#ifdef EPILOGUE_CHAIN

#define EPILOGUE 1

#include "kernels/common/scalar_cpu.kernel.h"

/* `lanes` elements, the same one where step is 0; reads nothing beyond them. */
INLINE vec epilogue_operand(const DTYPE *p, const int step, const int lanes)
{
    if (step == 0)
        return splat(*p);
    if (lanes >= VLEN)
        return load(p);
    vec v = {0};
    if (__builtin_constant_p(lanes)) {
        __builtin_memcpy(&v, p, (usize)lanes * sizeof(DTYPE));
        return v;
    }
    DTYPE some[VLEN] __attribute__((aligned(VEC_BYTES))) = {0};
    UNROLL(8)
    for (int h = VLEN / 2, i = 0; h > 0; h /= 2)
        if (lanes & h) {
            __builtin_memcpy(some + i, p + i, (usize)h * sizeof(DTYPE));
            i += h;
        }
    return *(const vec *)some;
}

/* v is elements o, o + 1 .. o + lanes - 1 of the output; arg is that of the stage. */
INLINE vec epilogue(vec v, void *const *arg, i64 o, const int lanes)
{
    DTYPE ot_x[VLEN] __attribute__((aligned(VEC_BYTES)));
    *(vec *)ot_x = v;
#define EPILOGUE_DECLARE(k, a, at, step)                                                       \
    DTYPE ot_e##k[VLEN] __attribute__((aligned(VEC_BYTES)));                                   \
    *(vec *)ot_e##k = epilogue_operand((const DTYPE *)arg[a] + (at), step, lanes);
#define EPILOGUE_LANE(k) ot_e##k[ot_l]
    EPILOGUE_OPERANDS(EPILOGUE_DECLARE, o)
    /* Not unrolled before it becomes vector code. */
    UNROLL(1)
    for (int ot_l = 0; ot_l < VLEN; ot_l++)
        EPILOGUE_CHAIN(ot_x[ot_l], EPILOGUE_LANE)
    return *(vec *)ot_x;
}

/* One element, number o of the output. */
INLINE DTYPE epilogue_one(DTYPE ot_x, void *const *arg, i64 o)
{
#define EPILOGUE_READ(k, a, at, step) const DTYPE ot_e##k = ((const DTYPE *)arg[a])[at];
#define EPILOGUE_ELEMENT(k) ot_e##k
    EPILOGUE_OPERANDS(EPILOGUE_READ, o)
    EPILOGUE_CHAIN(ot_x, EPILOGUE_ELEMENT)
    return ot_x;
}

/* A stored tile: rows of `cols` elements, `ld` apart in memory and in the output. The last
 * vector of a row overlaps the one before it, so it is computed before that one is stored. */
static __attribute__((noinline, unused)) void epilogue_rows(DTYPE *c, i64 ld, i64 rows,
                                                            i64 cols, void *const *arg, i64 o)
{
    for (i64 i = 0; i < rows; i++, c += ld, o += ld) {
        i64 j = 0;
        if (cols < VLEN) {
            for (; j < cols; j++)
                c[j] = epilogue_one(c[j], arg, o + j);
            continue;
        }
        const vec last = epilogue(load(c + cols - VLEN), arg, o + cols - VLEN, VLEN);
        for (; j + VLEN < cols; j += VLEN)
            store(c + j, epilogue(load(c + j), arg, o + j, VLEN));
        store(c + cols - VLEN, last);
    }
}

#else

#define EPILOGUE 0
#define epilogue_rows(c, ld, rows, cols, arg, o) ((void)0)
#define epilogue(v, arg, o, lanes) (v)
#define epilogue_one(x, arg, o) (x)

#endif
#endif
