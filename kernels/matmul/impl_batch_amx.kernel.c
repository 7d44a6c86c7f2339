/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_amx.x86: products of 16-bit floats and of 8-bit integers by tiles. Macros from the
 * plan: B, X_BATCH Y_BATCH (numbers from one batch to the next, 0 for a shared matrix), X_TURNED
 * (x is [K][M]) and Y_PLAIN (y is [K][N]), ROW_TASKS (of a batch), those of
 * kernels/matmul/blocks.kernel.h; of amx_inside: PIECE, panels that are packed together.
 */
#include "kernels/matmul/blocks.kernel.h"
#include "kernels/matmul/side.kernel.h"

#define X_BATCHES (X_BATCH ? B : 1)
#define Y_BATCHES (Y_BATCH ? B : 1)
#define X_WORDS (PACK_DATA ? (i64)CEIL_DIV(M, 16) * A_TILE : (i64)M * K_WORDS) /* of a batch */
#define Y_WORDS ((i64)PANELS * PANEL_WORDS)

/* Panels packed together: long pieces of rows are read one behind the other. */
#define TOGETHER MAX(1, MIN(8, PANELS *Y_BATCHES / OT_THREADS))
#define PIECES CEIL_DIV(PANELS, TOGETHER) /* of a batch */

/* `panels` panels of columns that lie side by side. */
INLINE void pack_plain(u32 *to, const IN_T *y, i64 cols, i64 panels)
{
    for (i64 k = 0; k < KS * 16; k++)
        for (i64 j = 0; j < panels * DOT_NR; j += VLEN)
            *(words_at *)(to + j / DOT_NR * PANEL_WORDS + k * DOT_NR + j % DOT_NR) =
                side_words(y + k * WORD * N + j, N, cols - j, K - k * WORD);
}

#ifdef PIECE
/* arg: tiles of x, y, out, a piece's panels for each thread. All rows meet a piece of y while what
 * was packed of it is in the caches, where all of it would leave them and come back. */
void amx_inside(void *const *arg)
{
    const int granted = tiles_granted();
    const i64 pieces = CEIL_DIV(PANELS, PIECE); /* of a batch */
    PARALLEL_FOR
    for (i64 task = 0; task < B * pieces; task++) {
        const i64 b = task / pieces, p0 = task % pieces * PIECE;
        u32 *packed = (u32 *)arg[3] + THREAD * (i64)PIECE * PANEL_WORDS;
        const struct share share = {.data =
                                        (const word_at *)arg[0] + (X_BATCH ? b : 0) * X_WORDS,
                                    .packed = packed - p0 * PANEL_WORDS,
                                    .o = b * M * N,
                                    .t1 = BLOCKS,
                                    .p0 = p0,
                                    .p1 = MIN(p0 + PIECE, (i64)PANELS)};
        pack_plain(packed, (const IN_T *)arg[1] + b * Y_BATCH + p0 * DOT_NR, N - p0 * DOT_NR,
                   share.p1 - p0);
        compute(&share, arg, granted);
    }
}
#endif

/* arg: y, its panels */
void pack_y(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < Y_BATCHES * PIECES; t++) {
        const i64 p0 = t % PIECES * TOGETHER, p1 = MIN(p0 + TOGETHER, (i64)PANELS);
        const IN_T *y = (const IN_T *)arg[0] + t / PIECES * Y_BATCH;
        u32 *to = (u32 *)arg[1] + (t / PIECES * PANELS + p0) * PANEL_WORDS;
        if (Y_PLAIN)
            pack_plain(to, y + p0 * DOT_NR, N - p0 * DOT_NR, p1 - p0);
        else
            for (i64 p = p0; p < p1; p++, to += PANEL_WORDS)
                dot_pack_panel(to, y + p * DOT_NR * K, (int)MIN((i64)DOT_NR, N - p * DOT_NR),
                               KS * 16);
    }
}

#if PACK_DATA
/* 16 rows of x that lie side by side, `lanes` of them there. */
INLINE void pack_turned(u32 *to, const IN_T *x, i64 lanes)
{
    for (i64 s = 0; s < KS; s++, to += A_STEP) {
        vec r[VLEN];
        UNROLL(64)
        for (int k = 0; k < VLEN; k++)
            r[k] =
                (vec)side_words(x + (s * 16 + k) * WORD * M, M, lanes, K - (s * 16 + k) * WORD);
        vec_turn(r);
        UNROLL(64)
        for (int i = 0; i < VLEN; i++) {
            *(words_at *)(to + i * 16) = (words)r[i];
            if (DOT_SPLIT)
                *(words_at *)(to + 256 + i * 16) = dot_exchanged((words)r[i]);
        }
    }
}

/* arg: x, its tiles */
void pack_x(void *const *arg)
{
    PARALLEL_FOR_N(2)
    for (i64 b = 0; b < X_BATCHES; b++)
        for (i64 t = 0; t < CEIL_DIV(M, 16); t++) {
            const IN_T *x = (const IN_T *)arg[0] + b * X_BATCH;
            u32 *to = (u32 *)arg[1] + b * X_WORDS;
            if (X_TURNED)
                pack_turned(to + t * A_TILE, x + t * 16, M - t * 16);
            else
                for (i64 i = t * 16; i < MIN((t + 1) * 16, (i64)M); i++)
                    pack_row(to, i, x + i * K);
        }
}
#endif

/* arg: x or its tiles, panels of y, out */
void amx(void *const *arg)
{
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)B * ROW_TASKS; task++) {
        const i64 b = task / ROW_TASKS, part = task % ROW_TASKS;
        const struct share share = {
            .data = (const word_at *)arg[0] + (X_BATCH ? b : 0) * X_WORDS,
            .packed = (const u32 *)arg[1] + (Y_BATCH ? b : 0) * Y_WORDS,
            .o = b * M * N,
            .t0 = part * BLOCKS / ROW_TASKS,
            .t1 = (part + 1) * BLOCKS / ROW_TASKS,
            .p1 = PANELS,
        };
        compute(&share, arg, granted);
    }
}
