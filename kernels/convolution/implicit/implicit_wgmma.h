/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by warpgroups, of whatever types: windows as the copy engine brings them, channels
 * innermost, in the words of dense's template `wgmma` (kernels/matmul/gpu/matmul_gpu_wgmma.h). The
 * depth is taps by channels in whole panels of 128 bytes. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_IMPLICIT_WGMMA_H
#define OPTUNE_KERNELS_CONV2D_IMPLICIT_WGMMA_H

#include "kernels/convolution/shape.h"
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"

/* Whether windows are such as the copy engine brings. */
bool implicit_wgmma_reaches(const conv2d_shape *s, char *why);

/* Panels of depth of so many taps, of channels of `size` bytes. */
int64_t implicit_wgmma_panels(int64_t taps, int64_t channels, int64_t size);

/* Whether a config's steps end with the last panel. */
bool implicit_wgmma_steps_fit(int64_t panels, const optune_config *config, char *why);

/* The map of images [n][h][w][channels], of which a copy brings `rows` pixels. */
optune_arg implicit_wgmma_pixels(optune_plan *plan, optune_arg images, optune_dtype dtype,
                                 const conv2d_shape *s, int64_t channels, int64_t rows);

/* The macros of wgmma_copies_gpu.kernel.h. */
void implicit_wgmma_define(optune_plan *plan, int module, const conv2d_shape *s,
                           int64_t passes);

#endif
