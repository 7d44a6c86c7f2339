/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/elementwise/broadcast.h declares. */
#include "kernels/elementwise/broadcast.h"

pattern_loops broadcast_loops(const optune_call *call)
{
    const optune_tensor *out = &call->output[0];
    pattern_loops l = {.rank = out->rank, .tensors = call->n_inputs + 1};
    for (int d = 0; d < l.rank; d++)
        l.extent[d] = out->dim[d].min;
    for (int t = 0; t < l.tensors; t++) {
        const optune_tensor *type = t < call->n_inputs ? &call->input[t].type : out;
        int64_t step = 1;
        for (int d = l.rank - 1; d >= 0; d--) {
            const int k = d - (l.rank - type->rank);
            l.stride[t][d] = k < 0 || type->dim[k].min == 1 ? 0 : step;
            step *= k < 0 ? 1 : type->dim[k].min;
        }
    }
    pattern_loops_collapse(&l);
    if (l.rank == 0) {
        l.rank = 1;
        l.extent[0] = 1;
        for (int t = 0; t < l.tensors; t++)
            l.stride[t][0] = 1;
    }
    return l;
}

static bool same_dim(const optune_dim *a, const optune_dim *b)
{
    return optune_dim_known(a)
               ? optune_dim_known(b) && a->min == b->min
               : !optune_dim_known(b) && a->name[0] && !strcmp(a->name, b->name);
}

static bool is_one(const optune_dim *dim)
{
    return optune_dim_known(dim) && dim->min == 1;
}

/* Whether tensor t has dim d of the output; it is repeated over others, which *told says. */
static bool has_dim(const optune_call *call, int t, int d, bool *told)
{
    const optune_tensor *out = &call->output[0];
    const optune_tensor *type = t < call->n_inputs ? &call->input[t].type : out;
    const int k = d - (out->rank - type->rank);
    const bool same = k >= 0 && same_dim(&type->dim[k], &out->dim[d]);
    *told = same || k < 0 || is_one(&type->dim[k]);
    return same;
}

static broadcast_extent times_dim(broadcast_extent e, const optune_dim *dim, int d)
{
    if (optune_dim_known(dim))
        e.constant *= dim->min;
    else
        e.open |= 1u << d;
    return e;
}

static int64_t most_of(const optune_call *call, broadcast_extent e)
{
    int64_t n = e.constant;
    for (int d = 0; d < call->output[0].rank; d++)
        n *= e.open >> d & 1 ? host_dim_most(&call->output[0].dim[d]) : 1;
    return n;
}

/* Dims from the last one on, each with those behind it where all tensors go along both alike; the
 * loops are the innermost first. */
static bool join_dims(const optune_call *call, broadcast_open *open, char *why)
{
    const optune_tensor *out = &call->output[0];
    pattern_loops *l = &open->loops;
    broadcast_extent size[PATTERN_TENSORS]; /* of what is further in */
    unsigned last = 0;                      /* the tensors that have the loop */
    for (int t = 0; t < l->tensors; t++)
        size[t] = (broadcast_extent){1, 0};
    for (int d = out->rank - 1; d >= 0; d--) {
        unsigned has = 0;
        for (int t = 0; t < l->tensors; t++) {
            bool told;
            has |= (unsigned)has_dim(call, t, d, &told) << t;
            if (!told)
                return optune_refuse(why, "an operand may be broadcast or not");
        }
        if (is_one(&out->dim[d]))
            continue;
        if (l->rank == 0 || has != last) {
            for (int t = 0; t < l->tensors; t++)
                open->stride[t][l->rank] = has >> t & 1 ? size[t] : (broadcast_extent){0, 0};
            open->extent[l->rank++] = (broadcast_extent){1, 0};
        }
        last = has;
        open->extent[l->rank - 1] = times_dim(open->extent[l->rank - 1], &out->dim[d], d);
        for (int t = 0; t < l->tensors; t++)
            if (has >> t & 1)
                size[t] = times_dim(size[t], &out->dim[d], d);
        if (l->rank == 1)
            open->inner_from = d;
    }
    return true;
}

bool broadcast_open_of(const optune_call *call, broadcast_open *open, char *why)
{
    pattern_loops *l = &open->loops;
    *open = (broadcast_open){.loops = {.tensors = call->n_inputs + 1}};
    if (!host_lead_known(&call->output[0], call->output[0].rank))
        return optune_refuse(why, "needs dims that have an upper end");
    if (!join_dims(call, open, why))
        return false;
    for (int i = 0, j = l->rank - 1; i < j; i++, j--) {
        const broadcast_extent extent = open->extent[i];
        open->extent[i] = open->extent[j];
        open->extent[j] = extent;
        for (int t = 0; t < l->tensors; t++) {
            const broadcast_extent stride = open->stride[t][i];
            open->stride[t][i] = open->stride[t][j];
            open->stride[t][j] = stride;
        }
    }
    for (int i = 0; i < l->rank; i++) {
        l->extent[i] = most_of(call, open->extent[i]);
        for (int t = 0; t < l->tensors; t++)
            l->stride[t][i] = most_of(call, open->stride[t][i]);
    }
    return true;
}

void broadcast_open_args(const optune_call *call, optune_stage *stage)
{
    const optune_tensor *out = &call->output[0];
    for (int d = 0; d < out->rank; d++) {
        if (optune_dim_known(&out->dim[d]))
            continue;
        optune_arg arg = optune_output_dim_arg(0, d);
        for (int t = call->n_inputs - 1; t >= 0; t--) {
            bool told;
            if (has_dim(call, t, d, &told))
                arg = optune_dim_arg(t, d - (out->rank - call->input[t].type.rank));
        }
        stage->arg[stage->n_args++] = arg;
    }
}

void broadcast_open_define(optune_plan *plan, int m, const char *macro, const optune_call *call,
                           broadcast_extent extent, int first)
{
    const optune_tensor *out = &call->output[0];
    char text[32 * OPTUNE_MAX_RANK + 32];
    int at = snprintf(text, sizeof text, "((i64)%" PRId64, extent.constant);
    for (int d = 0; d < out->rank; d++) {
        if (extent.open >> d & 1)
            at += snprintf(text + at, sizeof text - (size_t)at, " * *(const i64 *)arg[%d]",
                           first);
        first += !optune_dim_known(&out->dim[d]);
    }
    snprintf(text + at, sizeof text - (size_t)at, ")");
    if (extent.open)
        optune_plan_define_text(plan, m, macro, text);
    else
        optune_plan_define(plan, m, macro, extent.constant);
}

bool broadcast_operands_fit(const optune_call *call, char *why)
{
    return call->n_inputs <= OPTUNE_MAX_OPERANDS ||
           optune_refuse(why, "has more than %d operands", OPTUNE_MAX_OPERANDS);
}

bool broadcast_applies(const optune_task *task, char *why)
{
    return pattern_applies(task, why) && broadcast_operands_fit(task->call, why);
}

void broadcast_define(optune_plan *plan, int m, const optune_call *call)
{
    char name[24];
    pattern_define_scalar(plan, m, call);
    pattern_define_output(plan, m, call);
    optune_plan_define_text(plan, m, "EXPRESSION", call->op->scalar->text);
    optune_plan_define(plan, m, "OPERANDS", call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        snprintf(name, sizeof(name), "X%d_T", i);
        optune_plan_define_text(plan, m, name, pattern_c_type(call->input[i].type.dtype));
        pattern_define_value(plan, m, call, i, pattern_c_type(call->input[i].type.dtype));
    }
}
