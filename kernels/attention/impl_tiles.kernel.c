/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.cpu. Macros beside attention_define's: TQ rows and TK keys of a tile, MR rows
 * (fewer at the end of a tile) and NV vectors in registers, PACK_V.
 *
 * Keys are turned once, in panels of TK, so that both products of a tile have their vectors along
 * what is stored side by side; rows behind the last one are zeros and computed, too. Where the
 * shape varies a tile has the rows and vectors of keys that are there, and at most FEW rows of a
 * head are computed over keys as they lie, without panels.
 */
#if VARIES
#define MOST_ROWS FEW
#define KB TK
#endif
#include "kernels/attention/attention_part.kernel.h"
#include "kernels/common/turn.kernel.h"

#define PANELS CEIL_DIV((i64)SKV, TK)
#define TILES CEIL_DIV((i64)ROWS, TQ)
#define V_ROW (PACK_V ? DVP : DV)
#define COLUMN (NV * VLEN)

/* Where number d of key j is in a panel: columns of NV vectors lie together, so that what a product
 * reads is dense. */
INLINE i64 place(i64 j, i64 d)
{
    const i64 first = j / COLUMN * COLUMN, wide = MIN((i64)COLUMN, TK - first);
    return first * D + d * wide + j - first;
}

/* n <= TK keys of D numbers, zeros behind the last key. */
INLINE void pack_keys(DTYPE *to, const IN_T *k, i64 n)
{
    i64 j = 0;
#if !NARROW
    for (; j + VLEN <= n; j += VLEN) {
        for (i64 d = 0; d < D / VLEN * VLEN; d += VLEN) {
            vec square[VLEN];
            UNROLL(16)
            for (int i = 0; i < VLEN; i++)
                square[i] = load((const DTYPE *)k + (j + i) * D + d);
            vec_turn(square);
            UNROLL(16)
            for (int i = 0; i < VLEN; i++)
                store(to + place(j, d + i), square[i]);
        }
        for (i64 d = D / VLEN * VLEN; d < D; d++)
            for (int i = 0; i < VLEN; i++)
                to[place(j, d) + i] = k[(j + i) * D + d];
    }
#endif
    for (; j < (VARIES ? n : TK); j += VLEN) /* a vector is written whole */
        for (i64 d = 0; d < D; d++)
            for (int i = 0; i < VLEN; i++)
                to[place(j, d) + i] = j + i < n ? IN_OF(k[(j + i) * D + d]) : 0;
}

