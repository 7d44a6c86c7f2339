/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/batch_matmul.h declares. */
#include "kernels/matmul/batch_matmul.h"

bool batch_matmul_dim(const optune_call *call, const char *name, optune_dim *value)
{
    const optune_tensor *x = &call->input[BATCH_MATMUL_X].type;
    const int k = optune_call_int(call, "transpose_a") ? 1 : 2;
    if (strcmp(name, "b") == 0)
        *value = call->output[0].dim[0];
    else if (strcmp(name, "m") == 0)
        *value = call->output[0].dim[1];
    else if (strcmp(name, "n") == 0)
        *value = call->output[0].dim[2];
    else if (strcmp(name, "k") == 0)
        *value = x->dim[k];
    else
        return false;
    return true;
}

bool batch_matmul_bounded(const optune_call *call)
{
    optune_call fixed = *call;
    optune_tensor *x = &fixed.input[BATCH_MATMUL_X].type, *out = &fixed.output[0];
    optune_tensor *y = &fixed.input[BATCH_MATMUL_Y].type;
    if (x->rank != 3 || y->rank != 3 || out->rank != 3)
        return false;
    const bool ranges = !optune_dim_known(&x->dim[0]) && !optune_dim_known(&y->dim[0]);
    if (ranges && (!x->dim[0].name[0] || strcmp(x->dim[0].name, y->dim[0].name) != 0))
        return false;
    /* A range beside batches of a known number can only be these or 1; no body asks which. */
    if (!ranges && ((!optune_dim_known(&x->dim[0]) && y->dim[0].min != 1) ||
                    (!optune_dim_known(&y->dim[0]) && x->dim[0].min != 1)))
        return false;
    optune_tensor *const type[] = {x, y, out};
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 3; d++) {
            if (type[i]->dim[d].max == OPTUNE_DIM_MAX)
                return false;
            type[i]->dim[d] = optune_dim_of(type[i]->dim[d].max);
        }
    return batch_matmul_known(&fixed);
}

batch_matmul_shape batch_matmul_shape_of(const optune_call *call)
{
    const optune_tensor *x = &call->input[BATCH_MATMUL_X].type;
    const optune_tensor *y = &call->input[BATCH_MATMUL_Y].type;
    const bool ta = optune_call_int(call, "transpose_a") != 0;
    return (batch_matmul_shape){
        .b = call->output[0].dim[0].max,
        .m = call->output[0].dim[1].max,
        .b_varies = !optune_dim_known(&call->output[0].dim[0]),
        .m_varies = !optune_dim_known(&call->output[0].dim[1]),
        .n_varies = !optune_dim_known(&call->output[0].dim[2]),
        .k_varies = !optune_dim_known(&x->dim[ta ? 1 : 2]),
        .batch_of_y = optune_dim_known(&x->dim[0]),
        .n = call->output[0].dim[2].max,
        .k = x->dim[ta ? 1 : 2].max,
        .x_shared = x->dim[0].max == 1,
        .y_shared = y->dim[0].max == 1,
        .transpose_a = ta,
        .transpose_b = optune_call_int(call, "transpose_b") != 0,
        .f64 = x->dtype.bits == 64,
        .y_const = call->input[BATCH_MATMUL_Y].is_const && optune_tensor_known(y),
    };
}

bool batch_matmul_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (!batch_matmul_bounded(call))
        return optune_refuse(why, "needs constant shapes");
    const optune_dim *out = call->output[0].dim;
    const int depth = optune_call_int(call, "transpose_a") ? 1 : 2;
    if (out[0].min < 1 || out[1].min < 1 || out[2].min < 1 ||
        call->input[BATCH_MATMUL_X].type.dim[depth].min < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    const optune_dtype dtype = call->output[0].dtype;
    if (!matmul_float(dtype) ||
        !optune_dtype_equal(dtype, call->input[BATCH_MATMUL_X].type.dtype) ||
        !optune_dtype_equal(dtype, call->input[BATCH_MATMUL_Y].type.dtype))
        return optune_refuse(why, "needs float32 or float64 throughout");
    return true;
}

void batch_matmul_define(optune_plan *plan, int module, const batch_matmul_shape *s)
{
    optune_plan_define_text(plan, module, "DTYPE", s->f64 ? "double" : "float");
    optune_plan_define(plan, module, "B", s->b);
    optune_plan_define(plan, module, "M", s->m);
    optune_plan_define(plan, module, "N", s->n);
    optune_plan_define(plan, module, "K", s->k);
    optune_plan_define(plan, module, "B_VARIES", s->b_varies);
    optune_plan_define(plan, module, "M_VARIES", s->m_varies);
    optune_plan_define(plan, module, "N_VARIES", s->n_varies);
    optune_plan_define(plan, module, "K_VARIES", s->k_varies);
    optune_plan_define(plan, module, "X_BATCH", s->x_shared ? 0 : s->m * s->k);
    optune_plan_define(plan, module, "Y_BATCH", s->y_shared ? 0 : s->n * s->k);
}

optune_stage batch_matmul_stage(int module)
{
    return (optune_stage){
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "matmul",
        .n_args = 3,
        .arg = {optune_input_arg(BATCH_MATMUL_X), optune_input_arg(BATCH_MATMUL_Y),
                optune_output_arg(0)},
    };
}

void batch_matmul_dims(optune_stage *stage, const batch_matmul_shape *s, bool rows)
{
    if (s->b_varies)
        stage->arg[stage->n_args++] =
            optune_dim_arg(s->batch_of_y ? BATCH_MATMUL_Y : BATCH_MATMUL_X, 0);
    if (s->n_varies)
        stage->arg[stage->n_args++] = optune_dim_arg(BATCH_MATMUL_Y, s->transpose_b ? 1 : 2);
    if (s->k_varies)
        stage->arg[stage->n_args++] = optune_dim_arg(BATCH_MATMUL_X, s->transpose_a ? 1 : 2);
    if (rows && s->m_varies)
        stage->arg[stage->n_args++] = optune_dim_arg(BATCH_MATMUL_X, s->transpose_a ? 2 : 1);
}
