/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.cpu. Macros beside attention_define's: TQ rows and TK keys of a tile, MR rows and
 * NV vectors in registers, PACK_V.
 *
 * Keys are turned once, in panels of TK, so that both products of a tile have their vectors along
 * what is stored side by side; rows behind the last one are zeros and computed, too.
 */
#include "kernels/attention/attention_cpu.kernel.h"

#define PANELS CEIL_DIV((i64)SKV, TK)
#define TILES CEIL_DIV((i64)ROWS, TQ)
#define DVP (CEIL_DIV(DV, VLEN) * VLEN)
#define V_ROW (PACK_V ? DVP : DV)

/* arg: k, v, panels, wide v */
void pack(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * PANELS; t++) {
        const i64 head = t / PANELS, first = t % PANELS * TK, n = MIN(SKV - first, (i64)TK);
        const IN_T *k = (const IN_T *)arg[0] + (head * SKV + first) * D;
        DTYPE *to = (DTYPE *)arg[2] + t * (D * TK);
        for (i64 j = 0; j < TK; j += 16) /* a line of the panel is written whole */
            for (i64 d = 0; d < D; d++)
                for (i64 l = j; l < MIN(j + 16, (i64)TK); l++)
                    to[d * TK + l] = l < n ? IN_OF(k[l * D + d]) : 0;
#if PACK_V
        for (i64 j = 0; j < n; j++) {
            DTYPE *row = (DTYPE *)arg[3] + (head * SKV + first + j) * DVP;
            widen(row, (const IN_T *)arg[1] + (head * SKV + first + j) * DV, DV, 1);
            for (i64 c = DV; c < DVP; c++)
                row[c] = 0;
        }
#endif
    }
}

/* c[0 .. MR) of `vectors` (constant) vectors = or += a[MR][depth] * b[depth]. */
INLINE void product(DTYPE *c, const i64 c_row, const DTYPE *a, const i64 a_row, const DTYPE *b,
                    const i64 b_row, const i64 depth, const int vectors, const int add)
{
    vec acc[MR][NV];
    UNROLL(16)
    for (int i = 0; i < MR; i++) {
        UNROLL(8)
        for (int v = 0; v < vectors; v++)
            acc[i][v] = add ? load(c + i * c_row + v * VLEN) : (vec){0};
    }
    UNROLL(2)
    for (i64 k = 0; k < depth; k++) {
        vec y[NV];
        UNROLL(8)
        for (int v = 0; v < vectors; v++)
            y[v] = load(b + k * b_row + v * VLEN);
        UNROLL(16)
        for (int i = 0; i < MR; i++) {
            UNROLL(8)
            for (int v = 0; v < vectors; v++)
                acc[i][v] += splat(a[i * a_row + k]) * y[v];
        }
    }
    UNROLL(16)
    for (int i = 0; i < MR; i++) {
        UNROLL(8)
        for (int v = 0; v < vectors; v++)
            store(c + i * c_row + v * VLEN, acc[i][v]);
    }
}

/* The same for TQ rows and `all` (constant) vectors. */
INLINE void products(DTYPE *c, const DTYPE *a, const i64 a_row, const DTYPE *b, const i64 b_row,
                     const i64 depth, const int all, const int add)
{
    for (int v = 0; v < all / NV * NV; v += NV)
        for (int i = 0; i < TQ; i += MR)
            product(c + (i64)i * (all * VLEN) + v * VLEN, all * VLEN, a + i * a_row, a_row,
                    b + v * VLEN, b_row, depth, NV, add);
    const int v = all / NV * NV;
    if (all % NV)
        for (int i = 0; i < TQ; i += MR)
            product(c + (i64)i * (all * VLEN) + v * VLEN, all * VLEN, a + i * a_row, a_row,
                    b + v * VLEN, b_row, depth, all % NV, add);
}

static void tile(i64 head, i64 first, const IN_T *q, const DTYPE *panels, const DTYPE *v,
                 const void *mask, IN_T *out)
{
    DTYPE queries[TQ * D] __attribute__((aligned(64)));
    DTYPE score[TQ * TK] __attribute__((aligned(64)));
    DTYPE acc[TQ * DVP] __attribute__((aligned(64)));
    DTYPE most[TQ], sum[TQ];
    const i64 rows = MIN((i64)TQ, ROWS - first);
    i64 end = 0;
    for (i64 i = 0; i < TQ; i++) {
        most[i] = SMALLEST;
        sum[i] = 0;
        if (i < rows)
            end = MAX(end, keys_of(first + i));
    }
    widen(queries, q + (head * ROWS + first) * D, rows * D, SCALE);
    for (i64 i = rows * D; i < TQ * D; i++)
        queries[i] = 0;
    for (i64 i = 0; i < TQ * DVP; i++)
        acc[i] = 0;
    for (i64 key = 0; key < end; key += TK) {
        const i64 n = MIN((i64)TK, SKV - key);
        products(score, queries, D, panels + (head * PANELS + key / TK) * (D * TK), TK, D,
                 TK / VLEN, 0);
        for (i64 i = 0; i < TQ; i++) {
            DTYPE *s = score + i * TK;
            if (i < rows)
                mask_row(s, head, first + i, key, n, TK, mask);
            const DTYPE less = weigh(s, TK / VLEN, most + i, sum + i);
            if (less != 1) {
                UNROLL(4)
                for (int c = 0; c < DVP; c += VLEN)
                    store(acc + i * DVP + c, load(acc + i * DVP + c) * splat(less));
            }
        }
        products(acc, score, TK, v + (head * SKV + key) * V_ROW, V_ROW, n, DVP / VLEN, 1);
    }
    for (i64 i = 0; i < rows; i++) {
        IN_T *to = out + (head * ROWS + first + i) * DV;
        const DTYPE share = ZEROS && sum[i] == 0 ? 0 : 1 / sum[i];
        for (i64 c = 0; c < DV; c++)
            to[c] = OUT_TO(acc[i * DVP + c] * share);
    }
}

/* arg: q, v (or wide v), panels, out, mask */
void attention(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * TILES; t++)
        tile(t / TILES, t % TILES * TQ, arg[0], arg[2], arg[1], MASKED ? arg[4] : 0, arg[3]);
}
