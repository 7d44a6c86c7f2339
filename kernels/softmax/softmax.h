/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What softmax's rows share: the call as [outer, n, inner] with n the axis, and the macros that
 * bake it into a body.
 */
#ifndef OPTUNE_KERNELS_SOFTMAX_H
#define OPTUNE_KERNELS_SOFTMAX_H

#include "kernels/host/tensor.h"

typedef struct softmax_shape {
    int64_t outer, n, inner;
    bool f64;
} softmax_shape;

/* The axis counted from the front; negative when the rank is unknown or too small. */
static inline int softmax_axis(const optune_call *call)
{
    const int64_t axis = optune_call_int(call, "axis");
    const int rank = call->input[0].type.rank;
    return (int)(axis < 0 ? axis + rank : axis < rank ? axis : -1);
}

/* False while anything is unknown. */
static inline bool softmax_shape_of(const optune_call *call, softmax_shape *s)
{
    const optune_tensor *data = &call->input[0].type;
    *s = (softmax_shape){.outer = 1, .n = 1, .inner = 1};
    if (!optune_tensor_known(data) || !optune_tensor_known(&call->output[0]))
        return false;
    const int axis = softmax_axis(call);
    for (int d = 0; d < data->rank; d++)
        *(d < axis ? &s->outer : d > axis ? &s->inner : &s->n) *= data->dim[d].min;
    s->f64 = data->dtype.bits == 64;
    return true;
}

static inline bool softmax_applies(const optune_task *task, softmax_shape *s, char *why)
{
    if (!softmax_shape_of(task->call, s))
        return optune_refuse(why, "needs constant shapes");
    if (!tensor_is_float(&task->call->input[0].type))
        return optune_refuse(why, "needs float32 or float64");
    if (s->outer < 1 || s->n < 1 || s->inner < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    return true;
}

static inline int64_t softmax_elem(const softmax_shape *s)
{
    return s->f64 ? 8 : 4;
}

/* Lanes of the widest vector that `most` elements fill; never less than 16 bytes. */
static inline int64_t softmax_lanes(const optune_task *task, const softmax_shape *s,
                                    int64_t most)
{
    int64_t bytes = task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
    while (bytes > 16 && bytes / softmax_elem(s) > most)
        bytes /= 2;
    return bytes / softmax_elem(s);
}

static inline int softmax_registers(const optune_task *task)
{
    return task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
}

/* OUTER AXIS INNER, DTYPE and VEC_BYTES. */
static inline int softmax_module(optune_plan *plan, const softmax_shape *s, int64_t lanes)
{
    const int m = optune_plan_module(plan);
    optune_plan_define(plan, m, "OUTER", s->outer);
    optune_plan_define(plan, m, "AXIS", s->n);
    optune_plan_define(plan, m, "INNER", s->inner);
    optune_plan_define_text(plan, m, "DTYPE", s->f64 ? "double" : "float");
    optune_plan_define(plan, m, "VEC_BYTES", lanes * softmax_elem(s));
    return m;
}

static inline void softmax_stage(optune_plan *plan, int module)
{
    optune_plan_stage(plan,
                      &(optune_stage){.phase = OPTUNE_TIMED,
                                      .module = module,
                                      .function = "softmax",
                                      .n_args = 2,
                                      .arg = {optune_input_arg(0), optune_output_arg(0)}});
}

#endif
