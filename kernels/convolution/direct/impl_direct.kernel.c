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
 * left out) or made real in a small copy of the rows in work (COPY 1). Beside the shape the
 * plan defines: LANES, OV, TH, TW, ICI (input channels of an innermost weight block), ICO_CHUNK
 * (such blocks of a chunk), OT_CHUNK (channel tiles of a chunk), OHB (output rows of a block),
 * COPY, UNROLL_IC, UNROLL_KW (where no edge is near; there all columns are unrolled), PREFETCH.
 */
#include "kernels/convolution/direct/lanes.kernel.h"

#define OCT (OV * LANES)           /* output channels of a tile */
#define OT CEIL_DIV(CO_G, OCT)     /* tiles of a group */
#define ICO (CI_G / ICI)           /* input channel blocks of a group */
#define W_TILE (ICO * KH * KW * ICI * OCT)
#define IC_CHUNKS CEIL_DIV(ICO, ICO_CHUNK)
#define OT_CHUNKS CEIL_DIV(OT, OT_CHUNK)
#define OH_BLOCKS CEIL_DIV(OH, OHB)
#define NT CEIL_DIV(OW, TW)
#define LAST_COLS (OW - (NT - 1) * TW)

#define XB (IN_BLOCK ? IN_BLOCK : 1)
#define YB (OUT_BLOCK ? OUT_BLOCK : 1)
#define COPY_H ((OHB - 1) * SH + (KH - 1) * DH + 1)
#define COPY_W ((OW - 1) * SW + (KW - 1) * DW + 1)
/* Blocks of input channels that a group touches, and the elements of one thread's copy. */
#define COPY_BLOCKS (CI_G % XB == 0 ? CI_G / XB : (CI_G + 2 * XB - 2) / XB)
#define COPY_SIZE (COPY_BLOCKS * COPY_H * COPY_W * XB)
#define PART_SIZE (OT_CHUNK * OHB * OW * OCT)
#if COPY
#define X_ROW COPY_W
#define X_PLANE ((i64)COPY_H * COPY_W)
#else
#define X_ROW W
#define X_PLANE ((i64)H * W)
#endif

/* Rows behind the last whole tile of a block. */
#if VARIES
#define ROWS_LEFT (TH > 1)
#else
#define ROWS_LEFT (OH % OHB % TH || OHB % TH)
#endif

#define EDGE_LEFT (!COPY && PL > 0)
#define EDGE_RIGHT (!COPY && (OW - 1) * SW - PL + (KW - 1) * DW >= W)

/* ---- weights: OIHW to [group][tile][ICO][KH][KW][ICI][OCT] -------------------------------- */

