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

/* 1: dims [from, to) of the output are all the operand's, too; 0: it has none of them, or 1; -1:
 * neither. */
static int has_dims(const optune_tensor *type, const optune_tensor *out, int from, int to)
{
    bool all = true, none = true;
    for (int d = from; d < to; d++) {
        const int k = d - (out->rank - type->rank);
        all = all && k >= 0 && same_dim(&type->dim[k], &out->dim[d]);
        none = none && (k < 0 || is_one(&type->dim[k]));
    }
    return all ? 1 : none ? 0 : -1;
}

static void flatten(const optune_call *call, broadcast_lead *lead)
{
    pattern_loops *l = &lead->loops;
    const optune_tensor *out = &call->output[0];
    *l = (pattern_loops){.rank = 1, .tensors = call->n_inputs + 1, .extent = {1}};
    for (int d = 0; d < out->rank; d++)
        l->extent[0] *= host_dim_most(&out->dim[d]);
    for (int t = 0; t < call->n_inputs; t++)
        l->stride[t][0] = has_dims(&call->input[t].type, out, 0, out->rank) == 1;
    l->stride[call->n_inputs][0] = 1;
}

/* The loops of what is behind the leading dims, and these in front of them. */
static void prepend(const optune_call *call, broadcast_lead *lead)
{
    optune_call inner = *call;
    pattern_loops *l = &lead->loops;
    const int gone = lead->dims;
    int64_t size[PATTERN_TENSORS];
    for (int t = 0; t <= call->n_inputs; t++) {
        optune_tensor *type = t < call->n_inputs ? &inner.input[t].type : &inner.output[0];
        const int cut = t < call->n_inputs ? gone - (call->output[0].rank - type->rank) : gone;
        const int drop = cut > 0 ? cut : 0;
        memmove(type->dim, type->dim + drop, sizeof type->dim[0] * (size_t)(type->rank - drop));
        type->rank -= drop;
        size[t] = 1;
        for (int d = 0; d < type->rank; d++)
            size[t] *= type->dim[d].min;
    }
    *l = broadcast_loops(&inner);
    for (int d = l->rank; d > 0; d--) {
        l->extent[d] = l->extent[d - 1];
        for (int t = 0; t < l->tensors; t++)
            l->stride[t][d] = l->stride[t][d - 1];
    }
    l->rank++;
    l->extent[0] = 1;
    for (int d = 0; d < gone; d++)
        l->extent[0] *= host_dim_most(&call->output[0].dim[d]);
    for (int t = 0; t < l->tensors; t++)
        l->stride[t][0] = t == call->n_inputs ||
                                  has_dims(&call->input[t].type, &call->output[0], 0, gone) == 1
                              ? size[t]
                              : 0;
}

bool broadcast_lead_of(const optune_call *call, broadcast_lead *lead, char *why)
{
    const optune_tensor *out = &call->output[0];
    *lead = (broadcast_lead){.dims = out->rank, .input = -1, .inside = 1, .flat = true};
    while (lead->dims > 0 && optune_dim_known(&out->dim[lead->dims - 1]))
        lead->inside *= out->dim[--lead->dims].min;
    if (!lead->dims) {
        lead->loops = broadcast_loops(call);
        return true;
    }
    for (int t = 0; t < call->n_inputs; t++) {
        const optune_tensor *type = &call->input[t].type;
        const int has = has_dims(type, out, 0, lead->dims);
        const int behind = has_dims(type, out, lead->dims, out->rank);
        for (int d = lead->dims; d < out->rank; d++) {
            const int k = d - (out->rank - type->rank);
            if (k >= 0 && !optune_dim_known(&type->dim[k])) /* 1, or what the output has */
                return optune_refuse(why, "an operand may be broadcast or not");
        }
        if (has < 0)
            return optune_refuse(why,
                                 "an operand has only some of the dims that are known at run "
                                 "time");
        if (has == 1 && type->rank == out->rank)
            lead->input = t;
        lead->flat =
            lead->flat && (has_dims(type, out, 0, out->rank) >= 0 || (has && behind == 1));
    }
    if (lead->input < 0 || !host_lead_known(out, lead->dims))
        return optune_refuse(why, "no operand has all the dims that are known at run time");
    if (!lead->flat && lead->dims == out->rank)
        return optune_refuse(why, "there is no row of a constant length");
    if (lead->flat)
        flatten(call, lead);
    else
        prepend(call, lead);
    return lead->loops.rank <= OPTUNE_MAX_RANK;
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
