/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A square of elements turned over in registers: VLEN vectors whose rows become columns. Behind
 * cpu.kernel.h, whose words it uses.
 */
#ifndef OPTUNE_KERNELS_COMMON_TURN_H
#define OPTUNE_KERNELS_COMMON_TURN_H

#include "kernels/common/cpu.kernel.h"

/* Integers as wide as DTYPE. */
typedef __typeof__(__builtin_choose_expr(sizeof(DTYPE) == 8, (i64)0, (i32)0)) vmask
    __attribute__((vector_size(VEC_BYTES)));

/* Lane j is lane lanes[j] of a and b side by side. */
INLINE vec vec_shuffle(vec a, vec b, vmask lanes)
{
#ifdef __clang__ /* folds this where the lanes are constants, as they are below */
    vec r;
    UNROLL(64)
    for (int j = 0; j < VLEN; j++)
        r[j] = lanes[j] < VLEN ? a[lanes[j] % VLEN] : b[lanes[j] % VLEN];
    return r;
#else
    return __builtin_shuffle(a, b, lanes);
#endif
}

/* r[i][j] becomes r[j][i]: a butterfly of log2(VLEN) steps of two-source permutations. */
INLINE void vec_turn(vec r[VLEN])
{
    vmask lane = {0};
    UNROLL(64)
    for (int j = 0; j < VLEN; j++)
        lane[j] = j;
    UNROLL(8)
    for (int s = 1; s < VLEN; s *= 2) {
        /* Lanes with bit s come from the other source, displaced by s. */
        const vmask low = lane + (((lane & s) != 0) & (VLEN - s)), high = low + s;
        UNROLL(64)
        for (int i = 0; i < VLEN; i++)
            if (!(i & s)) {
                const vec a = r[i], b = r[i | s];
                r[i] = vec_shuffle(a, b, low);
                r[i | s] = vec_shuffle(a, b, high);
            }
    }
}

#endif
