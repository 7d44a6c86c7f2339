/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_depthwise_conv2d_amx.x86: the pointwise convolution by tiles, 16-bit floats. Macros
 * from the plan: the shape of the depthwise convolution with CI channels in front of the pointwise
 * one, CI_G = CI, BIAS, BETWEEN; PITCH (pixels of a phase of a row: 8, or a multiple of 16), BAND
 * (output rows of a task), TH (vectors above one another of a register tile of the depthwise
 * convolution), those of kernels/matmul/tiles.kernel.h.
 *
 * The one idea: output channels are rows of a product and pixels are its columns, so that a sum's
 * row is pixels of one channel side by side, and the depthwise convolution has its vectors along
 * the width: nothing is turned over, neither on the way in nor on the way out. The data is laid out
 * in words with the padding of what is between in it, columns of a stride of their own apart
 * (phases), so that sums come out where the depthwise convolution reads them. Padding is 0 there,
 * whatever the bias is: pixels that are none are zeroed behind the activation.
 *
 * Words are [N][BLOCKS][CHUNKS][16 words][DOT_NR pixels], of all rows with their padding,
 * ROW_IN pixels each. A task keeps some rows of TILE_ROWS channels, [TILE_ROWS][PLANE]. Rows of 8
 * pixels are two to a vector; what a window meets right of such a row may be the padding in front
 * of the next one.
 */
#include "kernels/convolution/chain/between.kernel.h"
#include "kernels/convolution/dots/pixels.kernel.h"
#include "kernels/matmul/tiles.kernel.h"

#define TAPS (KH * KW)
#define FAR_ROW ((KH - 1) * DH)
#define ROW_IN (SW * PITCH)
#define IN_ROWS(rows) ((i64)((rows)-1) * SH + FAR_ROW + 1)
#define SEGMENT MIN(PITCH, VLEN) /* pixels of one row in a vector */
/* From the first pixel of `rows` output rows to behind the last one that they meet. */
#define SPAN(rows) (IN_ROWS(rows) * ROW_IN + MAX(0, OW + (KW - 1) * DW / SW - PITCH))
#define BLOCKS CEIL_DIV(SPAN(OH), DOT_NR)
/* Output rows in a vector, and rows of data from one vector to the next below it. */
#define VEC_ROWS (ROW_IN == 8 && SH == 1 ? 2 : 1)
#define VEC_STEP (SH * VEC_ROWS)
#define CHUNKS CEIL_DIV(K_WORDS, 16)
#define STEP_WORDS (16 * DOT_NR)
#define BLOCK_WORDS ((i64)CHUNKS * STEP_WORDS)
#define PANELS CEIL_DIV(CO, TILE_ROWS)
#define BANDS CEIL_DIV(OH, BAND)

/* What is packed: tiles of pointwise weights [PANELS][TILE_M][CHUNKS][16][16 words], each with the
 * same exchanged behind it if DOT_SPLIT, then floats: the bias of every channel, depthwise weights
 * [channel][TAPS]. Channels that there are not are zeros. */
#define A_STEP (256 * (1 + DOT_SPLIT))
#define A_TILE (A_STEP * CHUNKS)
#define CHANNELS (PANELS * TILE_ROWS)
#define PACKED_BIAS ((i64)CHANNELS / 16 * A_TILE)
#define PACKED_DEPTHWISE (PACKED_BIAS + CHANNELS)

/* arg: pointwise [CO][CI], depthwise [CO][TAPS], packed, bias [CO] */
void pack_weights(void *const *arg)
{
    const IN_T *first = arg[0], *second = arg[1], *bias = arg[BIAS ? 3 : 0];
    u32 *packed = arg[2];
    DTYPE *numbers = arg[2];
    PARALLEL_FOR
    for (i64 c = 0; c < CHANNELS; c++) {
        u32 *to = packed + c / 16 * A_TILE + c % 16 * 16;
        for (i64 k = 0; k < CHUNKS * 16; k++) {
            const u32 word = c < CO && k < K_WORDS ? dot_word(first + c * CI, k) : 0;
            to[k / 16 * A_STEP + k % 16] = word;
            if (DOT_SPLIT)
                to[k / 16 * A_STEP + 256 + k % 16] = word << 16 | word >> 16;
        }
        numbers[PACKED_BIAS + c] = BIAS && c < CO ? dot_one(bias[c]) : 0;
        for (i64 k = 0; k < TAPS; k++)
            numbers[PACKED_DEPTHWISE + c * TAPS + k] =
                c < CO ? dot_one(second[c * TAPS + k]) : 0;
    }
}

/* The row of the data of pixel q, and its column, which may both be in the padding. */
INLINE i64 row_of(i64 q)
{
    return q / ROW_IN - PT;
}
INLINE i64 column_of(i64 q)
{
    const i64 j = q % ROW_IN;
    return j % PITCH * SW + j / PITCH - PL;
}

