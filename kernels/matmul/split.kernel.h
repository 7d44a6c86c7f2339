/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of float32 by tiles of bfloat16 (AMX), as accurate as by float32's own arithmetic.
 *
 * The one idea: a float32 has 24 significant bits and is exactly h + m + l, three bfloat16 of eight
 * bits each: h is x rounded to eight, m is x - h rounded to eight, l is what is left. Of the nine
 * products of two such sums, tiles add six in float32: what is left out (m*l, l*m, l*l) is at most
 * 2^-24 of x*y, no more than what float32 rounds a product by. A tile adds 32 products, the larger
 * of a step last, before the sum that lasts is touched, so that long sums are rounded less often
 * than one by one.
 *
 * A tile takes a number below 2^-126 for zero, and loses what is below that in its sums; infinity
 * and NaN have no such parts. Operands that are kept (weights) with a number below 2^-100, whose
 * parts are not all normal, are split 2^64 times as large, which loses nothing, and sums divided by
 * it. Blocks are computed again by vectors, float32's own arithmetic,
 *     where a sum is not finite (an operand is not, or a product or its parts are too large),
 *     where data is not zero and below 2^-100, so that each product may lose 2^-126 of the largest
 *         weight, and a sum is less than 2^24 times what all may lose,
 *     where a sum is not zero and below 2^-80, and operands of the block may be so small that
 *     a part of their product is lost,
 *     where kept operands are both large and small,
 * and all blocks where the system keeps tiles from the program. What is lost beside that is at most
 * 2^-126 for each product. One small number among others costs nothing, except where one least size
 * is kept for all of an image (split/impl_planes.kernel.c): there sums of zero are made again, too.
 *
 * A panel is 32 rows or columns, a step 32 of depth: [step][part h, m, l][half of the rows or
 * columns][16][16 words]. Word j has depth j of its step in its lower half and depth 16 + j in the
 * upper one, so that packing moves no lane: a line of a panel of rows is a row, its lanes words;
 * one of a panel of columns is a word, its lanes columns. Operands that are kept have in front of
 * their panels a split_head for each.
 *
 * Macros from the plan: K.
 */
#ifndef OPTUNE_KERNELS_MATMUL_SPLIT_H
#define OPTUNE_KERNELS_MATMUL_SPLIT_H

#if !defined(__AVX512F__)
#error                                                                                         \
    "made for AVX-512 and AMX: compile for such a processor, or emit with --device of this one"
#endif

#define IN_T unsigned short
#define OUT_T float
#define BRAIN 1
#define OUT_HALF 0
#define DOT 5
#define DOT_MR 1
#define DOT_NV 2
#define DOT_KU 1
#define TILE_M 2
#define TILE_N 2
#define K_WORDS CEIL_DIV(K, 2)

#include "kernels/matmul/tiles.kernel.h"

#define PART_WORDS 512
#define STEP_WORDS (3 * PART_WORDS)
#define STEPS CEIL_DIV(K, 32)
#define SPLIT_LOG_K (64 - __builtin_clzll(K)) /* K < 2^SPLIT_LOG_K */
#undef PANEL_WORDS
#define PANEL_WORDS ((i64)STEPS * STEP_WORDS)
#define SUMS 1024 /* of a block, [32][32] */

typedef float floats16 __attribute__((vector_size(64)));
#define FIRST_OF_16(n) ((unsigned short)((1u << (n)) - 1))

/* The first n of 16 numbers, none where n is not positive, and zeros. */
INLINE vec split_some(const DTYPE *from, i64 n)
{
    if (n >= 16)
        return load(from);
    if (n <= 0)
        return (vec){0};
    return (vec)__builtin_ia32_loadups512_mask((const float *)from, (floats16){0},
                                               FIRST_OF_16(n));
}

/* Stores the first n lanes, all where n is more. */
INLINE void split_put(DTYPE *to, vec v, i64 n)
{
    if (n >= 16)
        store(to, v);
    else
        __builtin_ia32_storeups512_mask((float *)to, (floats16)v, FIRST_OF_16(n));
}

/* ---- parts ------------------------------------------------------------------------------- */

/* Sizes as integers in their order, without the sign, minus 1: zero is the largest. */
#define SIZE_OF(exponent) (((u32)(127 + (exponent)) << 24) - 1)
#define SIZE_NONE 0xffffffffu

INLINE words least_of(words a, words b)
{
    words least;
    __asm__("vpminud %2, %1, %0" : "=v"(least) : "v"(a), "v"(b));
    return least;
}

