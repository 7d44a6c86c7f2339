/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conv2d_dot.cpu and conv2d_amx.x86 share: which calls they take, and how planes of words lie
 * (kernels/convolution/dots/words.kernel.h). Host code only; owns nothing, allocates nothing.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_DOTS_H
#define OPTUNE_KERNELS_CONVOLUTION_DOTS_H

#include "kernels/convolution/conv2d.h"
#include "kernels/matmul/dot.h"

typedef struct dots_planes {
    int64_t channel_words;    /* of a pixel: those of a group's channels, of each of its taps */
    int64_t phase_h, phase_w; /* residues by the strides */
    int64_t rows, pitch, plane; /* of a plane; pixels of a row, of all and the room behind it */
    int64_t pixels;             /* of an output, rows of `pitch` */
    int64_t bytes;              /* of all planes, of words filled up to `unit` */
} dots_planes;

static inline optune_dtype dots_in(const optune_task *task)
{
    return task->call->input[CONV2D_DATA].type.dtype;
}

/* NCHW, constant shapes, types that dot_types takes. */
bool dots_applies(const optune_task *task, conv2d_shape *s, char *why);

/* Planes of a call, with words by `step`, a pixel's filled up to multiples of `unit` words, and
 * room behind a plane for `room` pixels that nobody asked for. A pixel has words for `taps`: 1, or
 * all of a kernel's row, which then meet in one step. */
dots_planes dots_planes_of(const conv2d_shape *s, dot_step step, int64_t taps, int64_t unit,
                           int64_t room);

/* Knobs of blocks of a task: so many of `channels` and of `pixels`. */
void dots_block_knobs(optune_space *space, int64_t channels, int64_t pixels);

/* The module's macros, and the stages in front of the product: the packed weight of `bytes`, the
 * planes. */
void dots_define(optune_plan *plan, int module, const optune_task *task, const conv2d_shape *s,
                 dot_step step, const dots_planes *p);
void dots_stages(const optune_task *task, optune_plan *plan, int module,
                 const dots_planes *planes, int64_t weight_bytes, const char *function);

#endif
