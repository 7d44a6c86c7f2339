/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_amx.x86: products of bfloat16 and of 8-bit integers by tiles, 16 rows of 64 bytes each.
 * Macros from the plan: M N, BIAS, TILE_M and TILE_N (tiles of sums, in rows and columns: 1x1, 1x2,
 * 1x4, 2x1, 2x2, 3x1), PACK_DATA (rows are put together 16 by 16, KS steps of 16 words each, with
 * zeros behind them), ROW_BLOCKS (blocks of TILE_M tiles of one task), those of
 * kernels/matmul/dot.kernel.h, whose tile is a row of DOT_NV vectors here.
 *
 * The numbers of the tiles: sums 0 to 3, data 4 and 5 (the third 7), weight 6 and 7. The system gives a program
 * tiles when it asks; where it does not, rows are computed by vectors.
 * Source of the instructions: Intel, Architecture Instruction Set Extensions, AMX.
 */
#include "kernels/matmul/dot.kernel.h"

#define ROWS (16 * TILE_M) /* of a block */
#define PANELS CEIL_DIV(N, DOT_NR)
#define BLOCKS CEIL_DIV(M, ROWS)
#define LAST_ROWS (M - (BLOCKS - 1) * ROWS)
#define KS CEIL_DIV(KW, 16)
#define STEP_WORDS (16 * DOT_NR) /* of a panel */
#undef PANEL_WORDS
#define PANEL_WORDS (KS * STEP_WORDS)

/* How far the words of the next row are, of the next step, and of the next 16 rows. */
#if PACK_DATA
#define A_ROW 16
#define A_STEP 256
#define A_TILE (256 * KS)
#else
#define A_ROW KW
#define A_STEP 16
#define A_TILE (16 * KW)
#endif

#if DOT == DOT_TILE_BF16
#define TILE_OP "tdpbf16ps"
#else
#define TILE_OP "tdpbssd"
#endif

#define TILE_LOAD(t, from, words_apart)                                                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t                                           \
                     :                                                                         \
                     : "r"(from), "r"((i64)(words_apart)*4)                                    \
                     : "memory")
#define TILE_DOT(c, a, b) __asm__ volatile(TILE_OP " %tmm" #b ", %tmm" #a ", %tmm" #c)
#define TILE_ZERO(c) __asm__ volatile("tilezero %tmm" #c)
#define TILE_STORE(c, to)                                                                      \
    __asm__ volatile("tilestored %%tmm" #c ", (%0,%1,1)"                                       \
                     :                                                                         \
                     : "r"(to), "r"((i64)DOT_NR * 4)                                           \
                     : "memory")

/* ---- packing ----------------------------------------------------------------------------- */

/* arg: weight [N][K], its panels */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++)
        dot_pack_panel(packed + p * PANEL_WORDS, weight + p * DOT_NR * K,
                       (int)MIN(DOT_NR, N - p * DOT_NR), KS * 16);
}

#if PACK_DATA
/* arg: data [M][K], its tiles [M / 16][KS][16][16] */
void pack_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 i = 0; i < M; i++) {
        u32 *to = packed + i / 16 * A_TILE + i % 16 * A_ROW;
        const IN_T *row = data + i * K;
        for (i64 s = 0; s < KS; s++, to += A_STEP)
            if ((s + 1) * 16 * WORD <= K)
                *(words_at *)to = dot_words(row, s * 16);
            else
                for (i64 k = s * 16; k < (s + 1) * 16; k++)
                    to[k - s * 16] = k < KW ? dot_word(row, k) : 0;
    }
}
#endif

/* ---- tiles ------------------------------------------------------------------------------- */

/* Asks the system for tiles, once: false, it has none for this program. */
static int tiles_granted(void)
{
    static int asked; /* 1: granted, 2: refused */
    int known = __atomic_load_n(&asked, __ATOMIC_RELAXED);
    if (known == 0) {
        long status = 158; /* arch_prctl(ARCH_REQ_XCOMP_PERM, the data of tiles) */
        __asm__ volatile("syscall"
                         : "+a"(status)
                         : "D"(0x1023L), "S"(18L)
                         : "rcx", "r11", "memory");
        known = status == 0 ? 1 : 2;
        __atomic_store_n(&asked, known, __ATOMIC_RELAXED);
    }
    return known == 1;
}

/* Shapes for a block of so many rows: columns are always 64 bytes. */
INLINE void tiles_begin(const int rows)
{
    struct {
        unsigned char palette, start_row, reserved[14];
        unsigned short bytes[16];
        unsigned char rows[16];
    } shape = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        shape.bytes[t] = 64;
        shape.rows[t] = 16;
    }
    /* The last tile of rows: of sums and of data. */
    const int last = CEIL_DIV(rows, 16) - 1;
    const unsigned char over = (unsigned char)(rows - 16 * last);
    if (TILE_M == 1)
        shape.rows[0] = shape.rows[1] = shape.rows[2] = shape.rows[3] = shape.rows[4] = over;
    else
        shape.rows[last] = shape.rows[last == 2 ? 7 : 4 + last] = over;
    if (TILE_M == 2)
        shape.rows[2 + last] = over;
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
}

INLINE void tiles_end(void)
{
    __asm__ volatile("tilerelease");
}

