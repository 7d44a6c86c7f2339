/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_split.x86: products of float32 as sums of products of bfloat16, by tiles. Rows of the data
 * are split for a block at a time, which all columns of a part then use; the weight is split once.
 * Macros from the plan: M N K, BIAS, ROW_BLOCK (panels of 32 rows of a task), PARTS (of the
 * columns, a task each), CHUNK (steps of depth that a block is split for at a time).
 */
#include "kernels/matmul/split.kernel.h"

#define ROW_PANELS CEIL_DIV(M, 32)
#define ROW_BLOCKS CEIL_DIV(ROW_PANELS, ROW_BLOCK)
#define PANELS CEIL_DIV(N, 32)
#define PART_PANELS CEIL_DIV(PANELS, PARTS)
#define HEAD (CEIL_DIV(PANELS, 8) * 16)

/* ---- packing ----------------------------------------------------------------------------- */

/* A step of 32 columns, of which `columns` exist, as split_step takes it. */
INLINE void columns_at(DTYPE *line, const DTYPE *weight, i64 columns, i64 k)
{
    UNROLL(1)
    for (int i = 0; i < 4; i++) { /* of two halves, of two depths */
        const int half = i / 2, more = i % 2 * 16;
        vec r[16];
        UNROLL(16)
        for (int c = 0; c < 16; c++)
            r[c] = half * 16 + c < columns
                       ? split_some(weight + (half * 16 + c) * (i64)K + k + more, K - k - more)
                       : (vec){0};
        vec_turn(r);
        UNROLL(16)
        for (int j = 0; j < 16; j++)
            store(line + (half * 16 + j) * 32 + more, r[j]);
    }
}

/* arg: weight [N][K], its panels behind the head of each */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++)
        ((split_head *)packed)[p] = split_pack(packed + HEAD + p * PANEL_WORDS, columns_at,
                                               weight + p * 32 * K, N - p * 32);
}

/* Steps s0 to s1 of a panel of `rows` rows; gives the least size among them. */
INLINE u32 pack_rows(u32 *to, const DTYPE *data, i64 rows, i64 s0, i64 s1)
{
    words least = (words){0} - 1;
    for (i64 i = 0; i < 32; i++)
        for (i64 s = s0; s < s1; s++) {
            const DTYPE *from = data + i * K + s * 32;
            const i64 n = i < rows ? K - s * 32 : 0;
            least = split_small(to + (s - s0) * STEP_WORDS + i * 16, split_some(from, n),
                                split_some(from + 16, n - 16), least);
        }
    return split_least(least);
}

/* ---- the product ------------------------------------------------------------------------- */

/* The sums of a block from the numbers themselves. */
static __attribute__((noinline)) void exact(const DTYPE *data, i64 rows, const u32 *panel,
                                            int form, DTYPE *sums)
{
    DTYPE a[SUMS] __attribute__((aligned(64))), b[SUMS] __attribute__((aligned(64)));
    for (int i = 0; i < SUMS; i++)
        sums[i] = 0;
    for (i64 s = 0; s < STEPS; s++) {
        for (i64 i = 0; i < 32; i++) {
            const i64 n = i < rows ? K - s * 32 : 0;
            store(a + i * 32, split_some(data + i * K + s * 32, n));
            store(a + i * 32 + 16, split_some(data + i * K + s * 32 + 16, n - 16));
        }
        split_columns_of(b, panel + s * STEP_WORDS, form);
        split_exact(a, b, sums);
    }
}

struct pending {
    const u32 *panel;  /* of the weight */
    const DTYPE *data; /* its first row */
    const DTYPE *bias;
    DTYPE *sums;
    void *const *arg;
    i64 o, rows, columns;
    split_head head;
    u32 data_least;
    int granted;
};

/* Its sums as float32 has them, whatever tiles made of them. */
INLINE void settle(struct pending *w)
{
    if (!w->granted || split_lost(w->sums, w->head, w->data_least, w->rows, w->columns))
        exact(w->data, w->rows, w->panel, w->head.form, w->sums);
    else
        split_unscale(w->sums, w->head);
}

