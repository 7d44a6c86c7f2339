/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tiles of AMX in a product: 16 rows of 64 bytes, eight of them. Sums are tiles 0 to 3, rows of
 * the left operand 4 and 5 (the third 7), words of 16 columns 6 and 7. Macros from the plan: TILE_M
 * and TILE_N, the tiles of sums in rows and columns: 1x1, 1x2, 1x4, 2x1, 2x2 or 3x1; those of
 * kernels/matmul/dot.kernel.h, with DOT_NV = TILE_N vectors.
 *
 * The system gives a program tiles when it asks for them, all of it until it ends; signal stacks
 * that are too small for them are refused from then on, and where one is there already the program
 * is. Then the same sums are made by vectors, and so are blocks of float16 (DOT_SPLIT) whose sums
 * by tiles are not finite.
 * Source of the instructions: Intel, Architecture Instruction Set Extensions, AMX.
 */
#ifndef OPTUNE_KERNELS_MATMUL_TILES_H
#define OPTUNE_KERNELS_MATMUL_TILES_H

#include "kernels/matmul/dot.kernel.h"

#define TILE_ROWS (16 * TILE_M) /* of a block */

#if DOT == DOT_TILE_BF16 || DOT_SPLIT
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

/* Asks the system for tiles, once; false: this program gets none. */
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

/* The calling thread's tiles get the shapes of a block of so many rows. */
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
    /* The last tile of rows: of sums and of the operand. */
    const int last = CEIL_DIV(rows, 16) - 1;
    const unsigned char over = (unsigned char)(rows - 16 * last);
    if (TILE_M == 1)
        shape.rows[0] = shape.rows[1] = shape.rows[2] = shape.rows[3] = shape.rows[4] =
            shape.rows[5] = over;
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

/* 16 words of depth of `rows` rows, a_row words apart in a tile and a_tile from tile to tile, and
 * of DOT_NR columns, their words b_row apart. Loads come first: a product does not wait behind the
 * load of another's operand. */
INLINE void tiles_step(const word_at *a, i64 a_row, i64 a_tile, const u32 *b, i64 b_row,
                       const int rows)
{
    const int tiles = CEIL_DIV(rows, 16);
    TILE_LOAD(6, b, b_row);
    TILE_LOAD(4, a, a_row);
    if (tiles > 1)
        TILE_LOAD(5, a + a_tile, a_row);
#if TILE_M == 3
    if (tiles > 2)
        TILE_LOAD(7, a + 2 * a_tile, a_row);
#elif TILE_N > 1
    TILE_LOAD(7, b + 16, b_row);
#endif
    TILE_DOT(0, 4, 6);
    if (tiles > 1)
        TILE_DOT(1, 5, 6);
#if TILE_M == 3
    if (tiles > 2)
        TILE_DOT(2, 7, 6);
#elif TILE_N > 1
    TILE_DOT(2, 4, 7);
    if (tiles > 1)
        TILE_DOT(3, 5, 7);
#endif
#if TILE_N == 4
    TILE_LOAD(6, b + 32, b_row);
    TILE_DOT(1, 4, 6);
    TILE_LOAD(7, b + 48, b_row);
    TILE_DOT(3, 4, 7);
#endif
}

/* The same of words of two halves (DOT_SPLIT): the exchanged ones are a_other words behind. */
INLINE void tiles_step_split(const word_at *a, i64 a_row, i64 a_tile, i64 a_other, const u32 *b,
                             i64 b_row, const int rows)
{
    const int tiles = CEIL_DIV(rows, 16);
    TILE_LOAD(6, b, b_row);
    TILE_LOAD(4, a, a_row);
    TILE_DOT(0, 4, 6);
#if TILE_N == 4
    TILE_LOAD(7, b + 16, b_row);
    TILE_DOT(2, 4, 7);
    TILE_LOAD(5, a + a_other, a_row);
    TILE_DOT(0, 5, 6);
    TILE_LOAD(6, b + 32, b_row);
    TILE_DOT(2, 5, 7);
    TILE_LOAD(7, b + 48, b_row);
    TILE_DOT(1, 4, 6);
    TILE_DOT(3, 4, 7);
    TILE_DOT(1, 5, 6);
    TILE_DOT(3, 5, 7);
#else
    if (tiles > 1) {
        TILE_LOAD(5, a + a_tile, a_row);
        TILE_DOT(1, 5, 6);
    }
#if TILE_M == 3
    if (tiles > 2) {
        TILE_LOAD(7, a + 2 * a_tile, a_row);
        TILE_DOT(2, 7, 6);
    }
#elif TILE_N > 1
    TILE_LOAD(7, b + 16, b_row);
    TILE_DOT(2, 4, 7);
    if (tiles > 1)
        TILE_DOT(3, 5, 7);
#endif
    TILE_LOAD(4, a + a_other, a_row);
    TILE_DOT(0, 4, 6);
    if (tiles > 1) {
        TILE_LOAD(5, a + a_other + a_tile, a_row);
        TILE_DOT(1, 5, 6);
    }
#if TILE_M == 3
    if (tiles > 2) {
        TILE_LOAD(7, a + a_other + 2 * a_tile, a_row);
        TILE_DOT(2, 7, 6);
    }
#elif TILE_N > 1
    TILE_DOT(2, 4, 7);
    if (tiles > 1)
        TILE_DOT(3, 5, 7);
#endif
#endif
}

INLINE void tiles_zero(void)
{
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
}

/* sums [rows][DOT_NR] */
INLINE void tiles_store(DTYPE *sums, const int rows)
{
    const int tiles = CEIL_DIV(rows, 16);
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

/* Whether all of sums [rows][DOT_NR] are finite, or nobody asks: no sum of finite float16 is too
 * large, so that one that is not finite has met an operand that is not. */
INLINE int tiles_hold(const DTYPE *sums, const int rows)
{
    words none = {0};
    for (int i = 0; DOT_SPLIT && i < rows * DOT_NR; i += VLEN)
        none |= (words)(load(sums + i) * 0);
    u32 any = 0;
    for (int l = 0; l < VLEN; l++)
        any |= none[l];
    return any << 1 == 0; /* but for the sign of zero */
}

/* The same step by vectors, added to sums [rows][DOT_NR]. Unsigned by signed integers: rows have
 * 128 added to them, which is taken back. */
static __attribute__((noinline)) void tiles_step_by_vectors(const word_at *a, i64 a_row,
                                                            i64 a_tile, const u32 *b, i64 b_row,
                                                            DTYPE *sums, int rows)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < DOT_NR; j += VLEN) {
            vec sum = load(sums + i * DOT_NR + j), more = {0};
            for (int k = 0; k < 16; k++) {
                const words w = *(const words_at *)(b + k * b_row + j);
                sum = dot_step(sum, a[i / 16 * a_tile + i % 16 * a_row + k], w);
                if (DOT_BYTES)
                    more = dot_step(more, 0, w);
            }
            store(sums + i * DOT_NR + j, sum - more);
        }
}

#endif
