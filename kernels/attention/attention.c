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

/* What a mask has of a dim of scores: all of it, or one that is everybody's. */
static bool mask_fits(const optune_dim *mask, const optune_dim *full)
{
    if (optune_dim_known(mask))
        return mask->min == 1 || (optune_dim_known(full) && mask->min == full->min);
    return mask->name[0] && strcmp(mask->name, full->name) == 0;
}

static bool find_mask(const optune_call *call, attention_shape *s)
{
    const optune_dim *q = call->input[ATTENTION_Q].type.dim, *k = call->input[1].type.dim;
    const optune_dim *const full[] = {&q[0], &q[1], &q[2], &k[2]};
    int64_t stride = 1;
    for (int d = 3; d >= 0 && s->has_mask; d--) {
        const optune_dim *dim = &call->input[ATTENTION_MASK].type.dim[d];
        s->mask_stride[d] = dim->max == 1 && dim->min == 1 ? 0 : stride;
        stride *= attention_varies(s) ? 1 : dim->max;
        if (!mask_fits(dim, full[d]))
            return false;
    }
    return true;
}

bool attention_most_of(const optune_call *call, attention_shape *s)
{
    const optune_tensor *own = &call->input[ATTENTION_Q].type, *keys = &call->input[1].type;
    const optune_dim *q = own->dim, *k = keys->dim;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].type.rank != 4)
            return false;
    *s = (attention_shape){.b = q[0].max,
                           .hq = q[1].max,
                           .hkv = k[1].max,
                           .sq = q[2].max,
                           .skv = k[2].max,
                           .d = q[3].max,
                           .dv = call->input[ATTENTION_V].type.dim[3].max,
                           .causal = optune_call_int(call, "causal") != 0,
                           .zeros = optune_call_int(call, "nan") == 0,
                           .has_mask = call->n_inputs > ATTENTION_MASK,
                           .f64 = own->dtype.bits == 64,
                           .any_b = !optune_dim_known(&q[0]),
                           .any_sq = !optune_dim_known(&q[2]),
                           .any_skv = !optune_dim_known(&k[2]),
                           .scale = attention_scale(call)};
    const int64_t most = (int64_t)1 << 30;
    if (!optune_dim_known(&q[1]) || !optune_dim_known(&k[1]) || !optune_dim_known(&q[3]) ||
        !optune_dim_known(&call->input[ATTENTION_V].type.dim[3]) ||
        (attention_varies(s) && (s->b > most || s->hq > most || s->sq > most || s->skv > most)))
        return false;
    s->heads = s->b * s->hkv;
    s->rows = s->hkv > 0 ? s->hq / s->hkv * s->sq : 0;
    return find_mask(call, s);
}

bool attention_shape_of(const optune_call *call, attention_shape *s)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return false;
    return optune_tensor_known(&call->output[0]) && attention_most_of(call, s);
}

static bool computes(const optune_call *call, const attention_shape *s, char *why)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].type.dtype.lanes != 1)
            return optune_refuse(why, "needs elements of one lane");
    return (s->rows > 0 && s->heads > 0 && s->skv > 0 && s->d > 0 && s->dv > 0) ||
           optune_refuse(why, "needs dimensions of at least 1");
}

bool attention_applies(const optune_task *task, attention_shape *s, char *why)
{
    return attention_shape_of(task->call, s) ? computes(task->call, s, why)
                                             : optune_refuse(why, "needs constant shapes");
}

