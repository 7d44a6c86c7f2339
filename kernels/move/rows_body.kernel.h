/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces moved row by row: the innermost loop is along the output. A piece is an array of
 * constants, so that after inlining every extent and stride is one; with VARIES of what follows
 * from dims known at run time, S0 ..., which are arguments.
 */
#ifndef OPTUNE_KERNELS_ROWS_BODY_H
#define OPTUNE_KERNELS_ROWS_BODY_H

#include "kernels/common/shares.shared.h"
#include "kernels/common/stream.kernel.h"
#include "kernels/common/times.kernel.h"
#include "kernels/move/cut.kernel.h"

/* Of so many pieces one code does all. */
#define MANY (PIECES > 16)

/* A piece's array: mode, input, offsets, rank, then extent, input stride, output stride of each
 * loop. */
#define MODE(p) ((p)[0])
#define INPUT(p) ((p)[1])
#define IN_OFFSET(p) ((p)[2])
#define OUT_OFFSET(p) ((p)[3])
#define RANK(p) ((p)[4])
#define EXTENT(p, d) ((p)[5 + 3 * (d)])
#define IN_STRIDE(p, d) ((p)[6 + 3 * (d)])
#define OUT_STRIDE(p, d) ((p)[7 + 3 * (d)])
enum { MODE_ROWS, MODE_TILES, MODE_FILL };

/* Offsets of number n of the loops before `end`. */
INLINE void place(const i64 *const p, i64 end, i64 n, i64 *in, i64 *out)
{
    *in = IN_OFFSET(p);
    *out = OUT_OFFSET(p);
    UNROLL(6)
    for (i64 d = end - 1; d >= 0; d--) {
        const i64 i = d > 0 ? n % EXTENT(p, d) : n;
        n /= EXTENT(p, d);
        *in += i * IN_STRIDE(p, d);
        *out += i * OUT_STRIDE(p, d);
    }
}

INLINE i64 outside(const i64 *const p, i64 end)
{
    i64 n = 1;
    UNROLL(6)
    for (i64 d = 0; d < end; d++)
        n *= EXTENT(p, d);
    return n;
}

/* n elements of a row, every step-th of the input. */
INLINE void row_by(ELEMENT *restrict out, const ELEMENT *restrict in, i64 n, const i64 step,
                   const i64 to, const i64 mode)
{
    i64 i = 0;
    if (mode == MODE_FILL) {
        for (; i < n; i++)
            out[i * to] = FILL;
        return;
    }
#if BLOCK > 0
    if (to == 1) {
#if STREAM
        ELEMENT buffer[BLOCK] __attribute__((aligned(LINE)));
        const i64 head = (LINE - (i64)((uptr)out % LINE)) % LINE / ELEMENT_BYTES;
        for (; i < head && i < n; i++)
            out[i] = in[i * step];
#endif
        for (; i + BLOCK <= n; i += BLOCK) {
#if AHEAD
            if (step == 1)
                for (int b = 0; b < BLOCK * ELEMENT_BYTES; b += LINE)
                    __builtin_prefetch((const char *)(in + i) + AHEAD + b);
#endif
#if STREAM
            for (int l = 0; l < BLOCK; l++)
                buffer[l] = in[(i + l) * step];
            for (int l = 0; l < BLOCK; l += LINE / ELEMENT_BYTES)
                stream_line(out + i + l, buffer + l);
#else
            for (int l = 0; l < BLOCK; l++)
                out[i + l] = in[(i + l) * step];
#endif
        }
    }
#endif
    for (; i < n; i++)
        out[i * to] = in[i * step];
}

/* What lies in one piece on both sides has code of its own where that shows at run time only. */
INLINE void row(ELEMENT *restrict out, const ELEMENT *restrict in, i64 n, const i64 step,
                const i64 to, const i64 mode)
{
    if ((VARIES || MANY) && step == 1 && to == 1 && mode != MODE_FILL)
        row_by(out, in, n, 1, 1, MODE_ROWS);
    else
        row_by(out, in, n, step, to, mode);
}

