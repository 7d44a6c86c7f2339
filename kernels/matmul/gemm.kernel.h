/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A register-tile GEMM for CPU bodies: acc[rows][GEMM_NV vectors] += A[rows][depth] * B panel,
 * and the packing that makes panels. It never allocates and never touches a byte outside the
 * operands it is given; ragged edges are a smaller constant `rows` or `cols`.
 *
 * The one idea: shapes are constants, so a ragged edge is another instance of the same inlined
 * code, and every accumulator stays in a register because all loops over the tile unroll. A is
 * read one element at a time through two strides (plain, transposed or packed rows); B is read
 * as whole vectors of a panel [depth][GEMM_NR], zero padded at the right edge.
 *
 * The body defines GEMM_MR and GEMM_NV (the largest tile) before including this, and may define
 * GEMM_KU (steps of depth unrolled), GEMM_AHEAD (steps of depth to prefetch B ahead; 0: no) and
 * GEMM_FUSED (what computes what is fused, where extra inputs are not of DTYPE).
 * Algorithm: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
 */
#ifndef OPTUNE_KERNELS_COMMON_GEMM_H
#define OPTUNE_KERNELS_COMMON_GEMM_H

#include "kernels/common/epilogue.kernel.h"
#include "kernels/common/turn.kernel.h"

#ifndef GEMM_KU
#define GEMM_KU 2
#endif
#ifndef GEMM_AHEAD
#define GEMM_AHEAD 0
#endif
#ifndef GEMM_FUSED
#define GEMM_FUSED epilogue
#endif
#define GEMM_NR (GEMM_NV * VLEN)

/* CASE(r) for all numbers of rows that a tile may have, where they come at run time. */
#define GEMM_EACH_ROWS(CASE)                                                                   \
    CASE(1)                                                                                    \
    CASE(2)                                                                                    \
    CASE(3)                                                                                    \
    CASE(4)                                                                                    \
    CASE(5)                                                                                    \
    CASE(6)                                                                                    \
    CASE(7)                                                                                    \
    CASE(8)                                                                                    \
    CASE(9)                                                                                    \
    CASE(10)                                                                                   \
    CASE(11)                                                                                   \
    CASE(12)                                                                                   \
    CASE(13)                                                                                   \
    CASE(14)

typedef vec gemm_acc[GEMM_MR][GEMM_NV];

/* Every row starts as `init[0 .. cols)`, or as zero when it is NULL. */
INLINE void gemm_start(gemm_acc acc, const int rows, const DTYPE *init, const int cols)
{
    UNROLL(64)
    for (int j = 0; j < GEMM_NV; j++) {
        vec v = {0};
        if (init && (j + 1) * VLEN <= cols)
            v = load(init + j * VLEN);
        else if (init)
            for (int l = 0; l < cols - j * VLEN; l++)
                v[l] = init[j * VLEN + l];
        UNROLL(64)
        for (int i = 0; i < rows; i++)
            acc[i][j] = v;
    }
}

/* acc = C[rows][cols], lanes beyond `cols` zero. */
INLINE void gemm_load(gemm_acc acc, const int rows, const DTYPE *c, i64 ldc, const int cols)
{
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++) {
            vec v = {0};
            if ((j + 1) * VLEN <= cols)
                v = load(c + i * ldc + j * VLEN);
            else
                for (int l = 0; l < cols - j * VLEN; l++)
                    v[l] = c[i * ldc + j * VLEN + l];
            acc[i][j] = v;
        }
    }
}

INLINE void gemm_store(gemm_acc acc, const int rows, DTYPE *c, i64 ldc, const int cols)
{
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++) {
            if ((j + 1) * VLEN <= cols)
                store(c + i * ldc + j * VLEN, acc[i][j]);
            else
                for (int l = 0; l < cols - j * VLEN; l++)
                    c[i * ldc + j * VLEN + l] = acc[i][j][l];
        }
    }
}

/* Stores finished values with what is fused behind the call applied: whole tiles from
 * registers, ragged ones row by row from a copy, which spares an instance of it for every lane
 * of every edge. `c` is element `o` of the output, `arg` that of the stage. */
INLINE void gemm_finish(gemm_acc acc, const int rows, DTYPE *c, i64 ldc, const int cols,
                        void *const *arg, i64 o)
{
    if (!EPILOGUE || (rows == GEMM_MR && cols == GEMM_NR)) {
        UNROLL(64)
        for (int i = 0; i < rows; i++) {
            UNROLL(64)
            for (int j = 0; j < GEMM_NV; j++)
                acc[i][j] = GEMM_FUSED(acc[i][j], arg, o + i * ldc + j * VLEN, VLEN);
        }
        gemm_store(acc, rows, c, ldc, cols);
        return;
    }
    vec done[GEMM_MR][GEMM_NV];
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++)
            done[i][j] = acc[i][j];
    }
    UNROLL(1)
    for (int i = 0; i < rows; i++, c += ldc, o += ldc) {
        for (int j = 0; j < GEMM_NV && j * VLEN < cols; j++) {
            const int lanes = MIN(VLEN, cols - j * VLEN);
            const vec v = GEMM_FUSED(done[i][j], arg, o + j * VLEN, lanes);
            if (lanes == VLEN)
                store(c + j * VLEN, v);
            else
                for (int l = 0; l < lanes; l++)
                    c[j * VLEN + l] = v[l];
        }
    }
}