/* Word k of pixel q and those beside it in its row. */
INLINE words words_at_pixel(const IN_T *image, i64 q, i64 k)
{
    const i64 y = row_of(q);
    return y >= 0 && y < H && k < K_WORDS ? pixels_at(image + y * W, k, column_of(q))
                                          : (words){0};
}

/* The lower halves of both. */
INLINE words side_by_side(words a, words b)
{
    typedef u64 parts __attribute__((vector_size(VEC_BYTES)));
    const parts low = (parts)a, high = (parts)b;
    return (words)(parts){low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]};
}

/* arg: data, its words */
void lay_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *laid = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 n = 0; n < N; n++)
        for (i64 v = 0; v < BLOCKS * DOT_NR / VLEN; v++) { /* zeros behind the last row */
            const IN_T *image = data + n * ((i64)CI * H * W);
            const i64 q = v * VLEN;
            u32 *to = laid + (n * BLOCKS + q / DOT_NR) * BLOCK_WORDS + q % DOT_NR;
            for (i64 k = 0; k < CHUNKS * 16; k++) {
                words w = words_at_pixel(image, q, k);
                if (SEGMENT < VLEN)
                    w = side_by_side(w, words_at_pixel(image, q + SEGMENT, k));
                *(words_at *)(to + k * DOT_NR) = w;
            }
        }
}

/* ---- pointwise --------------------------------------------------------------------------- */

/* A block of pixels whose sums are made and not yet in the band: that is done while tiles of the
 * next one are multiplied. */
struct pending {
    const DTYPE *sums; /* [TILE_ROWS][DOT_NR] */
    i64 b;             /* the block; -1: none */
};

/* Lanes of pixels from q on that are pixels of what is between, of those in its row. */
INLINE u32 valid_in_row(i64 q)
{
    const i64 y = row_of(q), at = column_of(q);
    const i64 first = at < 0 ? MIN((i64)SEGMENT, CEIL_DIV(-at, SW)) : 0;
    const i64 end = at < W ? MIN((i64)SEGMENT, CEIL_DIV(W - at, SW)) : 0;
    return y < 0 || y >= H || end <= first ? 0 : (1u << end) - (1u << first);
}

INLINE unsigned short valid_lanes(i64 q)
{
    const u32 lanes = valid_in_row(q);
    return (unsigned short)(SEGMENT < VLEN ? lanes | valid_in_row(q + SEGMENT) << SEGMENT
                                           : lanes);
}

INLINE vec kept(vec x, unsigned short lanes)
{
    __asm__("vmovaps %0, %0%{%1%}%{z%}" : "+v"(x) : "Yk"(lanes));
    return x;
}

/* `to` is where channel 0 of the block is. */
static __attribute__((noinline)) void finish(const struct pending *w, const DTYPE *bias,
                                             DTYPE *to)
{
    unsigned short lanes[DOT_NV];
    for (int v = 0; v < DOT_NV; v++)
        lanes[v] = valid_lanes(w->b * DOT_NR + v * VLEN);
    UNROLL(2)
    for (int i = 0; i < TILE_ROWS; i++) {
        const vec add = splat(bias[i]);
        UNROLL(4)
        for (int v = 0; v < DOT_NV; v++)
            store(to + i * PLANE + v * VLEN,
                  kept(activated(load(w->sums + i * DOT_NR + v * VLEN) + add), lanes[v]));
    }
}

INLINE void by_tiles(const u32 *a, const u32 *b)
{
    tiles_zero();
    for (i64 s = 0; s < CHUNKS; s++) {
        if (DOT_SPLIT)
            tiles_step_split(a + s * A_STEP, 16, A_TILE, 256, b + s * STEP_WORDS, DOT_NR,
                             TILE_ROWS);
        else
            tiles_step(a + s * A_STEP, 16, A_TILE, b + s * STEP_WORDS, DOT_NR, TILE_ROWS);
    }
}

static __attribute__((noinline)) void by_vectors(const u32 *a, const u32 *b, DTYPE *sums)
{
    for (int i = 0; i < TILE_ROWS * DOT_NR; i++)
        sums[i] = 0;
    for (i64 s = 0; s < CHUNKS; s++)
        tiles_step_by_vectors(a + s * A_STEP, 16, A_TILE, b + s * STEP_WORDS, DOT_NR, sums,
                              TILE_ROWS);
}

/* Blocks [b0, b1) of pixels, words of whose image are at `laid`, to the band, which begins with
 * block b0. */
