/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations of elementwise and broadcast ops share: the call as loops over the
 * output with a stride for each operand, and the macros of the expression. Rows only.
 */
#ifndef OPTUNE_KERNELS_BROADCAST_H
#define OPTUNE_KERNELS_BROADCAST_H

#include "kernels/host/pattern.h"

/* Tensors 0.. are the inputs, the last one is the output. Rank is at least 1. */
static inline pattern_loops broadcast_loops(const optune_call *call)
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

static inline bool broadcast_applies(const optune_task *task, char *why)
{
    if (!pattern_applies(task, why))
        return false;
    return task->call->n_inputs <= OPTUNE_MAX_OPERANDS ||
           optune_refuse(why, "has more than %d operands", OPTUNE_MAX_OPERANDS);
}

/* The expression and the types of its operands. */
static inline void broadcast_define(optune_plan *plan, int m, const optune_call *call)
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

#endif
