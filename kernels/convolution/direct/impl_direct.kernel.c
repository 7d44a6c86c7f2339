/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution with packed weights and a register tile; the body behind several rows.
 *
 * The tile is TH rows x TW columns of output pixels times OV vectors of output channels. It
 * stays in registers while input channels, kernel rows and kernel columns pass by: each step
 * loads OV weight vectors and broadcasts one input element per pixel. Whatever the layouts,
 * only the strides of the broadcast and the final store differ.
 *
 * Padding is clipped (COPY 0: tiles touching an edge are compiled apart, with the taps outside
 * left out) or made real in a small copy of the rows in work (COPY 1).
 *
 * Two modules, so that little is compiled for a config. With TILE defined, this is the register
 * tile alone; beside the shape the plan defines LANES, OV, TH, TW, COPY, ROWS_LEFT (there are
 * single rows behind tiles), PARTIAL (sums are added up in several passes), UNROLL_IC, UNROLL_KW
 * (where no edge is near; there all columns are unrolled) and PREFETCH (whether weights are
 * fetched ahead). Without, it is the loops, which read and write the tensors and get the tile as
 * a function and all other knobs as numbers: compiled once for a shape, where SUMS is the most
 * vectors of a tile.
 */
#include "kernels/common/cpu.kernel.h"
#ifndef TILE
#include "kernels/convolution/direct/lanes.kernel.h"
#endif

#define XB (IN_BLOCK ? IN_BLOCK : 1)
#define COPY_W ((OW - 1) * SW + (KW - 1) * DW + 1)

/* A function of another module: arg[0] is what it is asked. */
typedef void asked_function(void *const *arg);

/* A tile that is asked for. */
typedef struct tile_asked {
    const DTYPE *x; /* the group's input, its tensor or the copy, moved to the tile's first pixel */
    const DTYPE *w; /* the tile's weights */
    DTYPE *part;    /* of PARTIAL, sums of a pixel's channels, OW of which are a row */
    DTYPE *done;    /* [pixel][OV][LANES], finished */
    i64 rows, t;    /* TH, or 1; which of a row of tiles it is */
    i64 kh0, kh1;   /* rows of the kernel that meet the input */
    i64 c, ico0, ico1; /* first input channel, counted from x; blocks of input channels to add */
    i64 ici, plane;    /* input channels of a block; elements from one to the next */
    i64 ahead;         /* elements that weights are fetched ahead */
    i64 last;          /* whether these are the last channels */
} tile_asked;

/* What the module of the tile says of itself. */
typedef struct tile_is {
    i64 rows, cols, vectors, copies;
    asked_function *ask;
} tile_is;

#ifdef TILE
#define OCT (OV * LANES) /* output channels of a tile */
#define NT CEIL_DIV(OW, TW)
#define LAST_COLS (OW - (NT - 1) * TW)
#define X_ROW (COPY ? COPY_W : W)
#define EDGE_LEFT (!COPY && PL > 0)
#define EDGE_RIGHT (!COPY && (OW - 1) * SW - PL + (KW - 1) * DW >= W)

/* Adds one input channel under one column of the kernel. */
INLINE void step(vec (*acc)[OV], const DTYPE *w, const DTYPE *x, const i64 ahead, const int kw,
                 const int rows, const int cols, const int edge)
{
    vec wv[OV];
    UNROLL(OV)
    for (int v = 0; v < OV; v++) {
        wv[v] = load(w + v * LANES);
        if (PREFETCH)
            __builtin_prefetch(w + v * LANES + ahead);
    }
    UNROLL(TH * TW)
    for (int p = 0; p < rows * cols; p++) {
        const int ix = (edge + p % cols) * SW - PL + kw * DW;
        if (edge >= 0 && (ix < 0 || ix >= W))
            continue;
        const DTYPE b = x[(p / cols * (SH * X_ROW) + p % cols * SW + kw * DW) * XB];
        UNROLL(OV)
        for (int v = 0; v < OV; v++)
            acc[p][v] += wv[v] * b;
    }
}