/* acc[i][:] += a[i * a_row + k * a_k] * b[k * b_k .. + GEMM_NR) for k in [0, depth). */
INLINE void gemm_mac(gemm_acc acc, const int rows, i64 depth, const DTYPE *a, i64 a_row,
                     i64 a_k, const DTYPE *b, i64 b_k)
{
    UNROLL(GEMM_KU)
    for (i64 k = 0; k < depth; k++) {
        vec bv[GEMM_NV];
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++) {
            bv[j] = load(b + j * VLEN);
            if (GEMM_AHEAD)
                __builtin_prefetch(b + GEMM_AHEAD * b_k + j * VLEN, 0, 3);
        }
        UNROLL(64)
        for (int i = 0; i < rows; i++) {
            const vec av = splat(a[i * a_row]);
            UNROLL(64)
            for (int j = 0; j < GEMM_NV; j++)
                acc[i][j] += av * bv[j];
        }
        a += a_k;
        b += b_k;
    }
}

/* to[k * to_k + i] = from[i * from_row + k] for `rows` <= VLEN rows and k in [0, depth). Writes
 * zeros up to lane VLEN of every step; so `to` has VLEN elements beyond its last step when
 * to_k < VLEN, and steps must be written in this order. */
INLINE void gemm_pack_rows(DTYPE *to, i64 to_k, const DTYPE *from, i64 from_row, const int rows,
                           i64 depth)
{
    i64 k = 0;
    for (; k + VLEN <= depth; k += VLEN) {
        vec r[VLEN];
        UNROLL(64)
        for (int i = 0; i < VLEN; i++)
            r[i] = i < rows ? load(from + i * from_row + k) : (vec){0};
        vec_turn(r);
        UNROLL(64)
        for (int i = 0; i < VLEN; i++)
            store(to + (k + i) * to_k, r[i]);
    }
    for (; k < depth; k++) {
        vec v = {0};
        for (int i = 0; i < rows; i++)
            v[i] = from[i * from_row + k];
        store(to + k * to_k, v);
    }
}

/* Strip [depth][GEMM_MR] of A given as `rows` rows of `depth` elements. Writes up to VLEN
 * elements of zeros beyond the strip. The last lanes come first: their zeros reach into the
 * next step. */
INLINE void gemm_pack_a(DTYPE *to, const DTYPE *from, i64 from_row, const int rows, i64 depth)
{
    UNROLL(64)
    for (int i = CEIL_DIV(rows, VLEN) - 1; i >= 0; i--)
        gemm_pack_rows(to + i * VLEN, GEMM_MR, from + i * VLEN * from_row, from_row,
                       MIN(VLEN, rows - i * VLEN), depth);
}

/* Panel [depth][GEMM_NR] of B given transposed, as `cols` rows of `depth` elements. */
INLINE void gemm_pack_bt(DTYPE *to, const DTYPE *from, i64 from_row, const int cols, i64 depth)
{
    const int whole = cols / VLEN * VLEN;
    for (int j = 0; j < whole; j += VLEN)
        gemm_pack_rows(to + j, GEMM_NR, from + j * from_row, from_row, VLEN, depth);
    if (cols > whole)
        gemm_pack_rows(to + whole, GEMM_NR, from + whole * from_row, from_row, cols - whole,
                       depth);
    for (int j = CEIL_DIV(cols, VLEN) * VLEN; j < GEMM_NR; j += VLEN)
        for (i64 k = 0; k < depth; k++)
            store(to + k * GEMM_NR + j, (vec){0});
}

/* Panel [depth][GEMM_NR] of B given plainly, as `depth` rows of which `cols` are taken. */
INLINE void gemm_pack_b(DTYPE *to, const DTYPE *from, i64 from_row, const int cols, i64 depth)
{
    for (i64 k = 0; k < depth; k++) {
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++) {
            vec v = {0};
            if ((j + 1) * VLEN <= cols)
                v = load(from + k * from_row + j * VLEN);
            else
                for (int l = 0; l < cols - j * VLEN; l++)
                    v[l] = from[k * from_row + j * VLEN + l];
            store(to + k * GEMM_NR + j * VLEN, v);
        }
    }
}

#endif