/* out[i][k] of in[k][i], few at once: compilers make shuffles of it. */
INLINE void alternate(ELEMENT *restrict out, const ELEMENT *restrict in, i64 n, i64 apart,
                      const i64 few)
{
    for (i64 i = 0; i < n; i++) {
        UNROLL(4)
        for (i64 k = 0; k < few; k++)
            out[i * few + k] = in[k * apart + i];
    }
}

/* Whether it is that, by constants, k being loop `few` and i loop `many`. */
INLINE int alternates(const i64 *const p, i64 few, i64 many)
{
    return !VARIES && !MANY && MODE(p) != MODE_FILL && EXTENT(p, few) > 1 &&
           EXTENT(p, few) <= 4 && OUT_STRIDE(p, few) == 1 &&
           OUT_STRIDE(p, many) == EXTENT(p, few) && IN_STRIDE(p, many) == 1;
}

INLINE void move_rows(const i64 *const p, void *const *arg)
{
    if (VARIES && outside(p, RANK(p)) == 0)
        return;
    const i64 rank = RANK(p), last = rank - 1;
    const i64 length = EXTENT(p, last), rows = rank > 1 ? EXTENT(p, rank - 2) : 1;
    const i64 in_row = rank > 1 ? IN_STRIDE(p, rank - 2) : 0;
    const i64 out_row = rank > 1 ? OUT_STRIDE(p, rank - 2) : 0, others = outside(p, rank - 2);
    /* Rows whose elements alternate share the lines that are written: one task has all of them. */
    const i64 together = out_row < OUT_STRIDE(p, last) && rows <= LINE ? rows : 1;
    const i64 least = CEIL_DIV(length * together, (i64)TASK);
    const i64 chunks =
        least > 1 ? even_pieces(OT_THREADS, others * (rows / together), least, length) : 1;
    const i64 at_once = MAX(together, TASK / length), some = CEIL_DIV(rows, at_once);
    const i64 groups = together < rows && some * others * chunks > 1
                           ? even_pieces(OT_THREADS, others * chunks, some, rows)
                           : 1;
    const ELEMENT *const from = arg[1 + MAX(INPUT(p), (i64)0)];
    PARALLEL_FOR
    for (i64 t = 0; t < others * groups * chunks; t++) {
        const i64 at = t % chunks * length / chunks, group = t / chunks % groups;
        const i64 first = group * rows / groups, end = (group + 1) * rows / groups;
        i64 in, out;
        place(p, rank - 2, t / chunks / groups, &in, &out);
        in += at * IN_STRIDE(p, last) + first * in_row;
        out += at * OUT_STRIDE(p, last) + first * out_row;
        if (rank > 1 && chunks == 1 && alternates(p, last, last - 1)) {
            alternate((ELEMENT *)arg[0] + out, from + in, end - first, IN_STRIDE(p, last),
                      length);
            continue;
        }
        if (rank > 1 && alternates(p, last - 1, last)) {
            alternate((ELEMENT *)arg[0] + out, from + in,
                      (t % chunks + 1) * length / chunks - at, in_row, rows);
            continue;
        }
        for (i64 r = first; r < end; r++) {
            if (chunks == 1)
                row((ELEMENT *)arg[0] + out, from + in, length, IN_STRIDE(p, last),
                    OUT_STRIDE(p, last), MODE(p));
            else
                row((ELEMENT *)arg[0] + out, from + in,
                    (t % chunks + 1) * length / chunks - at, IN_STRIDE(p, last),
                    OUT_STRIDE(p, last), MODE(p));
            in += in_row;
            out += out_row;
        }
    }
}

#if VARIES
#define PIECE_STORAGE
#else
#define PIECE_STORAGE static
#endif

#define DO(k)                                                                                  \
    {                                                                                          \
        PIECE_STORAGE const i64 piece[] = PIECE##k;                                            \
        by_how(piece, arg);                                                                    \
    }

#endif