INLINE words size_of(vec v)
{
    return (words)v + (words)v - 1;
}

INLINE u32 split_least(words size)
{
    u32 least = SIZE_NONE;
    for (int l = 0; l < VLEN; l++)
        least = MIN(least, size[l]);
    return least;
}

/* Lanes of depth j and of depth 16 + j as words of the three parts, `apart` words apart. */
INLINE void split_store(u32 *to, i64 apart, vec x, vec y)
{
    words a = (words)x, b = (words)y;
    UNROLL(2)
    for (int part = 0; part < 2; part++) {
        const words high = (a + 0x8000) & 0xffff0000, other = (b + 0x8000) & 0xffff0000;
        *(words_at *)(to + part * apart) = high >> 16 | other;
        a = (words)((vec)a - (vec)high);
        b = (words)((vec)b - (vec)other);
    }
    *(words_at *)(to + 2 * apart) = a >> 16 | (b & 0xffff0000);
}

/* The same, and the least size among them. */
INLINE words split_small(u32 *to, vec x, vec y, words least)
{
    split_store(to, PART_WORDS, x, y);
    return least_of(least, least_of(size_of(x), size_of(y)));
}

/* How a panel that is kept has its numbers: in parts, in parts of 2^64 times as much, or as they
 * are, x where h would be and y where m would be. */
enum { SPLIT_PARTS, SPLIT_SCALED, SPLIT_PLAIN };
#define SPLIT_SCALE 0x1p64f

/* In front of panels that are kept: of the numbers that are split, the least size, and the largest
 * number's biased exponent. */
typedef struct split_head {
    u32 least;
    unsigned short exponent, form;
} split_head;

/* Sizes that packing meets. */
typedef struct split_sizes {
    words least, most; /* most: without the 1 that is taken from it */
} split_sizes;
#define SPLIT_NO_SIZES                                                                         \
    {                                                                                          \
        (words){0} - 1,                                                                        \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }

/* What split_store was given. */
INLINE void split_join(const u32 *from, int form, vec *x, vec *y)
{
    const words h = *(const words_at *)from, m = *(const words_at *)(from + PART_WORDS);
    const words l = *(const words_at *)(from + 2 * PART_WORDS);
    const DTYPE down = form == SPLIT_SCALED ? 1 / SPLIT_SCALE : 1;
    if (form == SPLIT_PLAIN) {
        *x = (vec)h;
        *y = (vec)m;
        return;
    }
    *x = ((vec)(h << 16) + ((vec)(m << 16) + (vec)(l << 16))) * down;
    *y = ((vec)(h & 0xffff0000) + ((vec)(m & 0xffff0000) + (vec)(l & 0xffff0000))) * down;
}

/* Packs a step of an operand that is kept from `line` [32][x, y][16], as split_store takes lines
 * that go to [half][16]. */
INLINE void split_step(u32 *to, const DTYPE *line, int form, split_sizes *sizes)
{
    const DTYPE up = form == SPLIT_SCALED ? SPLIT_SCALE : 1;
    for (int i = 0; i < 32; i++, line += 32, to += 16) {
        if (form == SPLIT_PLAIN) {
            *(words_at *)to = (words)load(line);
            *(words_at *)(to + PART_WORDS) = (words)load(line + 16);
            continue;
        }
        const vec x = load(line) * up, y = load(line + 16) * up;
        sizes->least = split_small(to, x, y, sizes->least);
        sizes->most =
            ~least_of(~sizes->most, least_of(~((words)x + (words)x), ~((words)y + (words)y)));
    }
}

/* The head of a panel that was packed in this form; with another form: it must be packed again. */
INLINE split_head split_head_of(const split_sizes *sizes, int form)
{
    const u32 least = split_least(sizes->least), most = ~split_least(~sizes->most);
    if (form == SPLIT_PARTS)
        form = most > SIZE_OF(127)      ? SPLIT_PLAIN
               : least >= SIZE_OF(-100) ? SPLIT_PARTS
               : most < SIZE_OF(30)     ? SPLIT_SCALED
                                        : SPLIT_PLAIN;
    return (split_head){least, (unsigned short)(most >> 24), (unsigned short)form};
}

/* A step of 32 rows or columns of an operand, of which n exist, from depth k on. */
typedef void split_lines(DTYPE *line, const DTYPE *from, i64 n, i64 k);

