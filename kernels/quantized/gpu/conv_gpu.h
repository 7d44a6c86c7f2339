/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d on GPUs as a product, whatever multiplies: its shape, its macros, and the stages
 * around it (kernels/quantized/gpu/conv_gpu.kernel.h). Host code only.
 *
 * Channels of a group that are whole chunks of 16 bytes are read where they lie. Else a stage in
 * front lays the windows side by side, and the product is a 1x1 convolution of them.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_GPU_CONV_GPU_HOST_H
#define OPTUNE_KERNELS_QUANTIZED_GPU_CONV_GPU_HOST_H

#include "kernels/host/gpu_limits.h"
#include "kernels/quantized/conv.h"

typedef struct qconv_gpu {
    conv2d_shape call, s; /* s: the product's */
    bool laid;
    int64_t passes; /* 2: a weight of 16 bits is the sum of two of 8 */
    int64_t pixels, depth;
} qconv_gpu;

/* Rows or columns of taps that windows have outside an image, at the most, on each side. */
typedef struct qconv_gpu_cuts {
    int64_t top, bottom, left, right;
} qconv_gpu_cuts;

/* How a config divides it: output channels of a group and bytes of depth, in whole blocks. With
 * `cuts` what lies outside an image is zeros to the product; else the data's zero. */
typedef struct qconv_gpu_parts {
    int64_t co_pad, line, splits;
    qconv_gpu_cuts cuts;
} qconv_gpu_parts;

/* Of the product, where the data's zero is not 0. */
qconv_gpu_cuts qconv_gpu_cuts_of(const optune_call *call, const qconv_gpu *q);

/* In how many ways windows are cut. */
int64_t qconv_gpu_edges(const qconv_gpu_cuts *cuts);

/* Whether sums of parts of the depth, and sums that windows begin with, are not too many. */
bool qconv_gpu_parts_fit(const qconv_gpu *q, const qconv_gpu_parts *parts, char *why);

/* False while a dim is unknown. */
bool qconv_gpu_of(const optune_call *call, qconv_gpu *q);

bool qconv_gpu_applies(const optune_task *task, qconv_gpu *q, char *why);

enum { QCONV_GPU_FLAT = 256 }; /* threads of a block that packs: the macro FLAT */

/* Adds the stages `pack`, a thread a word, and `lists`, one a channel and a way to be cut, and what
 * they fill. */
optune_arg qconv_gpu_weights(const optune_task *task, optune_plan *plan, int module,
                             int64_t words_bytes, int64_t channels, int64_t edges);

/* The data, or adds the stage that lays its windows side by side: what they fill. */
optune_arg qconv_gpu_pixels(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                            const qconv_gpu_parts *parts);

/* The macros of sums_gpu.kernel.h that are of the product and a config. */
void qconv_gpu_define_sums(optune_plan *plan, int module, const qconv_gpu *q,
                           const qconv_gpu_parts *parts);

/* The product's module, with the macros of conv_gpu.kernel.h. */
int qconv_gpu_module(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                     const qconv_gpu_parts *parts);

/* Adds the stages in front of the product, it itself, `convolve`, whose grid, block and shared
 * memory are set, and what adds up its parts. */
void qconv_gpu_stages(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                      const qconv_gpu_parts *parts, optune_stage convolve);

#endif