void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 t = 0; t < GROUPS * OT; t++) {
        const i64 g = t / OT, first = t % OT * OCT;
        DTYPE *to = packed + t * W_TILE;
        for (i64 k = 0; k < (i64)CI_G * KH * KW; k++) {
            const i64 tap = k % (KH * KW), c = k / (KH * KW);
            DTYPE *row = to + (((c / ICI * KH * KW + tap) * ICI) + c % ICI) * OCT;
            i64 o = 0;
            for (; o < MIN(OCT, CO_G - first); o++)
                row[o] = weight[((g * CO_G + first + o) * CI_G + c) * KH * KW + tap];
            for (; o < OCT; o++)
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

/* Stores `count` pixels that lie one behind the other, of OV vectors each. */
INLINE void put_pixels(DTYPE *out, i64 n, i64 c, i64 at, const vec (*acc)[OV], const int count,
                       i64 lanes, void *const *arg)
{
#if OUT_BLOCK
    UNROLL(1)
    for (int p = 0; p < count; p++) {
        UNROLL(16)
        for (int v = 0; v < OV; v++)
            if (lanes > v * LANES)
                put_channels(out, n, c + v * LANES, at + p, acc[p][v], lanes - v * LANES,
                             arg);
    }
#else
    DTYPE *to = out + (n * CO + c) * (i64)OH * OW + at;
    UNROLL(1)
    for (int v = 0; v < OV; v++) {
        UNROLL(64)
        for (int q = 0; q < count; q += LANES) {
            const int some = MIN(LANES, count - q);
            vec t[LANES];
            UNROLL(16)
            for (int i = 0; i < LANES; i++)
                t[i] = i < some ? acc[q + MIN(i, some - 1)][v] : (vec){0};
            transpose(t);
            const i64 exist = MIN(LANES, lanes - v * LANES);
            UNROLL(1)
            for (i64 i = 0; i < exist; i++) {
                DTYPE *row = to + (v * LANES + i) * (i64)OH * OW + q;
                put(row, epilogue(t[i], arg, row - out, some), some);
            }
        }
    }
#endif
}

/* ---- the tile ------------------------------------------------------------------------------ */

typedef struct place {
    const DTYPE *x;  /* the group's input: its tensor, or the copy */
    i64 c;           /* first input channel, counted from x */
    const DTYPE *w;  /* the tile's weights */
    DTYPE *out;
    void *const *arg; /* of the stage */
    DTYPE *part;     /* partial sums of the tile's channels: [OHB][OW][OCT] */
    i64 n, oc, lanes; /* batch item, first output channel, how many of OCT exist */
    i64 ico0, ico1;  /* blocks of input channels to add */
    i64 oy0;         /* first row of the block of rows */
} place;

/* Adds one column of the kernel over a block of input channels. */
INLINE void column(vec (*acc)[OV], const DTYPE *w, const DTYPE *x, const i64 plane, const int kw,
                   const int rows, const int cols, const int edge)
{
    UNROLL(UNROLL_IC)
    for (int i = 0; i < ICI; i++) {
        vec wv[OV];
        UNROLL(16)
        for (int v = 0; v < OV; v++) {
            const DTYPE *wp = w + (kw * ICI + i) * OCT + v * LANES;
            wv[v] = load(wp);
            if (PREFETCH)
                __builtin_prefetch(wp + PREFETCH * OCT);
        }
        UNROLL(64)
        for (int p = 0; p < rows * cols; p++) {
            const int ix = (edge + p % cols) * SW - PL + kw * DW;
            if (edge >= 0 && (ix < 0 || ix >= W))
                continue;
            const DTYPE b = x[(p / cols * (SH * X_ROW) + p % cols * SW + kw * DW) * XB +
                              i * (IN_BLOCK ? 1 : plane)];
            UNROLL(16)
            for (int v = 0; v < OV; v++)
                acc[p][v] += wv[v] * b;
        }
    }
}

/* `edge` is the constant first column of a tile that must leave out taps, else -1. */
INLINE void tile(const place *at, i64 oy, i64 ox, const int rows, const int cols, const int edge)
{
    vec acc[TH * TW][OV];
    void *const *arg = at->arg;
    const i64 plane = X_PLANE;
    DTYPE *part = at->part + ((oy - at->oy0) * OW + ox) * OCT;
    if (IC_CHUNKS > 1 && at->ico0 > 0) {
        UNROLL(64)
        for (int p = 0; p < rows * cols; p++) {
            UNROLL(16)
            for (int v = 0; v < OV; v++)
                acc[p][v] = load(part + (p / cols * OW + p % cols) * OCT + v * LANES);
        }
    } else {
        UNROLL(64)
        for (int p = 0; p < rows * cols; p++) {
            UNROLL(16)
            for (int v = 0; v < OV; v++)
                acc[p][v] = (vec){0};
        }
    }

    const i64 y = COPY ? (oy - at->oy0) * SH : oy * SH - PT;
    const i64 x = COPY ? ox * SW : ox * SW - PL;
    i64 kh0 = 0, kh1 = KH;
    if (!COPY && PT > 0 && y < 0)
        kh0 = CEIL_DIV(-y, DH);
    if (!COPY && PB > 0 && y + (KH - 1) * DH >= H)
        kh1 = CEIL_DIV(H - y, DH);
    for (i64 ico = at->ico0; ico < at->ico1; ico++) {
        const i64 c = at->c + ico * ICI;
        const i64 xc = (c / XB * plane + y * X_ROW + x) * XB + c % XB;
        const DTYPE *wc = at->w + ico * (KH * KW * ICI * OCT);
        for (i64 kh = kh0; kh < kh1; kh++) {
            const DTYPE *w = wc + kh * (KW * ICI * OCT);
            const i64 xr = xc + kh * (DH * X_ROW * XB);
            if (edge >= 0) {
                UNROLL(KW)
                for (int kw = 0; kw < KW; kw++)
                    column(acc, w, at->x + xr, plane, kw, rows, cols, edge);
            } else {
                UNROLL(UNROLL_KW)
                for (int kw = 0; kw < KW; kw++)
                    column(acc, w, at->x + xr, plane, kw, rows, cols, -1);
            }
        }
    }

    if (IC_CHUNKS > 1 && at->ico1 < ICO) {
        UNROLL(64)
        for (int p = 0; p < rows * cols; p++) {
            UNROLL(16)
            for (int v = 0; v < OV; v++)
                store(part + (p / cols * OW + p % cols) * OCT + v * LANES, acc[p][v]);
        }
        return;
    }
    /* From memory, so that what follows is not compiled for each vector apart. */
    vec done[TH * TW][OV];
    UNROLL(64)
    for (int p = 0; p < rows * cols; p++) {
        UNROLL(16)
        for (int v = 0; v < OV; v++)
            done[p][v] = acc[p][v];
    }
    const vec(*all)[OV] = (const vec(*)[OV])done;
    if (cols == OW) {
        put_pixels(at->out, at->n, at->oc, oy * OW + ox, all, rows * cols, at->lanes,
                   arg);
        return;
    }
    UNROLL(1)
    for (int r = 0; r < rows; r++)
        put_pixels(at->out, at->n, at->oc, (oy + r) * OW + ox, all + r * cols, cols, at->lanes,
                   arg);
}

/* All tiles of `rows` rows. */
INLINE void rows_of_tiles(const place *at, i64 oy, const int rows)
{
#if NT == 1
    tile(at, oy, 0, rows, OW, EDGE_LEFT || EDGE_RIGHT ? 0 : -1);
#else
#if EDGE_LEFT
    tile(at, oy, 0, rows, TW, 0);
#endif
    for (i64 t = EDGE_LEFT; t < NT - (EDGE_RIGHT || LAST_COLS != TW); t++)
        tile(at, oy, t * TW, rows, TW, -1);
#if EDGE_RIGHT || LAST_COLS != TW
    tile(at, oy, (NT - 1) * TW, rows, LAST_COLS, EDGE_RIGHT ? (NT - 1) * TW : -1);
#endif
#endif
}

/* The padded input rows that output rows [oy0, oy0 + OHB) need, as far as there are these. */
INLINE void copy_rows(const DTYPE *data, i64 n, i64 block, i64 oy0, DTYPE *to, void *const *arg)
{
    const i64 height = VARIES ? (MIN(OH, oy0 + OHB) - oy0 - 1) * SH + (KH - 1) * DH + 1 : COPY_H;
    const i64 blocks = MIN((i64)COPY_BLOCKS, CI / XB - block);
    const i64 left = MIN(PL, COPY_W), middle = MIN(W, COPY_W - left);
    for (i64 b = 0; b < blocks; b++) {
        for (i64 r = 0; r < height; r++) {
            const i64 y = oy0 * SH - PT + r;
            DTYPE *row = to + (b * COPY_H + r) * (COPY_W * XB);
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

void conv2d(void *const *arg)
{
    const DTYPE *data = arg[0];
    const DTYPE *packed = arg[1];
    DTYPE *out = arg[2];
    DTYPE *part = arg[3];
    DTYPE *copy = arg[4];
    PARALLEL_FOR
    for (i64 it = 0; it < (i64)N * GROUPS * OT_CHUNKS * OH_BLOCKS; it++) {
        const i64 oy0 = it % OH_BLOCKS * OHB, oy1 = MIN(OH, oy0 + OHB);
        const i64 chunk = it / OH_BLOCKS % OT_CHUNKS;
        const i64 g = it / OH_BLOCKS / OT_CHUNKS % GROUPS;
        const i64 n = it / OH_BLOCKS / OT_CHUNKS / GROUPS;
        place at = {.out = out, .arg = arg, .n = n, .oy0 = oy0};
#if COPY
        DTYPE *mine = copy + (i64)THREAD * COPY_SIZE;
        copy_rows(data, n, g * CI_G / XB, oy0, mine, arg);
        at.x = mine;
        at.c = g * CI_G % XB;
#else
        (void)copy;
        at.x = data + n * ((i64)CI * H * W);
        at.c = g * CI_G;
#endif
        for (i64 ic = 0; ic < IC_CHUNKS; ic++) {
            at.ico0 = ic * ICO_CHUNK;
            at.ico1 = MIN(ICO, at.ico0 + ICO_CHUNK);
            for (i64 t = chunk * OT_CHUNK; t < MIN(OT, (chunk + 1) * OT_CHUNK); t++) {
                at.w = packed + (g * OT + t) * W_TILE;
                at.oc = g * CO_G + t * OCT;
                at.lanes = MIN(OCT, CO_G - t * OCT);
                at.part = IC_CHUNKS > 1 ? part + (i64)THREAD * PART_SIZE +
                                              (t - chunk * OT_CHUNK) * ((i64)OHB * OW * OCT)
                                        : part;
                i64 oy = oy0;
                for (; oy + TH <= oy1; oy += TH)
                    rows_of_tiles(&at, oy, TH);
#if ROWS_LEFT
                for (; oy < oy1; oy++)
                    rows_of_tiles(&at, oy, 1);
#endif
            }
        }
    }
}