/* Adds one column of the kernel over a block of input channels. */
INLINE void column(vec (*acc)[OV], const tile_asked *a, const DTYPE *w, const DTYPE *x,
                   const int kw, const int rows, const int cols, const int edge)
{
    const i64 next = IN_BLOCK ? 1 : a->plane;
    const DTYPE *const end = w + a->ici * OCT;
    while (w < end) {
        UNROLL(UNROLL_IC)
        for (int k = 0; k < UNROLL_IC; k++, w += OCT, x += next)
            step(acc, w, x, a->ahead, kw, rows, cols, edge);
    }
}

/* `edge` is the constant first column of a tile that must leave out taps, else -1. */
INLINE void tile(const tile_asked *a, const int rows, const int cols, const int edge)
{
    vec acc[TH * TW][OV];
    if (PARTIAL && a->ico0 > 0) {
        UNROLL(TH * TW)
        for (int p = 0; p < rows * cols; p++) {
            UNROLL(OV)
            for (int v = 0; v < OV; v++)
                acc[p][v] = load(a->part + (p / cols * OW + p % cols) * OCT + v * LANES);
        }
    } else {
        UNROLL(TH * TW)
        for (int p = 0; p < rows * cols; p++) {
            UNROLL(OV)
            for (int v = 0; v < OV; v++)
                acc[p][v] = (vec){0};
        }
    }

    const i64 w_column = a->ici * OCT;
    for (i64 ico = a->ico0; ico < a->ico1; ico++) {
        const i64 c = a->c + ico * a->ici;
        const i64 xc = c / XB * (a->plane * XB) + c % XB;
        const DTYPE *wc = a->w + ico * (KH * KW * w_column);
        for (i64 kh = a->kh0; kh < a->kh1; kh++) {
            const DTYPE *w = wc + kh * (KW * w_column);
            const DTYPE *x = a->x + xc + kh * (DH * X_ROW * XB);
            if (edge >= 0) {
                UNROLL(KW)
                for (int kw = 0; kw < KW; kw++, w += w_column)
                    column(acc, a, w, x, kw, rows, cols, edge);
            } else {
                UNROLL(UNROLL_KW)
                for (int kw = 0; kw < KW; kw++, w += w_column)
                    column(acc, a, w, x, kw, rows, cols, -1);
            }
        }
    }

    if (PARTIAL && !a->last) {
        UNROLL(TH * TW)
        for (int p = 0; p < rows * cols; p++) {
            UNROLL(OV)
            for (int v = 0; v < OV; v++)
                store(a->part + (p / cols * OW + p % cols) * OCT + v * LANES, acc[p][v]);
        }
        return;
    }
    UNROLL(TH * TW)
    for (int p = 0; p < rows * cols; p++) {
        UNROLL(OV)
        for (int v = 0; v < OV; v++)
            store(a->done + p * OCT + v * LANES, acc[p][v]);
    }
}

/* One of the tiles of `rows` rows. */
INLINE void tile_of_row(const tile_asked *a, const int rows)
{
#if NT == 1
    tile(a, rows, OW, EDGE_LEFT || EDGE_RIGHT ? 0 : -1);
#else
#if EDGE_LEFT
    if (a->t == 0) {
        tile(a, rows, TW, 0);
        return;
    }
#endif
#if EDGE_RIGHT || LAST_COLS != TW
    if (a->t == NT - 1) {
        tile(a, rows, LAST_COLS, EDGE_RIGHT ? (NT - 1) * TW : -1);
        return;
    }
#endif
#if NT > (EDGE_LEFT) + (EDGE_RIGHT || LAST_COLS != TW)
    tile(a, rows, TW, -1);
#endif
#endif
}

static void ask(void *const *arg)
{
    const tile_asked a = *(const tile_asked *)arg[0];
#if ROWS_LEFT
    if (a.rows < TH) {
        tile_of_row(&a, 1);
        return;
    }
#endif
    tile_of_row(&a, TH);
}