static __attribute__((noinline)) void finish(struct pending *w, i64 from, i64 to)
{
    if (w->rows == 0)
        return;
    if (from == 0)
        settle(w);
    DTYPE *out = (DTYPE *)w->arg[2];
    i64 o = w->o + from * N;
    for (i64 i = from; i < MIN(to, w->rows); i++, o += N)
        for (i64 j = 0; j < w->columns; j += 16) {
            const i64 n = w->columns - j;
            vec v = load(w->sums + i * 32 + j);
            if (BIAS)
                v += split_some(w->bias + j, n);
            split_put(out + o + j, epilogue(v, w->arg, o + j, (int)MIN(n, 16)), n);
        }
}

/* arg: data, panels of the weight, out, panels of data, sums, bias if BIAS */
void split(void *const *arg)
{
    const DTYPE *data = arg[0], *bias = BIAS ? arg[5] : 0;
    const u32 *packed = arg[1];
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 task = 0; task < ROW_BLOCKS * PARTS; task++) {
        const i64 block = task / PARTS, part = task % PARTS;
        const i64 q0 = block * ROW_PANELS / ROW_BLOCKS;
        const i64 q1 = (block + 1) * ROW_PANELS / ROW_BLOCKS;
        const i64 p0 = part * PANELS / PARTS, p1 = (part + 1) * PANELS / PARTS;
        u32 *mine = (u32 *)arg[3] + (i64)THREAD * ROW_BLOCK * CHUNK * STEP_WORDS;
        DTYPE *held = (DTYPE *)arg[4] + (i64)THREAD * ROW_BLOCK * PART_PANELS * SUMS;
        DTYPE here[2][SUMS] __attribute__((aligned(64)));
        struct pending pending[2]; /* the last block and this one */
        int turn = 0;
        pending[1].rows = 0;
        u32 least[ROW_BLOCK];
        for (i64 q = q0; q < q1; q++)
            least[q - q0] = SIZE_NONE;
        if (granted)
            tiles_begin(TILE_ROWS);
        for (i64 s0 = 0; s0 < STEPS; s0 += CHUNK) {
            const i64 s1 = MIN(s0 + CHUNK, STEPS);
            for (i64 q = q0; q < q1; q++) {
                const u32 more = pack_rows(mine + (q - q0) * CHUNK * STEP_WORDS,
                                           data + q * 32 * K, M - q * 32, s0, s1);
                least[q - q0] = MIN(least[q - q0], more);
            }
            for (i64 p = p0; p < p1; p++)
                for (i64 q = q0; q < q1; q++) {
                    struct pending *const w = &pending[turn], *last = 0;
                    const u32 *panel = packed + HEAD + p * PANEL_WORDS;
                    DTYPE *sums = CHUNK < STEPS ? held + ((p - p0) * ROW_BLOCK + q - q0) * SUMS
                                                : here[turn];
                    const i64 rows = MIN(32, M - q * 32), columns = MIN(32, N - p * 32);
                    if (s1 == STEPS) {
                        last = &pending[turn ^ 1];
                        *w = (struct pending){.panel = panel,
                                              .data = data + q * 32 * K,
                                              .bias = BIAS ? bias + p * 32 : 0,
                                              .sums = sums,
                                              .arg = arg,
                                              .o = q * 32 * N + p * 32,
                                              .rows = rows,
                                              .columns = columns,
                                              .head = ((const split_head *)packed)[p],
                                              .data_least = least[q - q0],
                                              .granted = granted};
                    }
                    if (granted)
                        split_block(mine + (q - q0) * CHUNK * STEP_WORDS,
                                    panel + s0 * STEP_WORDS, s1 - s0, sums, s0 == 0, last, rows,
                                    columns);
                    else if (last)
                        finish(last, 0, 32);
                    turn ^= s1 == STEPS;
                }
        }
        finish(&pending[turn ^ 1], 0, 32);
        if (granted)
            tiles_end();
    }
}