/* Packs a panel of an operand that is kept, as often as it takes; gives its head. */
INLINE split_head split_pack(u32 *to, split_lines *lines, const DTYPE *from, i64 n)
{
    DTYPE line[SUMS] __attribute__((aligned(64)));
    split_head head = {.form = SPLIT_PARTS};
    for (int form = -1; form != head.form;) {
        split_sizes sizes = SPLIT_NO_SIZES;
        form = head.form;
        for (i64 s = 0; s < STEPS; s++) {
            lines(line, from, n, s * 32);
            split_step(to + s * STEP_WORDS, line, form, &sizes);
        }
        head = split_head_of(&sizes, form);
    }
    return head;
}

/* ---- blocks of 32 by 32 sums ------------------------------------------------------------- */

/* A body may have words of columns lie elsewhere: SPLIT_B_ROW from one to the next of depth,
 * SPLIT_B_HALF to the other columns, SPLIT_B_PART to the next part, its steps at SPLIT_B_STEP. */
#ifndef SPLIT_B_STEP
#define SPLIT_B_STEP(b, s) ((b) + (s)*STEP_WORDS)
#define SPLIT_B_PART PART_WORDS
#define SPLIT_B_HALF 256
#define SPLIT_B_ROW 16
#endif

#define SPLIT_A(part, i) (a + (part)*PART_WORDS + (i)*256)
#define SPLIT_B(part, j) (at + (part)*SPLIT_B_PART + (j)*SPLIT_B_HALF)
#define SPLIT_LOAD_A(part)                                                                     \
    TILE_LOAD(4, SPLIT_A(part, 0), 16);                                                        \
    if (tm > 1)                                                                                \
    TILE_LOAD(5, SPLIT_A(part, 1), 16)
#define SPLIT_LOAD_B(part)                                                                     \
    TILE_LOAD(6, SPLIT_B(part, 0), SPLIT_B_ROW);                                               \
    if (tn > 1)                                                                                \
    TILE_LOAD(7, SPLIT_B(part, 1), SPLIT_B_ROW)
#define SPLIT_DOTS                                                                             \
    TILE_DOT(0, 4, 6);                                                                         \
    if (tm > 1)                                                                                \
        TILE_DOT(1, 5, 6);                                                                     \
    if (tn > 1)                                                                                \
        TILE_DOT(2, 4, 7);                                                                     \
    if (tm > 1 && tn > 1)                                                                      \
    TILE_DOT(3, 5, 7)

/* A block whose sums are made, and its rows `from` to `to` as the output: the body's. That happens
 * between the steps of the next one, as vectors have little to do while tiles are multiplied. */
struct pending;
static void finish(struct pending *w, i64 from, i64 to);

/* sums += the steps of a panel of rows and one of columns, of which tm and tn halves matter; the
 * first sums where `first`. Finishes `w` meanwhile, or nothing where it is NULL. */
INLINE void split_steps(const u32 *a, const u32 *b, i64 steps, DTYPE *sums, int first,
                        struct pending *w, const int tm, const int tn)
{
    if (first) {
        tiles_zero();
    } else {
        TILE_LOAD(0, sums, DOT_NR);
        TILE_LOAD(1, sums + 16 * DOT_NR, DOT_NR);
        TILE_LOAD(2, sums + 16, DOT_NR);
        TILE_LOAD(3, sums + 16 * DOT_NR + 16, DOT_NR);
    }
    for (i64 s = 0; s < steps; s++, a += STEP_WORDS) {
        const u32 *const at = SPLIT_B_STEP(b, s);
        SPLIT_LOAD_A(0);
        SPLIT_LOAD_B(2);
        SPLIT_DOTS; /* h l */
        SPLIT_LOAD_B(1);
        SPLIT_DOTS; /* h m */
        SPLIT_LOAD_A(1);
        SPLIT_DOTS; /* m m */
        if (w && s * 32 / steps < (s + 1) * 32 / steps)
            finish(w, s * 32 / steps, (s + 1) * 32 / steps);
        SPLIT_LOAD_B(0);
        SPLIT_DOTS; /* m h */
        SPLIT_LOAD_A(2);
        SPLIT_DOTS; /* l h */
        SPLIT_LOAD_A(0);
        SPLIT_DOTS; /* h h */
    }
    tiles_store(sums, 32);
}