void tile_does(void *const *arg)
{
    *(tile_is *)arg[0] =
        (tile_is){.rows = TH, .cols = TW, .vectors = OV, .copies = COPY, .ask = ask};
}
#else
#define COPY_H(rows) (((rows) - 1) * SH + (KH - 1) * DH + 1)
/* Blocks of input channels that a group touches. */
#define COPY_BLOCKS (CI_G % XB == 0 ? CI_G / XB : (CI_G + 2 * XB - 2) / XB)
#define YB (OUT_BLOCK ? OUT_BLOCK : 1)

/* ---- weights: OIHW to [group][tile][ICO][KH][KW][ICI][OCT] -------------------------------- */

/* arg: weight, packed, output channels of a tile, input channels of a block */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    const i64 oct = *(const i64 *)arg[2], ici = *(const i64 *)arg[3];
    const i64 tiles = CEIL_DIV(CO_G, oct), size = (i64)CI_G * KH * KW * oct;
    PARALLEL_FOR
    for (i64 t = 0; t < GROUPS * tiles; t++) {
        const i64 g = t / tiles, first = t % tiles * oct, some = MIN(oct, CO_G - first);
        DTYPE *row = packed + t * size;
        const DTYPE *from = weight + (g * CO_G + first) * ((i64)CI_G * KH * KW);
        for (i64 c0 = 0; c0 < CI_G; c0 += ici)
            for (i64 tap = 0; tap < KH * KW; tap++)
                for (i64 c = c0; c < c0 + ici; c++, row += oct) {
                    i64 o = 0;
                    for (; o < some; o++)
                        row[o] = from[(o * CI_G + c) * (KH * KW) + tap];
                    for (; o < oct; o++)
                        row[o] = 0;
                }
    }
}

/* ---- output ------------------------------------------------------------------------------- */

/* Stores one vector of output channels at pixel `at` of the plane; `lanes` channels exist from
 * its first one on, fewer or more than it holds. */
INLINE void put_channels(DTYPE *out, i64 n, i64 c, i64 at, vec v, i64 lanes, void *const *arg)
{
    const i64 plane = (i64)OH * OW;
#if OUT_BLOCK
    const int aligned = GROUPS == 1 || CO_G % LANES == 0;
    DTYPE *to = out + ((n * (CO / YB) + c / YB) * plane + at) * YB;
    if (OUT_BLOCK % LANES == 0 && aligned && lanes >= LANES) {
        to += c % YB;
        store(to, epilogue(v, arg, to - out, LANES));
        return;
    }
    if (LANES == 2 * YB && aligned && lanes >= YB) {
        put_half(to, v, 0);
        if (lanes >= LANES)
            put_half(to + plane * YB, v, 1);
        epilogue_rows(to, plane * YB, lanes >= LANES ? 2 : 1, YB, arg, to - out);
        return;
    }
#endif
    for (i64 i = 0; i < MIN(lanes, LANES); i++) {
        const i64 o = ((n * (CO / YB) + (c + i) / YB) * plane + at) * YB + (c + i) % YB;
        out[o] = epilogue_one(v[i], arg, o);
    }
}

/* Stores `count` pixels that lie one behind the other, of `nv` vectors each, and as many rows
 * of them, OW apart. */
