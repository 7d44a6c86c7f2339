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

/* False while anything is unknown. Never fails for a call whose types are solved. */
static inline bool conv2d_shape_of(const optune_call *call, conv2d_shape *s)
{
    const optune_tensor *data = &call->input[CONV2D_DATA].type;
    const optune_tensor *weight = &call->input[CONV2D_WEIGHT].type;
    const optune_tensor *out = &call->output[0];
    *s = (conv2d_shape){0};
    if (!optune_tensor_known(data) || !optune_tensor_known(weight) || !optune_tensor_known(out))
        return false;
    *s = conv2d_numbers(call, data, out, weight->dim[2].min, weight->dim[3].min);
    s->data_block = tensor_layout_block(optune_call_word(call, "data_layout"));
    s->out_block = conv2d_out_block(call);
    s->ci *= s->data_block ? s->data_block : 1;
    s->ci_g = weight->dim[1].min;
    s->co = weight->dim[0].min;
    s->co_g = s->co / s->groups;
    return true;
}

/* What generated code asks for: a solved call of float32 or float64 throughout. */
static inline bool conv2d_applies(const optune_task *task, conv2d_shape *s, char *why)
{
    const optune_call *call = task->call;
    if (!conv2d_shape_of(call, s))
        return optune_refuse(why, "needs constant shapes");
    const optune_dtype dtype = call->input[CONV2D_DATA].type.dtype;
    if (dtype.code != OPTUNE_DTYPE_FLOAT || (dtype.bits != 32 && dtype.bits != 64) ||
        dtype.lanes != 1 || !optune_dtype_equal(dtype, call->input[CONV2D_WEIGHT].type.dtype) ||
        !optune_dtype_equal(dtype, call->output[0].dtype))
        return optune_refuse(why, "needs float32 or float64 throughout");
    return true;
}

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
static inline optune_arg conv2d_pack(const optune_task *task, optune_plan *plan, int module,
                                     const char *function, int64_t elements)
{
    const bool f64 = task->call->input[CONV2D_WEIGHT].type.dtype.bits == 64;
    const optune_arg packed = optune_scratch_arg(optune_plan_scratch(
        plan, "weights", elements * (f64 ? 8 : 4), task->call->input[CONV2D_WEIGHT].is_const));
    optune_plan_stage(plan, &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                            .module = module,
                                            .function = function,
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_WEIGHT), packed}});
    return packed;
}

/* Adds the stage that computes the output, and offers to fuse in it: lanes are pixels of a plane,
 * or channels of a block. */
static inline void conv2d_finish(const optune_task *task, optune_plan *plan,
                                 const optune_stage *stage)
{
    optune_stage last = *stage;
    optune_plan_fuse(task, plan, &last, conv2d_out_block(task->call) ? 4 : 2);
    optune_plan_stage(plan, &last);
}

#endif
