/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all conv2d rows share: the call's numbers in one struct, the checks that every generated
 * implementation makes, and the macros that bake a shape into a body. It owns nothing, decides
 * nothing about speed, and is included by the rows only, never by bodies.
 *
 * A blocked data tensor is [N, C/c, H, W, c]; `data_block` and `out_block` are that c, and 0
 * for NCHW. The weight is always OIHW: [CO, CI/groups, KH, KW].
 */
#ifndef OPTUNE_KERNELS_CONV2D_H
#define OPTUNE_KERNELS_CONV2D_H

#include "kernels/common/tensor.h"

enum { CONV2D_DATA, CONV2D_WEIGHT }; /* indices of the inputs */

typedef struct conv2d_shape {
    int64_t n, ci, h, w;
    int64_t co, kh, kw;
    int64_t oh, ow;
    int64_t sh, sw;
    int64_t pt, pl, pb, pr;
    int64_t dh, dw;
    int64_t groups, ci_g, co_g; /* channels of one group */
    int data_block, out_block;
    bool f64;
} conv2d_shape;

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
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int data_block = tensor_layout_block(optune_call_word(call, "data_layout"));
    const int64_t groups = optune_call_int(call, "groups");
    *s = (conv2d_shape){
        .n = data->dim[0].min,
        .ci = data->dim[1].min * (data_block ? data_block : 1),
        .h = data->dim[2].min,
        .w = data->dim[3].min,
        .co = weight->dim[0].min,
        .kh = weight->dim[2].min,
        .kw = weight->dim[3].min,
        .oh = out->dim[2].min,
        .ow = out->dim[3].min,
        .sh = stride[0],
        .sw = stride[1],
        .pt = pad[0],
        .pl = pad[1],
        .pb = pad[2],
        .pr = pad[3],
        .dh = dilation[0],
        .dw = dilation[1],
        .groups = groups,
        .ci_g = weight->dim[1].min,
        .co_g = weight->dim[0].min / groups,
        .data_block = data_block,
        .out_block = conv2d_out_block(call),
        .f64 = data->dtype.code == OPTUNE_DTYPE_FLOAT && data->dtype.bits == 64,
    };
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

static inline int64_t conv2d_elem(const conv2d_shape *s)
{
    return s->f64 ? 8 : 4;
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

/* The shape as macros: N CI H W CO KH KW OH OW SH SW PT PL PB PR DH DW GROUPS CI_G CO_G,
 * IN_BLOCK and OUT_BLOCK (0 for NCHW), and DTYPE. */
static inline void conv2d_define(optune_plan *plan, int module, const conv2d_shape *s)
{
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"N", s->n},           {"CI", s->ci},     {"H", s->h},       {"W", s->w},
        {"CO", s->co},         {"KH", s->kh},     {"KW", s->kw},     {"OH", s->oh},
        {"OW", s->ow},         {"SH", s->sh},     {"SW", s->sw},     {"PT", s->pt},
        {"PL", s->pl},         {"PB", s->pb},     {"PR", s->pr},     {"DH", s->dh},
        {"DW", s->dw},         {"CI_G", s->ci_g}, {"CO_G", s->co_g}, {"GROUPS", s->groups},
        {"IN_BLOCK", s->data_block},              {"OUT_BLOCK", s->out_block},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, module, table[i].macro, table[i].value);
    optune_plan_define_text(plan, module, "DTYPE", s->f64 ? "double" : "float");
}

/* Adds the stage `function` that packs the weight; returns the scratch of `elements` that it
 * fills. */
static inline optune_arg conv2d_pack(const optune_task *task, optune_plan *plan, int module,
                                     const char *function, int64_t elements)
{
    const bool f64 = task->call->input[CONV2D_WEIGHT].type.dtype.bits == 64;
    const optune_arg packed =
        optune_scratch_arg(optune_plan_scratch(plan, "weights", elements * (f64 ? 8 : 4),
                                               task->call->input[CONV2D_WEIGHT].is_const));
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