static void expand(const u32 *laid, const u32 *weights, const DTYPE *bias, DTYPE *band, i64 b0,
                   i64 b1, int granted)
{
    DTYPE sums[2][TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
    struct pending last = {.b = -1};
    int turn = 0;
    for (i64 b = b0; b < b1; b++, turn ^= 1) {
        const u32 *block = laid + b * BLOCK_WORDS;
        if (granted)
            by_tiles(weights, block);
        if (last.b >= 0)
            finish(&last, bias, band + (last.b - b0) * DOT_NR);
        if (granted)
            tiles_store(sums[turn], TILE_ROWS);
        if (!granted || !tiles_hold(sums[turn], TILE_ROWS))
            by_vectors(weights, block, sums[turn]);
        last = (struct pending){sums[turn], b};
    }
    finish(&last, bias, band + (last.b - b0) * DOT_NR);
}

/* ---- depthwise --------------------------------------------------------------------------- */

/* The upper half of a vector in front. */
INLINE vec upper(vec x)
{
    typedef u64 parts __attribute__((vector_size(VEC_BYTES)));
    const parts p = (parts)x;
    return (vec)(parts){p[4], p[5], p[6], p[7], p[4], p[5], p[6], p[7]};
}

/* `lanes` pixels of a row, from place o of the output on. */
INLINE void put(vec x, i64 o, const int lanes, void *const *arg)
{
    dot_put((OUT_T *)arg[2] + o, dot_fused(x, arg, o, lanes), lanes);
}

/* `vecs` vectors above one another, `lanes` pixels of a row in each; `band` is where the first tap
 * of the first one is, o the first one's place in the output, which has `rows` rows more. */
INLINE void depth_tile(const DTYPE *band, const vec w[TAPS], const int vecs, const int lanes,
                       i64 rows, void *const *arg, i64 o)
{
    vec acc[TH];
    UNROLL(16)
    for (int v = 0; v < vecs; v++)
        acc[v] = (vec){0};
    UNROLL(64)
    for (int y = 0; y < (vecs - 1) * VEC_STEP + FAR_ROW + 1; y++) {
        UNROLL(16)
        for (int k = 0; k < KW; k++) {
            const vec x = load(band + y * ROW_IN + k * DW % SW * PITCH + k * DW / SW);
            UNROLL(16)
            for (int v = 0; v < vecs; v++)
                if (y >= v * VEC_STEP && y <= v * VEC_STEP + FAR_ROW &&
                    (y - v * VEC_STEP) % DH == 0)
                    acc[v] += x * w[(y - v * VEC_STEP) / DH * KW + k];
        }
    }
    UNROLL(16)
    for (int v = 0; v < vecs; v++) {
        const i64 at = o + v * VEC_ROWS * OW;
        put(acc[v], at, lanes, arg);
        if (VEC_ROWS == 2 && 2 * v + 1 < rows)
            put(upper(acc[v]), at + OW, lanes, arg);
    }
}

INLINE void depth_vectors(const DTYPE *band, const vec w[TAPS], const int vecs, i64 rows,
                          void *const *arg, i64 o)
{
    for (i64 x = 0; x + VLEN <= OW; x += VLEN)
        depth_tile(band + x, w, vecs, VLEN, rows, arg, o + x);
    if (OW % VLEN)
        depth_tile(band + OW / VLEN * VLEN, w, vecs, OW % VLEN, rows, arg,
                   o + OW / VLEN * VLEN);
}

/* `rows` output rows of a channel, the first at o in the output. */
static __attribute__((noinline)) void depth(const DTYPE *band, const DTYPE *weight, i64 rows,
                                            void *const *arg, i64 o)
{
    vec w[TAPS];
    UNROLL(64)
    for (int k = 0; k < TAPS; k++)
        w[k] = splat(weight[k]);
    i64 y = 0;
    for (; y + (TH - 1) * VEC_ROWS < rows; y += TH * VEC_ROWS)
        depth_vectors(band + y * SH * ROW_IN, w, TH, rows - y, arg, o + y * OW);
    for (; TH > 1 && y < rows; y += VEC_ROWS)
        depth_vectors(band + y * SH * ROW_IN, w, 1, rows - y, arg, o + y * OW);
}

/* arg: words, packed, out, bands of the threads */
void chain(void *const *arg)
{
    const u32 *laid = arg[0], *packed = arg[1];
    const DTYPE *numbers = arg[1];
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * PANELS * BANDS; task++) {
        const i64 low = task % BANDS * BAND, rows = MIN(BAND, OH - low);
        const i64 panel = task / BANDS % PANELS, n = task / BANDS / PANELS;
        const i64 c0 = panel * TILE_ROWS, from = low * SH * ROW_IN, b0 = from / DOT_NR;
        DTYPE *band = (DTYPE *)arg[3] + THREAD * ((i64)TILE_ROWS * PLANE);
        if (granted)
            tiles_begin(TILE_ROWS);
        expand(laid + n * BLOCKS * BLOCK_WORDS, packed + c0 / 16 * A_TILE,
               numbers + PACKED_BIAS + c0, band, b0, CEIL_DIV(from + SPAN(rows), DOT_NR),
               granted);
        if (granted)
            tiles_end();
        for (i64 c = c0; c < MIN(c0 + TILE_ROWS, (i64)CO); c++)
            depth(band + (c - c0) * PLANE + from - b0 * DOT_NR,
                  numbers + PACKED_DEPTHWISE + c * TAPS, rows, arg,
                  ((n * CO + c) * OH + low) * OW);
    }
}
