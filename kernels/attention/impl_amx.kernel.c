/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_amx.x86: both products by tiles, bfloat16. Macros beside attention_define's and those
 * of kernels/matmul/tiles.kernel.h, whose depth is D: TK keys of a step of the online softmax.
 *
 * Keys are packed as words of two numbers of depth, panels of DOT_NR keys, and values as words of
 * two keys, panels of DOT_NR columns. A tile is TILE_ROWS rows: scores are scaled in float32, and
 * weights are rounded to bfloat16 for the second product, whose sums are float32 again. Rows behind
 * the last one are zeros and computed, too.
 */
#include "kernels/attention/attention_cpu.kernel.h"
#include "kernels/matmul/side.kernel.h"
#include "kernels/matmul/tiles.kernel.h"

#define UNIT MAX(DOT_NR, 32) /* keys that are computed together */
#define KEYS (CEIL_DIV(SKV, UNIT) * UNIT)
#define STEPS CEIL_DIV(K_WORDS, 16) /* of depth */
#define STEP_WORDS (16 * DOT_NR)
#define KEY_PANELS (KEYS / DOT_NR)
#define KEY_PANEL ((i64)STEPS * STEP_WORDS)
#define COLUMN_PANELS CEIL_DIV(DV, DOT_NR)
#define COLUMN_PANEL ((i64)KEYS / 32 * STEP_WORDS)
#define WIDE (COLUMN_PANELS * DOT_NR)
#define TILES CEIL_DIV((i64)ROWS, TILE_ROWS)

/* ---- packing ----------------------------------------------------------------------------- */

/* arg: k, v, their panels */
void pack(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * KEY_PANELS; t++) {
        const i64 head = t / KEY_PANELS, first = t % KEY_PANELS * DOT_NR;
        dot_pack_panel((u32 *)arg[2] + t * KEY_PANEL,
                       (const IN_T *)arg[0] + (head * SKV + first) * D,
                       (int)MIN((i64)DOT_NR, SKV - first), STEPS * 16);
        for (i64 key = first; key < first + DOT_NR; key += 2)
            for (i64 c = 0; c < WIDE; c += VLEN) {
                u32 *to = (u32 *)arg[3] + (head * COLUMN_PANELS + c / DOT_NR) * COLUMN_PANEL +
                          key / 2 * DOT_NR + c % DOT_NR;
                *(words_at *)to = side_words((const IN_T *)arg[1] + (head * SKV + key) * DV + c,
                                             DV, DV - c, SKV - key);
            }
    }
}

/* ---- a tile ------------------------------------------------------------------------------ */

/* sums [TILE_ROWS][DOT_NR] of `steps` steps of rows a_row words apart. */
INLINE void product(DTYPE *sums, const u32 *a, i64 a_row, const u32 *b, i64 steps, int granted)
{
    if (granted) {
        tiles_zero();
        for (i64 s = 0; s < steps; s++)
            tiles_step(a + s * 16, a_row, 16 * a_row, b + s * STEP_WORDS, DOT_NR, TILE_ROWS);
        tiles_store(sums, TILE_ROWS);
        return;
    }
    for (int i = 0; i < TILE_ROWS * DOT_NR; i++)
        sums[i] = 0;
    for (i64 s = 0; s < steps; s++)
        tiles_step_by_vectors(a + s * 16, a_row, 16 * a_row, b + s * STEP_WORDS, DOT_NR, sums,
                              TILE_ROWS);
}

static void tile(i64 head, i64 first, void *const *arg, int granted)
{
    u32 queries[TILE_ROWS * STEPS * 16] __attribute__((aligned(64)));
    u32 weights[TILE_ROWS * TK / 2] __attribute__((aligned(64)));
    DTYPE score[TILE_ROWS * TK] __attribute__((aligned(64)));
    DTYPE acc[TILE_ROWS * WIDE] __attribute__((aligned(64)));
    DTYPE sums[TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
    DTYPE most[TILE_ROWS], sum[TILE_ROWS];
    const IN_T *q = (const IN_T *)arg[0] + (head * ROWS + first) * D;
    const u32 *keys = (const u32 *)arg[1] + head * KEY_PANELS * KEY_PANEL;
    const u32 *values = (const u32 *)arg[2] + head * COLUMN_PANELS * COLUMN_PANEL;
    const i64 rows = MIN((i64)TILE_ROWS, ROWS - first);
    i64 end = 0;
    for (i64 i = 0; i < TILE_ROWS; i++) {
        most[i] = SMALLEST;
        sum[i] = 0;
        if (i < rows) {
            end = MAX(end, keys_of(first + i));
            dot_pack_row(queries + i * (STEPS * 16), q + i * D, STEPS * 16);
        } else
            for (i64 k = 0; k < STEPS * 16; k++)
                queries[i * (STEPS * 16) + k] = 0;
    }
    for (i64 i = 0; i < TILE_ROWS * WIDE; i++)
        acc[i] = 0;
    for (i64 i = rows * (TK / 2); i < TILE_ROWS * (TK / 2); i++)
        weights[i] = 0;
    for (i64 key = 0; key < end; key += TK) {
        const i64 n = MIN((i64)TK, SKV - key), wide = CEIL_DIV(n, UNIT) * UNIT;
        for (i64 j = 0; j < wide; j += DOT_NR) {
            product(sums, queries, STEPS * 16, keys + (key + j) / DOT_NR * KEY_PANEL, STEPS,
                    granted);
            for (i64 i = 0; i < rows; i++)
                for (int v = 0; v < DOT_NR; v += VLEN)
                    store(score + i * TK + j + v, load(sums + i * DOT_NR + v) * SCALE);
        }
        for (i64 i = 0; i < rows; i++) {
            DTYPE *s = score + i * TK;
            mask_row(s, head, first + i, key, n, wide, MASKED ? arg[MASKED ? 4 : 0] : 0);
            const DTYPE less = weigh(s, wide / VLEN, most + i, sum + i);
            for (i64 j = 0; j < wide; j += VLEN)
                *(halves_at *)(weights + i * (TK / 2) + j / 2) = bfloats_of_floats(load(s + j));
            for (i64 c = 0; less != 1 && c < WIDE; c += VLEN)
                store(acc + i * WIDE + c, load(acc + i * WIDE + c) * splat(less));
        }
        for (i64 c = 0; c < WIDE; c += DOT_NR) {
            product(sums, weights, TK / 2,
                    values + c / DOT_NR * COLUMN_PANEL + key / 32 * STEP_WORDS, wide / 32,
                    granted);
            for (i64 i = 0; i < rows; i++)
                for (int v = 0; v < DOT_NR; v += VLEN)
                    store(acc + i * WIDE + c + v,
                          load(acc + i * WIDE + c + v) + load(sums + i * DOT_NR + v));
        }
    }
    for (i64 i = 0; i < rows; i++) {
        IN_T *to = (IN_T *)arg[3] + (head * ROWS + first + i) * DV;
        const vec share = splat(ZEROS && sum[i] == 0 ? 0 : 1 / sum[i]);
        i64 c = 0;
        for (; c + VLEN <= DV; c += VLEN)
            dot_put(to + c, load(acc + i * WIDE + c) * share, VLEN);
        if (DV % VLEN)
            dot_put(to + c, load(acc + i * WIDE + c) * share, DV % VLEN);
    }
}

/* arg: q, panels of k, panels of v, out, mask */
void attention(void *const *arg)
{
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * TILES; t++) {
        if (granted)
            tiles_begin(TILE_ROWS);
        tile(t / TILES, t % TILES * TILE_ROWS, arg, granted);
        if (granted)
            tiles_end();
    }
}