bool attention_most_applies(const optune_task *task, attention_shape *s, char *why)
{
    return attention_most_of(task->call, s)
               ? computes(task->call, s, why)
               : optune_refuse(why, "needs constant shapes but for batches, queries and keys, "
                                    "which have an end");
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

static void define_sizes(optune_plan *plan, int m, const attention_shape *s)
{
    const struct {
        const char *macro, *size; /* what it is, and what it is made of */
        int64_t value;
        bool varies;
    } dim[] = {{NULL, "BATCH", s->b, s->any_b},
               {"SQ", "QUERIES", s->sq, s->any_sq},
               {"SKV", "KEYS", s->skv, s->any_skv}};
    const bool varies = attention_varies(s);
    int n = 0;
    optune_plan_define(plan, m, "VARIES", varies);
    for (int i = 0; i < 3; i++) {
        char text[40];
        snprintf(text, sizeof text, "(*(const i64 *)arg[%d])", n);
        if (dim[i].varies)
            optune_plan_define_text(plan, m, dim[i].size, text);
        else if (varies)
            optune_plan_define(plan, m, dim[i].size, dim[i].value);
        if (dim[i].macro && dim[i].varies)
            optune_plan_define_text(plan, m, dim[i].macro, i == 1 ? "(z->sq)" : "(z->skv)");
        else if (dim[i].macro)
            optune_plan_define(plan, m, dim[i].macro, dim[i].value);
        n += dim[i].varies;
    }
    if (varies) {
        optune_plan_define_text(plan, m, "HEADS", "(z->heads)");
        optune_plan_define_text(plan, m, "ROWS", "(z->rows)");
    } else {
        optune_plan_define(plan, m, "HEADS", s->heads);
        optune_plan_define(plan, m, "ROWS", s->rows);
    }
}

void attention_dims(const attention_shape *s, optune_stage *stage)
{
    if (s->any_b)
        stage->arg[stage->n_args++] = optune_dim_arg(ATTENTION_Q, 0);
    if (s->any_sq)
        stage->arg[stage->n_args++] = optune_dim_arg(ATTENTION_Q, 2);
    if (s->any_skv)
        stage->arg[stage->n_args++] = optune_dim_arg(ATTENTION_K, 2);
}

/* How far apart a mask's elements are, from the last dim on: that times the dim is how far those of
 * the one in front are. */
static void define_mask(optune_plan *plan, int m, const attention_shape *s)
{
    static const char *const stride[] = {"MASK_B", "MASK_H", "MASK_Q", "MASK_K"};
    static const char *const behind[] = {"(GROUP * HKV * MASK_IN_H)", "(SQ * MASK_IN_Q)",
                                         "(SKV * MASK_IN_K)", "1"};
    static const char *const in[] = {"MASK_IN_B", "MASK_IN_H", "MASK_IN_Q", "MASK_IN_K"};
    for (int d = 0; d < 4 && !attention_varies(s); d++)
        optune_plan_define(plan, m, stride[d], s->mask_stride[d]);
    for (int d = 0; d < 4 && attention_varies(s); d++) {
        const bool own = s->mask_stride[d] != 0;
        const bool next = d < 3 && s->mask_stride[d + 1] != 0;
        optune_plan_define_text(plan, m, stride[d], own ? in[d] : "0");
        optune_plan_define_text(plan, m, in[d], next ? behind[d] : d < 3 ? in[d + 1] : "1");
    }
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
                            dtype.bits != 16                    ? ""
                            : dtype.code == OPTUNE_DTYPE_BFLOAT ? "bfloat_of_float"
                                                                : "half_of_float");
    optune_plan_define(plan, m, "NARROW", dtype.bits == 16);
    optune_plan_define_text(plan, m, "SCALE", scale);
    optune_plan_define(plan, m, "HKV", s->hkv);
    optune_plan_define(plan, m, "GROUP", s->hq / s->hkv);
    define_sizes(plan, m, s);
    optune_plan_define(plan, m, "D", s->d);
    optune_plan_define(plan, m, "DV", s->dv);
    optune_plan_define(plan, m, "CAUSAL", s->causal);
    optune_plan_define(plan, m, "ZEROS", s->zeros);
    optune_plan_define(plan, m, "MASKED", s->has_mask);
    if (s->has_mask) {
        const optune_dtype mask = call->input[ATTENTION_MASK].type.dtype;
        define_type(plan, m, "MASK_T", "MASK_OF", mask);
        optune_plan_define(plan, m, "MASK_KEEPS", mask.code == OPTUNE_DTYPE_BOOL);
        define_mask(plan, m, s);
    }
}
