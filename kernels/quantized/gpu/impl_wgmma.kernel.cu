/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_wgmma.cuda: the pipeline of kernels/matmul/gpu/wgmma_tile_gpu.kernel.h over
 * pixels as rows, output channels as columns and taps by channels as depth. What the copy engine
 * brings of the outside of an image is zeros: what the data's zero would have added there is in
 * the sums with which windows begin that edges cut.
 *
 * The weights of each 64 columns are packed so that a thread's are 16 neighbouring channels, which
 * it rounds and stores at once: four threads have 64 bytes of a pixel.
 *
 * Macros beside those of the tile, the copies and sums_gpu.kernel.h: H W of the product. A module
 * with LAYS is one of conv_gpu.kernel.h or lay_gpu.kernel.h instead.
 */
#include "kernels/quantized/gpu/round_gpu.kernel.h"

#ifdef LAYS
#include "kernels/quantized/gpu/lay_gpu.kernel.h"
#else
#define GROUPS 1
#define CO N
#define CO_G N
#define PIXELS M
#endif

#if !LAYS
#include "kernels/quantized/gpu/sums_gpu.kernel.h"
#ifdef LAYS

#define WORDS (LINE / 4)
#define PACKED_GROUP(e) 0
#define PACKED_WORD(e) ((e) % WORDS)
#define PACKED_CHANNEL(e) channel_of_row((int)((e) / WORDS), 64)
#include "kernels/quantized/gpu/conv_gpu.kernel.h"

#else

/* How many of `most` taps, `step` apart, a window has outside that begins so far out. */
INLINE int taps_cut(int out, const int step, const int most)
{
    return out <= 0 ? 0 : MIN(CEIL_DIV(out, step), most);
}

/* How edges cut the window of a pixel. */
INLINE int edge_of(int pixel)
{
#if EDGES > 1
    const int at = pixel % PLANE_OUT, y = at / OW * SH - PT, x = at % OW * SW - PL;
    const int top = taps_cut(-y, DH, CUT_T), left = taps_cut(-x, DW, CUT_L);
    const int bottom = taps_cut(y + (KH - 1) * DH - (H - 1), DH, CUT_B);
    const int right = taps_cut(x + (KW - 1) * DW - (W - 1), DW, CUT_R);
    return ((top * (CUT_B + 1) + bottom) * (CUT_L + 1) + left) * (CUT_R + 1) + right;
#else
    (void)pixel;
    return 0;
#endif
}

#include "kernels/convolution/implicit/wgmma_copies_gpu.kernel.h"

/* Not RESTRICT: what becomes of sums is then read behind the stores before, not all of it in front,
 * for which there are no registers. */
#define Y_PARAMETERS TENSOR_MAP(y), GLOBAL const unsigned char *packed
#define COPY_X(to, p, panel, barrier) COPY_WINDOWS(copy_pixels, to, x, (p).m, panel, barrier)
#define COPY_Y(to, p, panel, slice, barrier)                                                   \
    COPY_WEIGHTS(COPY_BOX_OF_ALL, to, y, (p).n + (slice), panel, barrier)

#define RUN 16 /* channels of a thread in 64 columns */
#define PIXEL_OF(p, row) (ROW_OF(p, (row) / 2) + THREAD_X % 32 / 4 + (row) % 2 * 8)
#define STORE(p)                                                                               \
    {                                                                                          \
        int edge[2 * MINE];                                                                    \
        UNROLL for (int row = 0; row < 2 * MINE; row++) edge[row] = edge_of(PIXEL_OF(p, row)); \
        UNROLL for (int part = 0; part < BN / 64; part++)                                      \
        {                                                                                      \
            const int channel = (p).n + part * 64 + THREAD_X % 4 * RUN;                        \
            int start[RUN], sum[RUN];                                                          \
            float scale[RUN];                                                                  \
            scales_of(packed, 0, channel, scale, RUN);                                         \
            UNROLL for (int row = 0; row < 2 * MINE; row++)                                    \
            {                                                                                  \
                if (EDGES > 1 || row == 0)                                                     \
                    starts_of(packed, edge[row], 0, channel, start, RUN);                      \
                UNROLL for (int c = 0; c < RUN; c++) sum[c] =                                  \
                    acc[row / 2][part * 32 + c / 2 * 4 + row % 2 * 2 + c % 2];                 \
                put_run(out, PIXEL_OF(p, row), 0, channel, sum, start, scale, RUN);            \
            }                                                                                  \
        }                                                                                      \
    }
#include "kernels/matmul/gpu/wgmma_tile_gpu.kernel.h"

#endif
#endif
