/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conv2d and its two gradients, conv2d_transpose and conv2d_backward_weight, share: the
 * attributes of a window that slides over planes, the end of their type relations, and a call as
 * numbers. Host code only; owns nothing and says nothing about speed.
 *
 * The one idea: all three relate two planes and a kernel; `ci, h, w` are those of the op's data
 * and `co, oh, ow` those of its result (or of the result's gradient), whichever way windows slide.
 */
#ifndef OPTUNE_KERNELS_COMMON_CONV2D_H
#define OPTUNE_KERNELS_COMMON_CONV2D_H

#include "kernels/host/tensor.h"
#include "kernels/host/window.h"

/* ---- attributes -------------------------------------------------------------------------- */

#define CONV2D_PAIR(id, initial, least, text, always)                                          \
    {                                                                                          \
        .name = id, .kind = OPTUNE_ATTR_INTS, .value = initial, .description = text,           \
        .length = 2, .min = least, .max = 1 << 20, .shown = always                             \
    }

#define CONV2D_STRIDES(text) CONV2D_PAIR("strides", "[1,1]", 1, text, true)

#define CONV2D_PADDING(text)                                                                   \
    {                                                                                          \
        .name = "padding", .kind = OPTUNE_ATTR_INTS, .value = "[0,0,0,0]",                     \
        .description = text ": top, left, bottom, right.", .length = 4, .min = 0,              \
        .max = 1 << 20, .shown = true                                                          \
    }

#define CONV2D_DILATION(always)                                                                \
    CONV2D_PAIR("dilation", "[1,1]", 1, "Distances between the kernel's rows and columns.",    \
                always)

#define CONV2D_GROUPS(text)                                                                    \
    {                                                                                          \
        .name = "groups", .kind = OPTUNE_ATTR_INT, .value = "1", .description = text,          \
        .min = 1, .max = 1 << 24, .shown = true                                                \
    }

/* What the rows of all three say alike, of functions and lists under the names that rows use. */
#define CONV2D_OP                                                                              \
    .inputs = inputs, .attrs = attrs, .support_level = 2, .gradient = gradient,                \
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference)

/* ---- types ------------------------------------------------------------------------------- */

/* "Same" convolutions keep a symbolic extent's name. */
static inline bool conv2d_same_extent(const optune_dim *kernel, int64_t pads, int64_t stride,
                                      int64_t dilation)
{
    return stride == 1 && optune_dim_known(kernel) && pads == dilation * (kernel->min - 1);
}

/* The first of the tensors that has an empty dimension; -1: none has. */
int conv2d_empty(const optune_tensor *const tensors[3]);
/* The same of data, weight and output, of which a batch may have no image. */
int conv2d_empty_image(const optune_tensor *const tensors[3]);

/* What a type relation returns that found no conflict: OPTUNE_OK, or 1 while anything is
 * unknown. */
int conv2d_solved(const optune_tensor *const tensors[3]);

/* ---- numbers ----------------------------------------------------------------------------- */

typedef struct conv2d_shape {
    int64_t n, ci, h, w; /* the op's data */
    int64_t images;      /* n, or the most that a batch known at run time can be */
    int64_t co, kh, kw;
    int64_t oh, ow; /* the op's result, or its gradient */
    int64_t sh, sw;
    int64_t pt, pl, pb, pr;
    int64_t dh, dw;
    int64_t groups, ci_g, co_g; /* channels of one group */
    int data_block, out_block;  /* channels innermost; 0 for NCHW */
    bool f64;
    /* Known at run time, where the numbers are the most there can be: rows of the planes, their
     * columns. A batch beside one of these is an argument, too, `any_n`. */
    bool any_n, any_h, any_w;
} conv2d_shape;

/* Of types whose rows and columns have an end: rows are dim `rows` of both, columns the next,
 * channels dim `channels`, which are those of one group. */
void conv2d_sizes(const optune_call *call, const optune_tensor *data, const optune_tensor *out,
                  int channels, int rows, int64_t kh, int64_t kw, conv2d_shape *s);

/* The same of NCHW in the call's groups. */
void conv2d_numbers(const optune_call *call, const optune_tensor *data,
                    const optune_tensor *out, int64_t kh, int64_t kw, conv2d_shape *s);

/* How far from the first tap of a window the one behind the last looks, in pixels of the plane: it
 * is pointed at, too, and not read. */
static inline int64_t conv2d_taps_apart(const conv2d_shape *s)
{
    return s->kh * s->dh * s->w + (s->kw - 1) * s->dw;
}

static inline int64_t conv2d_elem(const conv2d_shape *s)
{
    return s->f64 ? 8 : 4;
}

/* Whether dims of the planes are arguments of a stage (conv2d_dims of conv2d.h). */
static inline bool conv2d_varies(const conv2d_shape *s)
{
    return s->any_h || s->any_w;
}

/* The shape as macros: N CI H W CO KH KW OH OW SH SW PT PL PB PR DH DW GROUPS CI_G CO_G,
 * IN_BLOCK and OUT_BLOCK (0 for NCHW), and DTYPE. */
void conv2d_define(optune_plan *plan, int module, const conv2d_shape *s);
/* Without DTYPE, which bodies of narrow numbers get otherwise. */
void conv2d_define_numbers(optune_plan *plan, int module, const conv2d_shape *s);
/* The same of a shape that varies: VARIES says so, and what does is an argument of the body's
 * stage, from number `first` on, as conv2d_dims adds them; a body uses it where its `arg` is in
 * scope. */
void conv2d_define_varying(optune_plan *plan, int module, const conv2d_shape *s, int first);

#endif
