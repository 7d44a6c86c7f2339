/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_wgmma.cuda: the pipeline of kernels/matmul/gpu/wgmma_tile_gpu.kernel.h over a
 * convolution, whose operands wgmma_copies_gpu.kernel.h brings.
 *
 * With PIXELS_M rows are pixels and columns output channels, so that channels are innermost in
 * the output; else rows are output channels and columns the pixels of all images, whose planes
 * are each a line of the output, NCHW.
 *
 * Macros beside those of the tile and the copies: PIXELS_M. With LAYOUTS the module has instead
 * what lays operands out so: TURN (the stage is there), the shape, ELEM, its SIZE, CI_PAD
 * (channels in whole chunks of 16 bytes), INDEX, FLAT.
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

#include "kernels/convolution/implicit/wgmma_copies_gpu.kernel.h"

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
#define OUT_AT(b, m, n) (((INDEX)((n) / PLANE_OUT) * M + (m)) * PLANE_OUT + (n) % PLANE_OUT)
/* To each image that has some of its columns, of which what lies in others is left out. */
#define STORE_BOX(b, m, n, from)                                                               \
    for (int image = (n) / PLANE_OUT; image * PLANE_OUT < MIN((n) + COLUMNS, N); image++)      \
        store_box_3d(out, (n)-image *PLANE_OUT, m, image, from);

#endif

#include "kernels/matmul/gpu/wgmma_tile_gpu.kernel.h"

#endif
