/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/conv2d.h declares. */
#include "kernels/convolution/conv2d.h"

/* Rows and columns of a plane may be known at run time, up to an end; which are is added. */
static bool bounded_image(const optune_tensor *type, bool *any_h, bool *any_w)
{
    for (int d = 1; d < type->rank; d++)
        if (!optune_dim_known(&type->dim[d])) {
            if ((d != 2 && d != 3) || type->dim[d].max == OPTUNE_DIM_MAX)
                return false;
            *(d == 2 ? any_h : any_w) = true;
        }
    return type->rank > 0;
}

bool conv2d_most_of(const optune_call *call, conv2d_shape *s)
{
    const optune_tensor *data = &call->input[CONV2D_DATA].type;
    const optune_tensor *weight = &call->input[CONV2D_WEIGHT].type;
    const optune_tensor *out = &call->output[0];
    bool any_h = false, any_w = false;
    if (!bounded_image(data, &any_h, &any_w) || !optune_tensor_known(weight) ||
        !bounded_image(out, &any_h, &any_w)) {
        *s = (conv2d_shape){0};
        return false;
    }
    const bool one_batch = optune_dim_known(&data->dim[0]);
    conv2d_numbers(call, data, out, weight->dim[2].min, weight->dim[3].min, s);
    s->n = one_batch ? s->n : 1;
    s->any_h = any_h;
    s->any_w = any_w;
    s->any_n = conv2d_varies(s) && !one_batch;
    const char *const layout = optune_call_word(call, "data_layout");
    const char *const out_layout = optune_call_word(call, "out_layout");
    s->data_block = tensor_layout_block(layout);
    s->out_block = out_layout[0] ? tensor_layout_block(out_layout) : s->data_block;
    s->ci *= s->data_block ? s->data_block : 1;
    s->ci_g = weight->dim[1].min;
    s->co = weight->dim[0].min;
    s->co_g = s->groups > 1 ? s->co / s->groups : s->co;
    return true;
}

bool conv2d_shape_of(const optune_call *call, conv2d_shape *s)
{
    if (conv2d_most_of(call, s) && !conv2d_varies(s))
        return true;
    *s = (conv2d_shape){0};
    return false;
}

static bool float_throughout(const optune_call *call, char *why)
{
    const optune_dtype dtype = call->input[CONV2D_DATA].type.dtype;
    return (dtype.code == OPTUNE_DTYPE_FLOAT && (dtype.bits == 32 || dtype.bits == 64) &&
            dtype.lanes == 1 &&
            optune_dtype_equal(dtype, call->input[CONV2D_WEIGHT].type.dtype) &&
            optune_dtype_equal(dtype, call->output[0].dtype)) ||
           optune_refuse(why, "needs float32 or float64 throughout");
}

bool conv2d_applies(const optune_task *task, conv2d_shape *s, char *why)
{
    return conv2d_shape_of(task->call, s) ? float_throughout(task->call, why)
                                          : optune_refuse(why, "needs constant shapes");
}

bool conv2d_most_applies(const optune_task *task, conv2d_shape *s, char *why)
{
    return conv2d_most_of(task->call, s)
               ? float_throughout(task->call, why)
               : optune_refuse(why,
                               "needs constant shapes but for the batch, rows and columns");
}

void conv2d_dims(const optune_call *call, const conv2d_shape *s, optune_stage *stage)
{
    if (s->any_n)
        stage->arg[stage->n_args++] = optune_dim_arg(CONV2D_DATA, 0);
    for (int d = 2; d < 4; d++)
        if (d == 2 ? s->any_h : s->any_w) {
            const bool same = call->input[CONV2D_DATA].type.dim[d].name[0] &&
                              strcmp(call->input[CONV2D_DATA].type.dim[d].name,
                                     call->output[0].dim[d].name) == 0;
            stage->arg[stage->n_args++] = optune_dim_arg(CONV2D_DATA, d);
            stage->arg[stage->n_args++] =
                same ? optune_dim_arg(CONV2D_DATA, d) : optune_output_dim_arg(0, d);
        }
}

optune_arg conv2d_pack(const optune_task *task, optune_plan *plan, int module,
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

void conv2d_fuse(const optune_task *task, optune_plan *plan, optune_stage *stage)
{
    optune_plan_fuse(task, plan, stage, conv2d_out_block(task->call) ? 4 : 2);
}

void conv2d_finish(const optune_task *task, optune_plan *plan, const optune_stage *stage)
{
    optune_stage last = *stage;
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    conv2d_dims(task->call, &s, &last);
    conv2d_fuse(task, plan, &last);
    optune_plan_stage(plan, &last);
    if (!conv2d_varies(&s) && !optune_dim_known(&task->call->input[CONV2D_DATA].type.dim[0]))
        optune_plan_repeat(plan, CONV2D_DATA, 1u << CONV2D_DATA);
}