static __attribute__((noinline)) void put_pixels(DTYPE *out, i64 n, i64 c, i64 at,
                                                 const DTYPE *done, i64 rows, i64 count, i64 nv,
                                                 i64 lanes, void *const *arg)
{
#if OUT_BLOCK
    for (i64 r = 0; r < rows; r++)
        for (i64 p = 0; p < count; p++)
            for (i64 v = 0; v < nv; v++, done += LANES)
                if (lanes > v * LANES)
                    put_channels(out, n, c + v * LANES, at + r * OW + p, load(done),
                                 lanes - v * LANES, arg);
#else
    for (i64 r = 0; r < rows; r++, at += OW, done += count * nv * LANES)
        for (i64 v = 0; v < nv; v++) {
            DTYPE *to = out + (n * CO + c + v * LANES) * (i64)OH * OW + at;
            const i64 exist = MIN(LANES, lanes - v * LANES);
            for (i64 q = 0; q < count; q += LANES) {
                const i64 some = MIN(LANES, count - q);
                const DTYPE *from = done + (q * nv + v) * LANES;
                vec t[LANES];
                UNROLL(16)
                for (int i = 0; i < LANES; i++) {
                    t[i] = load(from);
                    from += i + 1 < some ? nv * LANES : 0;
                }
                transpose(t);
                UNROLL(1)
                for (i64 i = 0; i < exist; i++) {
                    DTYPE *row = to + i * (i64)OH * OW + q;
                    put_some(row, epilogue_some(t[i], arg, row - out, some), some);
                }
            }
        }
#endif
}

/* ---- loops -------------------------------------------------------------------------------- */

/* The padded input rows that output rows [oy0, oy0 + most) need, as far as there are these. */
INLINE void copy_rows(const DTYPE *data, i64 n, i64 block, i64 oy0, i64 most, DTYPE *to,
                      void *const *arg)
{
    const i64 whole = COPY_H(most);
    const i64 height = VARIES ? COPY_H(MIN(OH, oy0 + most) - oy0) : whole;
    const i64 blocks = MIN((i64)COPY_BLOCKS, CI / XB - block);
    const i64 left = MIN(PL, COPY_W), middle = MIN(W, COPY_W - left);
    for (i64 b = 0; b < blocks; b++) {
        for (i64 r = 0; r < height; r++) {
            const i64 y = oy0 * SH - PT + r;
            DTYPE *row = to + (b * whole + r) * (COPY_W * XB);
            if (y < 0 || y >= H) {
                __builtin_memset(row, 0, COPY_W * XB * sizeof(DTYPE));
                continue;
            }
            const DTYPE *from = data + ((n * (CI / XB) + block + b) * H + y) * (W * XB);
            const i64 used = (left + middle) * XB;
            __builtin_memset(row, 0, left * XB * sizeof(DTYPE));
            __builtin_memcpy(row + left * XB, from, middle * XB * sizeof(DTYPE));
            __builtin_memset(row + used, 0, (COPY_W * XB - used) * sizeof(DTYPE));
        }
    }
}

/* What the numbers of a config come to, and what a thread works on. */
typedef struct place {
    tile_is is;
    tile_asked asked;
    DTYPE *out;
    void *const *arg; /* of the stage */
    i64 n, oc, lanes; /* batch item, first output channel, how many of a tile's exist */
    i64 oy0;          /* first row of the block of rows */
    i64 row;          /* elements of a row of input */
    const DTYPE *x;
    DTYPE *part; /* partial sums of the tile's channels: [rows of a block][OW][channels] */
} place;

/* Of NCHW: that `count` pixels of every channel of a tile will be written. */
INLINE void expect_pixels(const place *at, i64 first, i64 count)
{
    void *const *arg = at->arg;
    const i64 plane = (i64)OH * OW;
    i64 o = (at->n * CO + at->oc) * plane + first;
    for (i64 c = 0; c < MIN(at->lanes, at->is.vectors * LANES); c++, o += plane)
        expect(at->out, arg, o, count);
}

