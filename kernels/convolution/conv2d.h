/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all conv2d rows share beyond kernels/convolution/shape.h: the call's numbers, in layouts
 * of blocks, too, the checks that every generated implementation makes, and the stages around
 * the weight and the output. It owns nothing, decides nothing about speed, and is included by
 * the rows only, never by bodies.
 *
 * A blocked data tensor is [N, C/c, H, W, c]; `data_block` and `out_block` are that c, and 0
 * for NCHW. The weight is always OIHW: [CO, CI/groups, KH, KW].
 */
#ifndef OPTUNE_KERNELS_CONV2D_H
#define OPTUNE_KERNELS_CONV2D_H

#include "kernels/convolution/shape.h"

enum { CONV2D_DATA, CONV2D_WEIGHT }; /* indices of the inputs */

static inline int conv2d_out_block(const optune_call *call)
{
    const char *out = optune_call_word(call, "out_layout");
    return tensor_layout_block(out[0] ? out : optune_call_word(call, "data_layout"));
}

/* False while anything but the batch is unknown; a batch that is known at run time counts as 1.
 * Never fails for a call whose types are solved. */
bool conv2d_shape_of(const optune_call *call, conv2d_shape *s);
/* The same where rows and columns of planes may be known at run time, too: the most there can be,
 * and `any_h`, `any_w` say so. */
bool conv2d_most_of(const optune_call *call, conv2d_shape *s);

/* What generated code asks for: a solved call of float32 or float64 throughout. */
bool conv2d_applies(const optune_task *task, conv2d_shape *s, char *why);
/* The same of bodies that take rows and columns of planes at run time. */
bool conv2d_most_applies(const optune_task *task, conv2d_shape *s, char *why);

/* Adds what conv2d_define_varying counts on, in its order: N, H, OH, W, OW. */
void conv2d_dims(const optune_call *call, const conv2d_shape *s, optune_stage *stage);

static inline bool conv2d_is_depthwise(const conv2d_shape *s)
{
    return s->groups > 1 && s->groups == s->ci;
}

/* Elements of the widest vector register of a device; never less than 4 floats' worth. */
static inline int64_t conv2d_lanes(const optune_task *task, const conv2d_shape *s)
{
    const int bytes = task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
    return bytes / conv2d_elem(s);
}

static inline int conv2d_registers(const optune_task *task)
{
    return task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
}

/* OPTUNE_PREPACK when the weight may be packed once, else OPTUNE_TIMED. */
static inline optune_phase conv2d_weight_phase(const optune_call *call)
{
    return call->input[CONV2D_WEIGHT].is_const ? OPTUNE_PREPACK : OPTUNE_TIMED;
}

/* Vectors are explicit and loops are unrolled where it pays, so the compiler's own search for
 * either only costs time: a third of all, and half for winograd. The second flag forms FMAs. */
static inline void conv2d_light(optune_plan *plan, int module)
{
    optune_plan_flag(plan, module, "-O1");
    optune_plan_flag(plan, module, "-fexpensive-optimizations");
}

/* Adds the stage `function` that packs the weight; returns the scratch of `elements` that it
 * fills. */
optune_arg conv2d_pack(const optune_task *task, optune_plan *plan, int module,
                       const char *function, int64_t elements);

/* Offers to fuse in the stage that computes the output: lanes are pixels of a plane, or channels of
 * a block. */
void conv2d_fuse(const optune_task *task, optune_plan *plan, optune_stage *stage);
/* And adds it, with the dims that vary behind its own arguments. */
void conv2d_finish(const optune_task *task, optune_plan *plan, const optune_stage *stage);

#endif
