/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operands of a convolution by warpgroups, brought by the copy engine, for bodies of
 * kernels/matmul/gpu/wgmma_tile_gpu.kernel.h: depth is taps and, innermost, channels in whole
 * panels; pixels come as windows meet them, whatever stride, padding and dilation, and zeros for
 * what lies outside, channels included. Channels are innermost in both:
 *
 *   pixels [image][y][x][CI]    weights [output channel][PASSES * tap][CI]
 *
 * Macros: PASSES (how often the taps are gone through), CI KH KW OW PLANE_OUT SH SW PT PL DH DW.
 * `copy` is the word that copies: COPY_WINDOWS(copy, to, map, pixel, panel, barrier), from `pixel`
 * of all images on; COPY_WEIGHTS(copy, to, map, channel, panel, barrier).
 */
#ifndef OPTUNE_KERNELS_CONV2D_WGMMA_COPIES_GPU_H
#define OPTUNE_KERNELS_CONV2D_WGMMA_COPIES_GPU_H

#define CHUNKS CEIL_DIV(CI, PANEL) /* panels of a tap */
#define CHANNEL(panel) ((panel) % CHUNKS * PANEL)
#define TAP(panel) ((panel) / CHUNKS)
#if PASSES > 1
#define WINDOW_TAP(panel) (TAP(panel) % (KH * KW))
#else
#define WINDOW_TAP(panel) TAP(panel)
#endif

#define COPY_WINDOWS(copy, to, map, pixel, panel, barrier)                                     \
    {                                                                                          \
        const int ot_image = (pixel) / PLANE_OUT, ot_at = (pixel) % PLANE_OUT;                 \
        copy(to, map, CHANNEL(panel), ot_at % OW * SW - PL, ot_at / OW * SH - PT, ot_image,    \
             WINDOW_TAP(panel) % KW * DW, WINDOW_TAP(panel) / KW * DH, barrier);               \
    }
#define COPY_WEIGHTS(copy, to, map, channel, panel, barrier)                                   \
    copy(to, map, CHANNEL(panel), TAP(panel), channel, barrier)

#endif