/* sums [rows][DOT_NR] = rows of data times a panel. */
INLINE void block(const word_at *a, const u32 *b, DTYPE *sums, const int rows)
{
    const int tiles = CEIL_DIV(rows, 16);
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    for (i64 s = 0; s < KS; s++, a += A_STEP, b += STEP_WORDS) {
        TILE_LOAD(6, b, DOT_NR);
        TILE_LOAD(4, a, A_ROW);
        TILE_DOT(0, 4, 6);
        if (tiles > 1) {
            TILE_LOAD(5, a + A_TILE, A_ROW);
            TILE_DOT(1, 5, 6);
        }
#if TILE_M == 3
        if (tiles > 2) {
            TILE_LOAD(7, a + 2 * A_TILE, A_ROW);
            TILE_DOT(2, 7, 6);
        }
#elif TILE_N > 1
        TILE_LOAD(7, b + 16, DOT_NR);
        TILE_DOT(2, 4, 7);
        if (tiles > 1)
            TILE_DOT(3, 5, 7);
#endif
#if TILE_N == 4
        TILE_LOAD(6, b + 32, DOT_NR);
        TILE_DOT(1, 4, 6);
        TILE_LOAD(7, b + 48, DOT_NR);
        TILE_DOT(3, 4, 7);
#endif
    }
    TILE_STORE(0, sums);
    if (tiles > 1)
        TILE_STORE(1, sums + 16 * DOT_NR);
#if TILE_M == 3
    if (tiles > 2)
        TILE_STORE(2, sums + 32 * DOT_NR);
#elif TILE_N > 1
    TILE_STORE(2, sums + 16);
    if (tiles > 1)
        TILE_STORE(3, sums + 16 * DOT_NR + 16);
#endif
#if TILE_N == 4
    TILE_STORE(1, sums + 32);
    TILE_STORE(3, sums + 48);
#endif
}

/* The same by vectors, a row at a time. Unsigned by signed integers: the rows have 128 added to
 * them, which is taken back. */
static __attribute__((noinline)) void block_by_vectors(const word_at *a, const u32 *b,
                                                       DTYPE *sums, int rows)
{
    for (int i = 0; i < rows; i++) {
        const word_at *row = a + i / 16 * A_TILE + i % 16 * A_ROW;
        for (int j = 0; j < DOT_NR; j += VLEN) {
            vec sum = {0}, more = {0};
            for (i64 k = 0; k < KW; k++) {
                const words w = *(const words_at *)(b + k * DOT_NR + j);
                sum = dot_step(sum, row[k / 16 * A_STEP + k % 16], w);
                if (DOT_BYTES)
                    more = dot_step(more, 0, w);
            }
            store(sums + i * DOT_NR + j, sum - more);
        }
    }
}

/* ---- the product ------------------------------------------------------------------------- */

/* Sums of `rows` rows as the output from out[o] on. */
INLINE void finish(const DTYPE *sums, const OUT_T *bias, OUT_T *out, i64 o, int rows, i64 cols,
                   void *const *arg)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < DOT_NR && j < cols; j += VLEN)
            if (j + VLEN <= cols)
                dot_store(out, o + i * N + j, load(sums + i * DOT_NR + j), BIAS ? bias + j : 0,
                          VLEN, arg);
            else
                dot_store(out, o + i * N + j, load(sums + i * DOT_NR + j), BIAS ? bias + j : 0,
                          N % VLEN, arg);
}

INLINE void some(const word_at *data, const u32 *packed, const OUT_T *bias, OUT_T *out, i64 p,
                 i64 t, const int rows, int tiles, void *const *arg)
{
    DTYPE sums[ROWS * DOT_NR] __attribute__((aligned(64)));
    const word_at *a = data + t * TILE_M * A_TILE;
    const u32 *b = packed + p * PANEL_WORDS;
    if (tiles)
        block(a, b, sums, rows);
    else
        block_by_vectors(a, b, sums, rows);
    finish(sums, BIAS ? bias + p * DOT_NR : 0, out, t * ROWS * N + p * DOT_NR, rows,
           N - p * DOT_NR, arg);
}

/* arg: data or its tiles, panels, out, bias if BIAS */
void amx(void *const *arg)
{
    const word_at *data = arg[0];
    const u32 *packed = arg[1];
    OUT_T *out = arg[2];
    const OUT_T *bias = BIAS ? arg[3] : 0;
    const int tiles = tiles_granted();
    PARALLEL_FOR_N(2)
    for (i64 p = 0; p < PANELS; p++)
        for (i64 t0 = 0; t0 < BLOCKS; t0 += ROW_BLOCKS) {
            const i64 t1 = MIN(t0 + ROW_BLOCKS, BLOCKS);
            const i64 whole = t1 < BLOCKS || LAST_ROWS == ROWS ? t1 : t1 - 1;
            if (tiles && t0 < whole)
                tiles_begin(ROWS);
            for (i64 t = t0; t < whole; t++)
                some(data, packed, bias, out, p, t, ROWS, tiles, arg);
            if (tiles && whole < t1)
                tiles_begin(LAST_ROWS);
            if (whole < t1)
                some(data, packed, bias, out, p, whole, LAST_ROWS, tiles, arg);
            if (tiles)
                tiles_end();
        }
}
