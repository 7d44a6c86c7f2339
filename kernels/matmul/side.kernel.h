/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of what lies side by side across the depth: a matrix of which rows, not columns, are a
 * number of depth each. No square is turned over: a word's numbers are those of WORD rows.
 */
#ifndef OPTUNE_KERNELS_MATMUL_SIDE_H
#define OPTUNE_KERNELS_MATMUL_SIDE_H

#include "kernels/common/held.kernel.h"
#include "kernels/matmul/dot.kernel.h"

/* The words of VLEN columns and of the first WORD of `rows` rows of depth, `apart` in memory; zeros
 * behind the rows and behind `lanes` columns. Touches nothing that is not there. */
INLINE words side_words(const IN_T *from, i64 apart, i64 lanes, i64 rows)
{
    typedef IN_T some __attribute__((vector_size(VLEN * sizeof(IN_T)), aligned(1), may_alias));
    typedef __typeof__(__builtin_choose_expr(sizeof(IN_T) == 2, (unsigned short)0,
                                             (unsigned char)0)) bits;
    typedef bits some_bits __attribute__((vector_size(VLEN * sizeof(bits))));
    words w = {0};
    UNROLL(4)
    for (int r = 0; r < WORD; r++) {
        if (r >= rows)
            break;
        some_bits x = {0};
        if (lanes >= VLEN)
            x = (some_bits)(*(const some *)(from + r * apart));
        else if (lanes > 0)
            __builtin_memcpy(&x, from + r * apart, (usize)lanes * sizeof *from);
#if DOT_SPLIT
        w = dot_split((halves)x);
#else
        HELD(x);
        w |= __builtin_convertvector(x, words) << (32 / WORD * r) % 32;
#endif
    }
    return w;
}

#endif