/* arg: k, v, panels, wide v, dims */
void pack(void *const *arg)
{
#if VARIES
    const sizes all = sizes_of(arg + 3 + PACK_V), *const z = &all;
    if (ROWS <= FEW)
        return;
#endif
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * PANELS; t++) {
        const i64 head = t / PANELS, first = t % PANELS * TK, n = MIN(SKV - first, (i64)TK);
        pack_keys((DTYPE *)arg[2] + t * (D * TK),
                  (const IN_T *)arg[0] + (head * SKV + first) * D, n);
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

/* c[0 .. rows) of `vectors` (both constant) vectors = or += a[rows][depth] * b[depth]. */
INLINE void product(DTYPE *c, const i64 c_row, const DTYPE *a, const i64 a_row, const DTYPE *b,
                    const i64 b_row, const i64 depth, const int rows, const int vectors,
                    const int add)
{
    vec acc[MR][NV];
    UNROLL(16)
    for (int i = 0; i < rows; i++) {
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
        for (int i = 0; i < rows; i++) {
            UNROLL(8)
            for (int v = 0; v < vectors; v++)
                acc[i][v] += splat(a[i * a_row + k]) * y[v];
        }
    }
    UNROLL(16)
    for (int i = 0; i < rows; i++) {
        UNROLL(8)
        for (int v = 0; v < vectors; v++)
            store(c + i * c_row + v * VLEN, acc[i][v]);
    }
}

/* The same for all rows of a tile: TQ or, of a shape that varies, so many and up to MR - 1 more. */
INLINE void columns(DTYPE *c, const i64 c_row, const DTYPE *a, const i64 a_row, const DTYPE *b,
                    const i64 b_row, const i64 depth, const i64 rows, const int vectors,
                    const int add)
{
    const i64 whole = VARIES ? MIN(rows, TQ / MR * MR) : TQ / MR * MR;
    i64 i = 0;
    for (; i < whole; i += MR)
        product(c + i * c_row, c_row, a + i * a_row, a_row, b, b_row, depth, MR, vectors, add);
    if (TQ % MR && (!VARIES || i < rows))
        product(c + i * c_row, c_row, a + i * a_row, a_row, b, b_row, depth, TQ % MR, vectors,
                add);
}

/* The same for `some` of all (constant) vectors; b_row 0: b is a panel. */
INLINE void products(DTYPE *c, const DTYPE *a, const i64 a_row, const DTYPE *b, const i64 b_row,
                     const i64 depth, const i64 rows, const int some, const int all,
                     const int add)
{
    const int whole = some / NV * NV, rest = some % NV;
    const i64 step = b_row ? VLEN : VLEN * D;
    for (int v = 0; v < whole; v += NV)
        columns(c + v * VLEN, all * VLEN, a, a_row, b + v * step, b_row ? b_row : NV * VLEN,
                depth, rows, NV, add);
    UNROLL(4)
    for (int v = 1; v < NV; v++)
        if (v == rest)
            columns(c + whole * VLEN, all * VLEN, a, a_row, b + whole * step,
                    b_row ? b_row : MIN(NV, TK / VLEN - whole) * VLEN, depth, rows, v, add);
}

static void tile(i64 head, i64 first, const IN_T *q, const DTYPE *panels, const DTYPE *v,
                 const void *mask, IN_T *out SIZES)
{
    DTYPE queries[TQ * D] __attribute__((aligned(64)));
    DTYPE score[TQ * TK] __attribute__((aligned(64)));
    DTYPE acc[TQ * DVP] __attribute__((aligned(64)));
    DTYPE most[TQ], sum[TQ];
    const i64 rows = MIN((i64)TQ, ROWS - first);
    const i64 made = VARIES ? MIN((i64)TQ, CEIL_DIV(rows, (i64)MR) * MR) : TQ;
    i64 end = 0;
    for (i64 i = 0; i < made; i++) {
        most[i] = SMALLEST;
        sum[i] = 0;
        if (i < rows)
            end = MAX(end, keys_of(first + i SIZE));
    }
    widen(queries, q + (head * ROWS + first) * D, rows * D, SCALE);
    for (i64 i = rows * D; i < made * D; i++)
        queries[i] = 0;
    for (i64 i = 0; i < made * DVP; i++)
        acc[i] = 0;
    for (i64 key = 0; key < end; key += TK) {
        const i64 n = MIN((i64)TK, SKV - key);
        const int vectors = VARIES ? (int)CEIL_DIV(n, (i64)VLEN) : TK / VLEN;
        products(score, queries, D, panels + (head * PANELS + key / TK) * (D * TK), 0, D, rows,
                 vectors, TK / VLEN, 0);
        for (i64 i = 0; i < (VARIES ? rows : TQ); i++) {
            DTYPE *s = score + i * TK;
            if (i < rows)
                mask_row(s, head, first + i, key, n, vectors * VLEN, mask SIZE);
            const DTYPE less = weigh(s, vectors, most + i, sum + i);
            if (less != 1) {
                UNROLL(4)
                for (int c = 0; c < DVP; c += VLEN)
                    store(acc + i * DVP + c, load(acc + i * DVP + c) * splat(less));
            }
        }
        products(acc, score, TK, v + (head * SKV + key) * V_ROW, V_ROW, n, rows, DVP / VLEN,
                 DVP / VLEN, 1);
    }
    for (i64 i = 0; i < rows; i++) {
        IN_T *to = out + (head * ROWS + first + i) * DV;
        const DTYPE share = ZEROS && sum[i] == 0 ? 0 : 1 / sum[i];
        for (i64 c = 0; c < DV; c++)
            to[c] = OUT_TO(acc[i * DVP + c] * share);
    }
}

#if VARIES
/* All rows of a head, a few, over keys and values as they lie. */
static void few(i64 head, void *const *arg, void *const *whole, const sizes *z)
{
    DTYPE left[MOST_ROWS * LEFT] __attribute__((aligned(64)));
    part(head, 0, SKV, arg[0], whole[0], whole[1], MASKED ? arg[MASKED ? 4 : 0] : 0, left, z);
    for (i64 r = 0; r < ROWS; r++) {
        const DTYPE *l = left + r * LEFT;
        const DTYPE share = ZEROS && l[DVP + 1] == 0 ? 0 : 1 / l[DVP + 1];
        IN_T *to = (IN_T *)arg[3] + (head * ROWS + r) * DV;
        for (i64 c = 0; c < DV; c++)
            to[c] = OUT_TO(l[c] * share);
    }
}
#endif

/* arg: q, v (or wide v), panels, out, mask; where the shape varies k, v as they lie, dims */
void attention(void *const *arg)
{
#if VARIES
    void *const *const whole = arg + 4 + MASKED;
    const sizes all = sizes_of(whole + 2), *const z = &all;
    if (ROWS <= FEW) {
        PARALLEL_FOR
        for (i64 head = 0; head < HEADS; head++)
            few(head, arg, whole, z);
        return;
    }
#endif
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * TILES; t++)
        tile(t / TILES, t % TILES * TQ, arg[0], arg[2], arg[1], MASKED ? arg[4] : 0,
             arg[3] SIZE);
}
