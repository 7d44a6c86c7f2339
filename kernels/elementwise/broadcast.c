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

bool broadcast_applies(const optune_task *task, char *why)
{
    if (!pattern_applies(task, why))
        return false;
    return task->call->n_inputs <= OPTUNE_MAX_OPERANDS ||
           optune_refuse(why, "has more than %d operands", OPTUNE_MAX_OPERANDS);
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