/* All tiles of `rows` rows. */
INLINE void rows_of_tiles(place *at, i64 oy, i64 rows, DTYPE *done)
{
    void *const *arg = at->arg;
    tile_asked *a = &at->asked;
    const i64 y = at->is.copies ? (oy - at->oy0) * SH : oy * SH - PT;
    const i64 x = at->is.copies ? 0 : -PL, oct = at->is.vectors * LANES;
    a->rows = rows;
    a->kh0 = 0;
    a->kh1 = KH;
    if (!at->is.copies && PT > 0 && y < 0)
        a->kh0 = CEIL_DIV(-y, DH);
    if (!at->is.copies && PB > 0 && y + (KH - 1) * DH >= H)
        a->kh1 = CEIL_DIV(H - y, DH);
    a->t = 0;
    for (i64 ox = 0; ox < OW; ox += at->is.cols, a->t++) {
        const i64 cols = MIN(at->is.cols, OW - ox);
        a->x = at->x + (y * at->row + x + ox * SW) * XB;
        a->part = at->part + ((oy - at->oy0) * OW + ox) * oct;
        a->done = done;
        if (a->last && !OUT_BLOCK)
            expect_pixels(at, oy * OW + ox, cols == OW ? rows * OW : cols);
        at->is.ask((void *[]){a});
        if (a->last)
            put_pixels(at->out, at->n, at->oc, oy * OW + ox, done, cols == OW ? 1 : rows,
                       cols == OW ? rows * OW : cols, at->is.vectors, at->lanes, arg);
    }
}

/* arg: data, packed, out, partial sums, copies, the tile, input channels of a block, blocks of
 * them in a chunk, channel tiles of a chunk, output rows of a block, steps that weights are
 * fetched ahead, and the dims that vary */
void conv2d(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1];
    DTYPE *part = arg[3], *copy = arg[4];
    const i64 ici = *(const i64 *)arg[6], ico_chunk = *(const i64 *)arg[7];
    const i64 ot_chunk = *(const i64 *)arg[8], ohb = *(const i64 *)arg[9];
    const i64 ahead = *(const i64 *)arg[10];
    tile_is is;
    ((asked_function *)arg[5])((void *[]){&is});
    const i64 oct = is.vectors * LANES, tiles = CEIL_DIV(CO_G, oct), icos = CI_G / ici;
    const i64 chunks = CEIL_DIV(tiles, ot_chunk), blocks = CEIL_DIV(OH, ohb);
    PARALLEL_FOR
    for (i64 it = 0; it < (i64)N * GROUPS * chunks * blocks; it++) {
        DTYPE done[SUMS * LANES] __attribute__((aligned(VEC_BYTES)));
        const i64 oy0 = it % blocks * ohb, oy1 = MIN(OH, oy0 + ohb);
        const i64 chunk = it / blocks % chunks;
        const i64 g = it / blocks / chunks % GROUPS, n = it / blocks / chunks / GROUPS;
        place at = {.is = is, .out = arg[2], .arg = arg, .n = n, .oy0 = oy0};
        tile_asked *a = &at.asked;
        a->ici = ici;
        a->ahead = ahead * oct;
        if (is.copies) {
            DTYPE *mine = copy + THREAD * (COPY_BLOCKS * COPY_H(ohb) * COPY_W * XB);
            copy_rows(data, n, g * CI_G / XB, oy0, ohb, mine, arg);
            at.x = mine;
            at.row = COPY_W;
            a->c = g * CI_G % XB;
            a->plane = COPY_H(ohb) * COPY_W;
        } else {
            at.x = data + n * ((i64)CI * H * W);
            at.row = W;
            a->c = g * CI_G;
            a->plane = (i64)H * W;
        }
        for (a->ico0 = 0; a->ico0 < icos; a->ico0 = a->ico1) {
            a->ico1 = MIN(icos, a->ico0 + ico_chunk);
            a->last = a->ico1 == icos;
            for (i64 t = chunk * ot_chunk; t < MIN(tiles, (chunk + 1) * ot_chunk); t++) {
                a->w = packed + (g * tiles + t) * ((i64)CI_G * KH * KW * oct);
                at.oc = g * CO_G + t * oct;
                at.lanes = MIN(oct, CO_G - t * oct);
                at.part = part;
                if (ico_chunk < icos)
                    at.part += (THREAD * ot_chunk + t - chunk * ot_chunk) * (ohb * OW * oct);
                i64 oy = oy0;
                for (; oy + is.rows <= oy1; oy += is.rows)
                    rows_of_tiles(&at, oy, is.rows, done);
                for (; oy < oy1; oy++)
                    rows_of_tiles(&at, oy, 1, done);
            }
        }
    }
}
#endif