INLINE void split_block(const u32 *a, const u32 *b, i64 steps, DTYPE *sums, int first,
                        struct pending *w, i64 rows, i64 columns)
{
    if (rows > 16 && columns > 16)
        split_steps(a, b, steps, sums, first, w, 2, 2);
    else if (rows > 16)
        split_steps(a, b, steps, sums, first, w, 2, 1);
    else if (columns > 16)
        split_steps(a, b, steps, sums, first, w, 1, 2);
    else
        split_steps(a, b, steps, sums, first, w, 1, 1);
}

/* Whether a sum of the first rows and columns is in size below 2^exponent; zeros count, or not. */
static __attribute__((noinline)) int split_below(const DTYPE *sums, int exponent, int zeros,
                                                 i64 rows, i64 columns)
{
    words lane, least = (words){0} - 1;
    for (int l = 0; l < VLEN; l++)
        lane[l] = (u32)l;
    for (i64 i = 0; i < rows; i++)
        for (i64 j = 0; j < MIN(32, columns); j += VLEN) {
            const vec v = load(sums + i * 32 + j);
            const words size = (words)v + (words)v - (zeros ? 0 : 1);
            least = least_of(least, size | (words)(lane >= (u32)(columns - j)));
        }
    return split_least(least) < SIZE_OF(exponent);
}

/* Whether sums of a panel of which this is the head and of data whose least size this is must be
 * made by vectors. */
INLINE int split_lost(const DTYPE *sums, split_head kept, u32 data_least, i64 rows, i64 columns)
{
    if (kept.form == SPLIT_PLAIN)
        return 1;
    vec none[4] = {{0}};
    for (int i = 0; i < SUMS; i += 4 * VLEN) {
        UNROLL(4)
        for (int j = 0; j < 4; j++)
            none[j] += load(sums + i + j * VLEN) * 0.0f;
    }
    const vec zero = (none[0] + none[1]) + (none[2] + none[3]);
    int lost = 0;
    for (int l = 0; l < VLEN; l++)
        lost |= zero[l] != 0.0f;
    if (lost)
        return 1;
    if (data_least >= SIZE_OF(-100))
        return (kept.least >> 24) + (data_least >> 24) < 2 * 127 - 100 &&
               split_below(sums, -80, 0, rows, columns);
    /* K products, each less than 2^-126 times 2^(exponent + 1) off. */
    const int exponent = kept.exponent - 127 + 1 - 126 + 24 + SPLIT_LOG_K;
    return exponent > 127 || split_below(sums, MAX(-80, exponent), 1, rows, columns);
}

/* Makes the sums right that tiles made: those of the panel, not of its multiple. */
INLINE void split_unscale(DTYPE *sums, split_head kept)
{
    for (int i = 0; kept.form == SPLIT_SCALED && i < SUMS; i += VLEN)
        store(sums + i, load(sums + i) * (1 / SPLIT_SCALE));
}

/* ---- by vectors -------------------------------------------------------------------------- */

/* sums += a [32][32 of depth] times b [32 of depth][32] */
static __attribute__((noinline, unused)) void split_exact(const DTYPE *a, const DTYPE *b,
                                                          DTYPE *sums)
{
    for (int i = 0; i < 32; i += 4) {
        vec acc[4][2];
        UNROLL(8)
        for (int r = 0; r < 8; r++)
            acc[r / 2][r % 2] = load(sums + (i + r / 2) * 32 + r % 2 * 16);
        for (int k = 0; k < 32; k++) {
            const vec b0 = load(b + k * 32), b1 = load(b + k * 32 + 16);
            UNROLL(4)
            for (int r = 0; r < 4; r++) {
                acc[r][0] += b0 * a[(i + r) * 32 + k];
                acc[r][1] += b1 * a[(i + r) * 32 + k];
            }
        }
        UNROLL(8)
        for (int r = 0; r < 8; r++)
            store(sums + (i + r / 2) * 32 + r % 2 * 16, acc[r / 2][r % 2]);
    }
}

/* A step of a panel of rows as [32][32 of depth], of one of columns as [32 of depth][32]. */
INLINE void split_rows_of(DTYPE *to, const u32 *step, int form)
{
    for (int i = 0; i < 32; i++) {
        vec x, y;
        split_join(step + i * 16, form, &x, &y);
        store(to + i * 32, x);
        store(to + i * 32 + 16, y);
    }
}

INLINE void split_columns_of(DTYPE *to, const u32 *step, int form)
{
    for (int i = 0; i < 32; i++) {
        vec x, y;
        split_join(step + i * 16, form, &x, &y);
        store(to + i % 16 * 32 + i / 16 * 16, x);
        store(to + (16 + i % 16) * 32 + i / 16 * 16, y);
    }
}

#endif
