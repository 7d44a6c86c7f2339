/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/attention/attention.h declares. */
#include "kernels/attention/attention.h"

double attention_scale(const optune_call *call)
{
    const double scale = optune_call_attr(call, "scale")->f;
    const optune_tensor *q = &call->input[ATTENTION_Q].type;
    const double d = q->rank == 4 && optune_dim_known(&q->dim[3]) ? (double)q->dim[3].min : 1;
    return scale != 0 ? scale : 1 / sqrt(d > 0 ? d : 1);
}

bool attention_shape_of(const optune_call *call, attention_shape *s)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return false;
    const optune_dim *q = call->input[ATTENTION_Q].type.dim, *k = call->input[1].type.dim;
    *s = (attention_shape){.b = q[0].min,
                           .hq = q[1].min,
                           .hkv = k[1].min,
                           .sq = q[2].min,
                           .skv = k[2].min,
                           .d = q[3].min,
                           .dv = call->input[ATTENTION_V].type.dim[3].min,
                           .causal = optune_call_int(call, "causal") != 0,
                           .zeros = optune_call_int(call, "nan") == 0,
                           .has_mask = call->n_inputs > ATTENTION_MASK,
                           .f64 = call->input[ATTENTION_Q].type.dtype.bits == 64,
                           .scale = attention_scale(call)};
    s->heads = s->b * s->hkv;
    s->rows = s->hkv > 0 ? s->hq / s->hkv * s->sq : 0;
    int64_t stride = 1;
    for (int d = 3; d >= 0 && s->has_mask; d--) {
        const int64_t n = call->input[ATTENTION_MASK].type.dim[d].min;
        s->mask_stride[d] = n == 1 ? 0 : stride;
        stride *= n;
    }
    return optune_tensor_known(&call->output[0]);
}

bool attention_applies(const optune_task *task, attention_shape *s, char *why)
{
    const optune_call *call = task->call;
    if (!attention_shape_of(call, s))
        return optune_refuse(why, "needs constant shapes");
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].type.dtype.lanes != 1)
            return optune_refuse(why, "needs elements of one lane");
    return (s->rows > 0 && s->heads > 0 && s->skv > 0 && s->d > 0 && s->dv > 0) ||
           optune_refuse(why, "needs dimensions of at least 1");
}

/* How an element of this type is stored, and the function that makes it a number. */
static void define_type(optune_plan *plan, int m, const char *type, const char *of,
                        optune_dtype dtype)
{
    const bool half = dtype.bits == 16, brain = dtype.code == OPTUNE_DTYPE_BFLOAT;
    optune_plan_define_text(plan, m, type,
                            dtype.code == OPTUNE_DTYPE_BOOL ? "unsigned char"
                            : half                          ? "unsigned short"
                            : dtype.bits == 64              ? "double"
                                                            : "float");
    optune_plan_define_text(plan, m, of,
                            !half   ? ""
                            : brain ? "float_of_bfloat"
                                    : "float_of_half");
}

void attention_define(optune_plan *plan, int m, const optune_task *task,
                      const attention_shape *s)
{
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[ATTENTION_Q].type.dtype;
    char scale[40];
    snprintf(scale, sizeof scale, "((DTYPE)%.17g)", s->scale);
    optune_plan_define_text(plan, m, "DTYPE", s->f64 ? "double" : "float");
    define_type(plan, m, "IN_T", "IN_OF", dtype);
    optune_plan_define_text(plan, m, "OUT_TO",
                            dtype.bits != 16                          ? ""
                            : dtype.code == OPTUNE_DTYPE_BFLOAT ? "bfloat_of_float"
                                                                      : "half_of_float");
    optune_plan_define(plan, m, "NARROW", dtype.bits == 16);
    optune_plan_define_text(plan, m, "SCALE", scale);
    optune_plan_define(plan, m, "HEADS", s->heads);
    optune_plan_define(plan, m, "HKV", s->hkv);
    optune_plan_define(plan, m, "GROUP", s->hq / s->hkv);
    optune_plan_define(plan, m, "ROWS", s->rows);
    optune_plan_define(plan, m, "SQ", s->sq);
    optune_plan_define(plan, m, "SKV", s->skv);
    optune_plan_define(plan, m, "D", s->d);
    optune_plan_define(plan, m, "DV", s->dv);
    optune_plan_define(plan, m, "CAUSAL", s->causal);
    optune_plan_define(plan, m, "ZEROS", s->zeros);
    optune_plan_define(plan, m, "MASKED", s->has_mask);
    if (s->has_mask) {
        const optune_dtype mask = call->input[ATTENTION_MASK].type.dtype;
        define_type(plan, m, "MASK_T", "MASK_OF", mask);
        optune_plan_define(plan, m, "MASK_KEEPS", mask.code == OPTUNE_DTYPE_BOOL);
        optune_plan_define(plan, m, "MASK_B", s->mask_stride[0]);
        optune_plan_define(plan, m, "MASK_H", s->mask_stride[1]);
        optune_plan_define(plan, m, "MASK_Q", s->mask_stride[2]);
        optune_plan_define(plan, m, "MASK_K", s->mask_stride[3]);
    }
}
