/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_depthwise_conv2d.gpu: a thread has V channels of TY x TX outputs. Macros beside those
 * of conv_gpu.kernel.h, where a channel is a group: THREADS V TX TY.
 *
 * The one idea: four rows of a column are a word for each channel, so that a product of four bytes
 * meets four taps, and the same word serves all outputs of the column that look at one of its rows,
 * by weights that are shifted for each of the TY rows of outputs.
 *
 *   packed [TY][KW][WORDS][PASSES][CI] words
 */
#include "kernels/quantized/gpu/conv_gpu.kernel.h"

#define ROWS ((TY - 1) * SH + (KH - 1) * DH + 1)
#define COLUMNS ((TX - 1) * SW + (KW - 1) * DW + 1)
#define WORDS CEIL_DIV(ROWS, 4)
#define FOURS CEIL_DIV(V, 4) /* words of V channels */
#define VECS (CI / V)
#define TILES_X CEIL_DIV(OW, TX)
#define TILES_Y CEIL_DIV(OH, TY)
/* Whether row j of the outputs looks at rows of word w. */
#define MEETS(j, w) ((j)*SH < 4 * (w) + 4 && (j)*SH + (KH - 1) * DH >= 4 * (w))

VECTOR(channels, unsigned char, V);

/* V channels as words; the last one is filled up. */
INLINE void channels_at(u32 w[FOURS], GLOBAL const unsigned char *from, bool inside)
{
    UNROLL
    for (int f = 0; f < FOURS; f++)
        w[f] = ZEROS;
    if (inside) {
#if V == 16
        const words_4 x = *(GLOBAL const words_4 *)from;
#elif V == 8
        const words_2 x = *(GLOBAL const words_2 *)from;
#elif V == 4
        const words_1 x = *(GLOBAL const words_1 *)from;
#else
        const channels c = *(GLOBAL const channels *)from;
        const words_1 x = {{c.v[0] | (u32)c.v[V - 1] << 8}};
#endif
        UNROLL
        for (int f = 0; f < FOURS; f++)
            w[f] = x.v[f];
    }
}

/* Byte i of four words, for each i. */
INLINE void turn_four(u32 to[4], u32 a, u32 b, u32 c, u32 d)
{
#ifdef OT_OPENCL
    UNROLL
    for (int i = 0; i < 4; i++)
        to[i] = low_bytes(a >> 8 * i, b >> 8 * i, c >> 8 * i, d >> 8 * i);
#else
    const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
    const u32 ab_high = __byte_perm(a, b, 0x7362), cd_high = __byte_perm(c, d, 0x7362);
    to[0] = __byte_perm(ab, cd, 0x5410);
    to[1] = __byte_perm(ab, cd, 0x7632);
    to[2] = __byte_perm(ab_high, cd_high, 0x5410);
    to[3] = __byte_perm(ab_high, cd_high, 0x7632);
#endif
}

KERNEL(THREADS, 1, 1)
depthwise(GLOBAL const unsigned char *RESTRICT data,
          GLOBAL const unsigned char *RESTRICT packed, GLOBAL unsigned char *RESTRICT out)
{
    const INDEX e = (INDEX)BLOCK_X * THREADS + THREAD_X;
    const int c0 = (int)(e % VECS) * V, ox = (int)(e / VECS % TILES_X) * TX;
    const int oy = (int)(e / VECS / TILES_X % TILES_Y) * TY;
    const INDEX image = e / VECS / TILES_X / TILES_Y;
    const int y0 = oy * SH - PT, x0 = ox * SW - PL;
    GLOBAL const u32 *const weights = (GLOBAL const u32 *)packed + c0;
    GLOBAL const unsigned char *const from = data + image * (H * W * CI) + c0;
    const int none[V] = {0};
    int acc[TY][TX][V], start[V];
    float scale[V];
    if (image >= N)
        return;
    ends_of(packed, 0, c0, start, scale, V);
    UNROLL
    for (int j = 0; j < TY; j++) {
        UNROLL
        for (int i = 0; i < TX; i++) {
            UNROLL
            for (int c = 0; c < V; c++)
                acc[j][i][c] = start[c];
        }
    }
    UNROLL
    for (int x = 0; x < COLUMNS; x++) {
        u32 word[WORDS][4 * FOURS];
        UNROLL
        for (int w = 0; w < WORDS; w++) {
            u32 row[4][FOURS];
            UNROLL
            for (int r = 0; r < 4; r++) {
                const int y = y0 + 4 * w + r;
                channels_at(row[r], from + (y * W + x0 + x) * CI,
                            4 * w + r < ROWS && y >= 0 && y < H && x0 + x >= 0 && x0 + x < W);
            }
            UNROLL
            for (int f = 0; f < FOURS; f++)
                turn_four(word[w] + 4 * f, row[0][f], row[1][f], row[2][f], row[3][f]);
        }
        UNROLL
        for (int i = 0; i < TX; i++) {
            const int k = (x - i * SW) / DW; /* the tap of output i that is this column */
            if (x < i * SW || (x - i * SW) % DW || k >= KW)
                continue;
            UNROLL
            for (int at = 0; at < TY * WORDS * PASSES; at++) {
                const int j = at / (WORDS * PASSES), w = at / PASSES % WORDS;
                GLOBAL const u32 *const factors =
                    weights + ((j * KW + k) * (WORDS * PASSES) + at % (WORDS * PASSES)) * CI;
                if (MEETS(j, w)) {
                    UNROLL
                    for (int c = 0; c < V; c += MIN(V, 4)) {
#if V >= 4
                        const words_4 factor = *(GLOBAL const words_4 *)(factors + c);
                        UNROLL
                        for (int l = 0; l < 4; l++)
                            acc[j][i][c + l] =
                                DOT4(word[w][c + l], factor.v[l], acc[j][i][c + l]);
#else
                        UNROLL
                        for (int l = 0; l < V; l++)
                            acc[j][i][l] = DOT4(word[w][l], factors[l], acc[j][i][l]);
#endif
                    }
                }
            }
        }
    }
    UNROLL
    for (int j = 0; j < TY; j++) {
        UNROLL
        for (int i = 0; i < TX; i++)
            if (oy + j < OH && ox + i < OW)
                put_run(out, (image * OH + oy + j) * OW + ox + i, 0, c0, acc[j][i], none, scale,
                        V);
    }
}

/* A thread a word. */
KERNEL(FLAT, 1, 1)
pack(GLOBAL const W_T *RESTRICT weight, GLOBAL u32 *RESTRICT packed)
{
    const i64 e = (i64)BLOCK_X * FLAT + THREAD_X;
    const int c = (int)(e % CI), pass = (int)(e / CI % PASSES);
    const int w = (int)(e / CI / PASSES % WORDS), k = (int)(e / CI / PASSES / WORDS % KW);
    const int j = (int)(e / CI / PASSES / WORDS / KW);
    u32 b[4];
    if (e >= LIST_AT / 4)
        return;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int r = 4 * w + i - j * SH;
        b[i] = r >= 0 && r % DH == 0 && r / DH < KH
                   ? (u32)of_pass(weight[((i64)c * KH + r / DH) * KW + k], pass)
                   : 0;
    }
    packed[e] = low_bytes(b[0], b[1], b[2], b[3]);
}
