/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/dense.h declares. */
#include "kernels/matmul/dense.h"
#include "kernels/matmul/dot.h"

bool dense_dim(const optune_call *call, const char *name, optune_dim *value)
{
    if (strcmp(name, "m") == 0)
        *value = call->input[DENSE_DATA].type.dim[0];
    else if (strcmp(name, "n") == 0)
        *value = call->input[DENSE_WEIGHT].type.dim[0];
    else if (strcmp(name, "k") == 0)
        *value = call->input[DENSE_DATA].type.dim[1];
    else
        return false;
    return true;
}

bool dense_bounded(const optune_call *call)
{
    if (dense_known(call)) /* most are, and a call is long to copy */
        return call->input[DENSE_DATA].type.rank == 2 && call->output[0].rank == 2;
    optune_call fixed = *call;
    optune_dim *m = &fixed.input[DENSE_DATA].type.dim[0];
    if (fixed.input[DENSE_DATA].type.rank != 2 || fixed.output[0].rank != 2 ||
        m->max == OPTUNE_DIM_MAX)
        return false;
    *m = fixed.output[0].dim[0] = optune_dim_of(m->max);
    return dense_known(&fixed);
}

dense_shape dense_shape_of(const optune_call *call)
{
    const optune_tensor *data = &call->input[DENSE_DATA].type;
    const optune_tensor *weight = &call->input[DENSE_WEIGHT].type;
    return (dense_shape){
        .m = data->dim[0].max,
        .m_varies = data->dim[0].min != data->dim[0].max,
        .n = weight->dim[0].min,
        .k = data->dim[1].min,
        .bias = call->n_inputs > DENSE_BIAS,
        .f64 = data->dtype.bits == 64,
        .weight_phase = call->input[DENSE_WEIGHT].is_const ? OPTUNE_PREPACK : OPTUNE_TIMED,
    };
}

bool dense_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (!dense_bounded(call))
        return optune_refuse(why, "needs constant shapes");
    const dense_shape s = dense_shape_of(call);
    if (call->input[DENSE_DATA].type.dim[0].min < 1 || s.n < 1 || s.k < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    const optune_dtype dtype = call->output[0].dtype;
    bool same = matmul_float(dtype);
    for (int i = 0; i < call->n_inputs; i++)
        same = same && optune_dtype_equal(dtype, call->input[i].type.dtype);
    if (!same)
        return optune_refuse(why, "needs float32 or float64 throughout");
    return true;
}

bool dense_narrow(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (!dense_known(call))
        return optune_refuse(why, "needs constant shapes");
    const dense_shape s = dense_shape_of(call);
    if (s.m < 1 || s.n < 1 || s.k < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    const optune_dtype in = call->input[DENSE_DATA].type.dtype, out = call->output[0].dtype;
    return (optune_dtype_equal(in, call->input[DENSE_WEIGHT].type.dtype) &&
            (!s.bias || optune_dtype_equal(out, call->input[DENSE_BIAS].type.dtype)))
               ? dot_types(in, out, why)
               : optune_refuse(why, "needs operands of one type, and a bias of the output's");
}

void dense_define(optune_plan *plan, int module, const dense_shape *s)
{
    optune_plan_define_text(plan, module, "DTYPE", s->f64 ? "double" : "float");
    optune_plan_define(plan, module, "M", s->m);
    optune_plan_define(plan, module, "M_VARIES", s->m_varies);
    optune_plan_define(plan, module, "N", s->n);
    optune_plan_define(plan, module, "K", s->k);
    optune_plan_define(plan, module, "BIAS", s->bias);
}

void dense_finish(optune_stage *stage, const dense_shape *s)
{
    stage->arg[stage->n_args++] = optune_output_arg(0);
    if (s->bias)
        stage->arg[stage->n_args++] = optune_input_arg(DENSE_BIAS);
    dense_rows(stage, s);
}

optune_arg dense_pack(optune_plan *plan, int module, const dense_shape *s, int64_t bytes)
{
    const optune_arg packed = optune_scratch_arg(
        optune_plan_scratch(plan, "weight", bytes, s->weight_phase == OPTUNE_PREPACK));
    optune_plan_stage(plan, &(optune_stage){.phase = s->weight_phase,
                                            .module = module,
                                            .function = "pack_weight",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(DENSE_WEIGHT), packed}});
    return packed;
}

optune_arg dense_pack_data(optune_plan *plan, int module, const dense_shape *s, int64_t bytes)
{
    const optune_arg packed =
        optune_scratch_arg(optune_plan_scratch(plan, "data", bytes, false));
    optune_stage packing = {
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "pack_data",
        .n_args = 2,
        .arg = {optune_input_arg(DENSE_DATA), packed},
    };
    dense_rows(&packing, s);
    optune_plan_stage(plan, &packing);
    return packed;
}

void dense_compute(const optune_task *task, optune_plan *plan, int module, const char *function,
                   const dense_shape *s, optune_arg data, optune_arg weight)
{
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = function,
                          .n_args = 2,
                          .arg = {data, weight}};
    dense_finish(&stage, s);
    optune_plan_fuse(task, plan, &stage, 1);
    optune_plan_stage(plan, &stage);
}
