/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/softmax/softmax.h declares. */
#include "kernels/softmax/softmax.h"

bool softmax_shape_of(const optune_call *call, softmax_shape *s)
{
    const optune_tensor *data = &call->input[0].type;
    *s = (softmax_shape){.outer = 1, .n = 1, .inner = 1};
    const int axis = softmax_axis(call), varying = axis == data->rank - 1 ? axis + 1 : axis;
    if (axis < 0 || !host_lead_known(data, varying) ||
        !host_lead_known(&call->output[0], varying))
        return false;
    const host_axis at = host_lead_around(data, axis);
    s->outer = at.outer;
    s->n = at.n;
    s->inner = at.inner;
    s->n_varies = !optune_dim_known(&data->dim[axis]);
    s->f64 = data->dtype.bits == 64;
    return true;
}

static bool shapes_fit(const optune_task *task, softmax_shape *s, char *why)
{
    if (!softmax_shape_of(task->call, s))
        return optune_refuse(why, "needs constant shapes");
    if (s->outer < 1 || s->n < 1 || s->inner < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    return true;
}

bool softmax_fits(const optune_task *task, softmax_shape *s, char *why)
{
    return shapes_fit(task, s, why) &&
           (!s->n_varies || optune_refuse(why, "needs an axis of a constant length"));
}

static bool is_float(const optune_task *task, char *why)
{
    return tensor_is_float(&task->call->input[0].type) ||
           optune_refuse(why, "needs float32 or float64");
}

bool softmax_applies(const optune_task *task, softmax_shape *s, char *why)
{
    return softmax_fits(task, s, why) && is_float(task, why);
}

bool softmax_rows_apply(const optune_task *task, softmax_shape *s, char *why)
{
    return shapes_fit(task, s, why) && is_float(task, why);
}

int64_t softmax_lanes(const optune_task *task, const softmax_shape *s, int64_t most)
{
    int64_t bytes = task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
    while (bytes > 16 && bytes / softmax_elem(s) > most)
        bytes /= 2;
    return bytes / softmax_elem(s);
}

enum { ARGS = 2 }; /* of the stage, in front of dims */

static int lead_args(const optune_call *call)
{
    int n = 0;
    for (int d = 0; d < softmax_axis(call); d++)
        n += !optune_dim_known(&call->input[0].type.dim[d]);
    return n;
}

int softmax_module(const optune_task *task, optune_plan *plan, const softmax_shape *s,
                   int64_t lanes)
{
    const int m = optune_plan_module(plan);
    host_lead_define(plan, m, "OUTER", task->call, 0, softmax_axis(task->call), ARGS);
    optune_plan_define(plan, m, "AXIS", s->n);
    optune_plan_define(plan, m, "AXIS_ARG", s->n_varies ? ARGS + lead_args(task->call) : 0);
    optune_plan_define(plan, m, "INNER", s->inner);
    optune_plan_define_text(plan, m, "DTYPE", s->f64 ? "double" : "float");
    optune_plan_define(plan, m, "VEC_BYTES", lanes * softmax_elem(s));
    return m;
}

void softmax_stage(const optune_task *task, optune_plan *plan, int module)
{
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "softmax",
                          .n_args = ARGS,
                          .arg = {optune_input_arg(0), optune_output_arg(0)}};
    const int axis = softmax_axis(task->call);
    host_lead_args(task->call, 0, axis, &stage);
    if (!optune_dim_known(&task->call->input[0].type.dim[axis]))
        stage.arg[stage.n_args++] = optune_dim_arg(0, axis);
    optune_plan_stage(plan, &stage);
}
