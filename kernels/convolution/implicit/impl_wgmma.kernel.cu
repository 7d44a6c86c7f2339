/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_wgmma.cuda: the pipeline of kernels/matmul/gpu/wgmma_tile_gpu.kernel.h over a
 * convolution. Its depth is taps and, innermost, channels in whole panels; the copy engine brings
 * the pixels of a panel as windows meet them, whatever stride, padding and dilation, and zeros
 * for what lies outside, channels included. Channels are innermost in the operands:
 *
 *   pixels [image][y][x][CI]    weights [CO][tap][CI]
 *
 * With PIXELS_M rows are pixels and columns output channels, so that channels are innermost in
 * the output; else rows are output channels and columns the pixels of all images, whose planes
 * are each a line of the output, NCHW.
 *
 * Macros beside the tile's: PIXELS_M, CI KW OW PLANE_OUT SH SW PT PL DH DW. With LAYOUTS the
 * module has instead what lays operands out so: TURN (the stage is there), the shape, ELEM, its
 * SIZE, CI_PAD (channels in whole chunks of 16 bytes), INDEX, FLAT.
 */
#include "kernels/common/gpu.kernel.h"

#if LAYOUTS

#define ROUNDED(x) (x) /* on its way into shared memory */
#define TRANSPOSED 0
#define WEIGHT_GRADIENT 0
#include "kernels/convolution/implicit/pixels_gpu.kernel.h"
#if TURN
#include "kernels/convolution/implicit/turn_gpu.kernel.h"
#endif

KERNEL(FLAT, 1, 1)
pack(GLOBAL const ELEM *RESTRICT weight, GLOBAL ELEM *RESTRICT packed)
{
    const i64 e = (i64)BLOCK_X * FLAT + THREAD_X;
    const int c = (int)(e % CI_PAD), tap = (int)(e / CI_PAD % TAPS);
    const int f = (int)(e / CI_PAD / TAPS);
    if (f < CO)
        packed[e] = c < CI ? weight[WEIGHT_AT(0, f, c, tap)] : 0;
}

#else

#define CHUNKS CEIL_DIV(CI, PANEL) /* panels of a tap */
#define CHANNEL(panel) ((panel) % CHUNKS * PANEL)
#define TAP(panel) ((panel) / CHUNKS)

#define COPY_WINDOWS(copy, to, map, pixel, panel, barrier)                                     \
    {                                                                                          \
        const int ot_image = (pixel) / PLANE_OUT, ot_at = (pixel) % PLANE_OUT;                 \
        copy(to, map, CHANNEL(panel), ot_at % OW * SW - PL, ot_at / OW * SH - PT, ot_image,    \
             TAP(panel) % KW * DW, TAP(panel) / KW * DH, barrier);                             \
    }
#define COPY_WEIGHTS(copy, to, map, channel, panel, barrier)                                   \
    copy(to, map, CHANNEL(panel), TAP(panel), channel, barrier)

#if PIXELS_M

#define COPY_X(to, p, panel, barrier) COPY_WINDOWS(copy_pixels, to, x, (p).m, panel, barrier)
#define COPY_Y(to, p, panel, slice, barrier)                                                   \
    COPY_WEIGHTS(COPY_BOX_OF_ALL, to, y, (p).n + (slice), panel, barrier)
#define LINE N
#define OUT_AT(b, m, n) ((INDEX)(m)*N + (n))
#define STORE_BOX(b, m, n, from) store_box_3d(out, n, m, b, from)

#else

#define COPY_X(to, p, panel, barrier) COPY_WEIGHTS(copy_box_3d, to, x, (p).m, panel, barrier)
#define COPY_Y(to, p, panel, slice, barrier)                                                   \
    COPY_WINDOWS(COPY_PIXELS_OF_ALL, to, y, (p).n + (slice), panel, barrier)
#define LINE PLANE_OUT
#define OUT_AT(b, m, n)                                                                        \
    (((INDEX)((n) / PLANE_OUT) * M + (m)) * PLANE_OUT + (n) % PLANE_OUT)
/* To each image that has some of its columns, of which what lies in others is left out. */
#define STORE_BOX(b, m, n, from)                                                               \
    for (int image = (n) / PLANE_OUT; image * PLANE_OUT < MIN((n) + COLUMNS, N); image++)      \
        store_box_3d(out, (n)-image * PLANE_OUT, m, image, from);

#endif

#include "kernels/matmul/gpu/wgmma_tile_gpu.kernel.h"

#endif
