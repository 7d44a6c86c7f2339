/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_depthwise_conv2d.cpu. Macros from the plan: the shape, PAIRS (see words.kernel.h),
 * CHANNELS (filled up to vectors), BLOCK (channels that are worked on together), COLUMNS (of a
 * line, with those beside the image), LINE (words of a thread's line), TILE_OW.
 *
 * The one idea: a line has for each column and channel the KH numbers that an output row meets, in
 * WORDS words. Output ox meets tap kw at column ox * SW + kw * DW, whose words are multiplied by
 * those of the weight, lane by lane.
 */
#include "kernels/quantized/round.kernel.h"
#include "kernels/quantized/words.kernel.h"

#define WORDS CEIL_DIV(KH, WORD_NUMBERS)
#define BLOCKS CEIL_DIV(CHANNELS, BLOCK)
#define LAST_BLOCK (CHANNELS - (BLOCKS - 1) * BLOCK)
#define NO_MORE (CI % VLEN) /* channels of the last vector; 0: all */

/* The numbers of VLEN channels, or of `lanes`, where they go in a word. */
INLINE word_vec numbers(const X_T *from, const int lanes)
{
    word_bytes b = {0};
    if (lanes == VLEN)
        return word_wide_at(from);
    __builtin_memcpy(&b, from, (usize)lanes);
    return word_wide(b);
}

#define FILL (PAIRS ? ((u32)(X_ZERO)&0xffff) * 0x10001u : ((u32)(X_ZERO)&0xff) * 0x1010101u)

/* One vector of a column: rows y0, y0 + DH ... of the data. */
INLINE void column(u32 *to, const X_T *from, i64 y0, const int lanes)
{
    UNROLL(8)
    for (int w = 0; w < WORDS; w++) {
        word_vec all = {0};
        UNROLL(4)
        for (int r = 0; r < WORD_NUMBERS; r++) {
            const int k = w * WORD_NUMBERS + r;
            if (k >= KH)
                break;
            const i64 y = y0 + k * DH;
            const word_vec one = y >= 0 && y < H
                                     ? numbers(from + y * ((i64)W * CI), lanes)
                                     : (FILL & (PAIRS ? 0xffffu : 0xffu)) - (word_vec){0};
            all |= one << r * (32 / WORD_NUMBERS);
        }
        if (WORD_MOVE)
            all ^= 0x80808080u;
        *(word_vec_at *)(to + (i64)w * BLOCK) = all;
    }
}

/* All columns of an output row; `from` is the image's first pixel at the block's first channel. */
INLINE void lay_line(u32 *line, const X_T *from, i64 oy, i64 channel, const int channels)
{
    const i64 y0 = oy * SH - PT;
    for (i64 x = 0; x < COLUMNS; x++) {
        u32 *to = line + x * ((i64)WORDS * BLOCK);
        const i64 at = x - PL;
        if (at < 0 || at >= W) {
            for (int w = 0; w < WORDS; w++)
                for (int c = 0; c < channels; c += VLEN)
                    *(word_vec_at *)(to + (i64)w * BLOCK + c) =
                        (FILL ^ (WORD_MOVE ? 0x80808080u : 0)) - (word_vec){0};
            continue;
        }
        UNROLL(4)
        for (int c = 0; c < channels; c += VLEN) {
            if (NO_MORE && channel + c + VLEN > CI)
                column(to + c, from + at * CI + c, y0, NO_MORE ? NO_MORE : VLEN);
            else
                column(to + c, from + at * CI + c, y0, VLEN);
        }
    }
}

/* TILE_OW outputs, or one, of a vector. */
INLINE void outputs(const u32 *line, const word_vec *w, vec start, singles scale, BYTE_T *out,
                    const int n, const int lanes)
{
    vec acc[TILE_OW];
    UNROLL(8)
    for (int i = 0; i < n; i++)
        acc[i] = start;
    UNROLL(64)
    for (int k = 0; k < KW; k++) {
        UNROLL(8)
        for (int r = 0; r < WORDS; r++) {
            UNROLL(8)
            for (int i = 0; i < n; i++)
                acc[i] = word_step(
                    acc[i],
                    *(const word_vec_at *)(line + ((i64)(i * SW + k * DW) * WORDS + r) * BLOCK),
                    w[k * WORDS + r]);
        }
    }
    UNROLL(8)
    for (int i = 0; i < n; i++)
        round_put(out + (i64)i * CO, __builtin_convertvector((whole32)acc[i], singles) * scale,
                  lanes);
}

/* One vector of an output row. */
INLINE void row(const u32 *line, const u32 *packed, const int *sums, const float *scales,
                BYTE_T *out, const int lanes)
{
    word_vec w[KW * WORDS];
    UNROLL(64)
    for (int k = 0; k < KW * WORDS; k++)
        w[k] = *(const word_vec_at *)(packed + (i64)k * CHANNELS);
    const vec start = load(sums);
    const singles scale = *(const singles_at *)scales;
    i64 x = 0;
    for (; x + TILE_OW <= OW; x += TILE_OW)
        outputs(line + x * (SW * (i64)WORDS * BLOCK), w, start, scale, out + x * CO, TILE_OW,
                lanes);
    for (; TILE_OW > 1 && x < OW; x++)
        outputs(line + x * (SW * (i64)WORDS * BLOCK), w, start, scale, out + x * CO, 1, lanes);
}

INLINE void block(u32 *line, const X_T *data, const u32 *packed, BYTE_T *out, i64 oy, i64 first,
                  const int channels)
{
    const int *sums = (const int *)(packed + (i64)KW * WORDS * CHANNELS) + first;
    const float *scales = (const float *)(sums + CHANNELS);
    lay_line(line, data + first, oy, first, channels);
    UNROLL(1)
    for (int c = 0; c < channels; c += VLEN) {
        if (NO_MORE && first + c + VLEN > CI)
            row(line + c, packed + first + c, sums + c, scales + c, out + first + c,
                NO_MORE ? NO_MORE : VLEN);
        else
            row(line + c, packed + first + c, sums + c, scales + c, out + first + c, VLEN);
    }
}

/* arg: data, packed, out, lines of the threads */
void depthwise(void *const *arg)
{
    const X_T *data = arg[0];
    const u32 *packed = arg[1];
    BYTE_T *out = arg[2];
    PARALLEL_FOR_N(3)
    for (i64 n = 0; n < N; n++)
        for (i64 b = 0; b < BLOCKS; b++)
            for (i64 oy = 0; oy < OH; oy++) {
                u32 *line = (u32 *)arg[3] + THREAD * (i64)LINE;
                const X_T *image = data + n * ((i64)H * W * CI);
                BYTE_T *to = out + (n * OH + oy) * ((i64)OW * CO);
                if (b < BLOCKS - 1)
                    block(line, image, packed, to, oy, b * BLOCK, BLOCK);
                else
                    block(line, image, packed, to, oy, b * BLOCK, LAST_BLOCK);
            }
}

/* arg: weight [CO][KH][KW], bias, scale; words [KW][WORDS][CHANNELS], sums, scales */
void pack(void *const *arg)
{
    const W_T *weight = arg[0];
    u32 *packed = arg[3];
    i32 *sums = (i32 *)(packed + (i64)KW * WORDS * CHANNELS);
    float *scales = (float *)(sums + CHANNELS);
    for (i64 c = 0; c < CHANNELS; c++) {
        i32 all = 0;
        for (int k = 0; k < KW; k++)
            for (int w = 0; w < WORDS; w++) {
                u32 word = 0;
                for (int r = 0; r < WORD_NUMBERS; r++) {
                    const int y = w * WORD_NUMBERS + r;
                    const i32 v = c < CO && y < KH ? weight[(c * KH + y) * KW + k] : 0;
                    all += v;
                    word |= ((u32)v & (PAIRS ? 0xffffu : 0xffu)) << r * (32 / WORD_NUMBERS);
                }
                packed[((i64)k * WORDS + w) * CHANNELS + c] = word;
            }
        sums[c] = c < CO ? ((const i32 *)arg[1])[c] - (X_ZERO + WORD_MOVE) * all : 0;
        scales[c] = c < CO ? ((const float *)arg[2])[c] : 0;
    }
}
