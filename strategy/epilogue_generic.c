/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fused behind a generic implementation: every operator of it is a call of its own, over
 * the finished output in place, so its own generic implementation plans it; its stage then gets
 * this call's tensors and dims. Dims of the output that the first operator computes have names of
 * their own there, and are handed over as they are at run time. Elements are read and written
 * by one item, so nothing is read late.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

/* An input's dim of this name; false: none has it. */
static bool find_dim(const optune_call *call, const char *name, optune_arg *arg)
{
    for (int i = 0; i < optune_call_inputs(call); i++)
        for (int d = 0; d < call->input[i].type.rank; d++)
            if (name[0] && strcmp(call->input[i].type.dim[d].name, name) == 0) {
                *arg = optune_dim_arg(i, d);
                return true;
            }
    return false;
}

optune_arg ot_output_dim_arg(const optune_call *call, int d)
{
    optune_arg arg;
    return find_dim(call, call->output[0].dim[d].name, &arg) ? arg
                                                             : optune_output_dim_arg(0, d);
}

enum { COMPUTED = '!' }; /* begins no name that a call can have */

/* Operator i behind the call, with names for all dims that are not constant. */
static void step_of(const optune_call *call, int i, optune_call *step)
{
    optune_arg arg;
    optune_call_step(call, i, step);
    const int chain = call->epilogue[i].chain;
    optune_tensor *in = &step->input[chain].type, *out = &step->output[0];
    for (int d = 0; d < in->rank; d++) {
        if (!optune_dim_known(&in->dim[d]) && !find_dim(call, in->dim[d].name, &arg))
            snprintf(in->dim[d].name, sizeof in->dim[d].name, "%c%d", COMPUTED, d);
        if (d < out->rank)
            out->dim[d] = in->dim[d];
    }
}

bool ot_generic_epilogue_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    for (int i = 0; i < call->n_epilogues; i++) {
        optune_call step;
        step_of(call, i, &step);
        const optune_task of = {&step, task->target, task->device};
        const optune_impl *impl = ot_generic_of(step.op);
        if (!impl)
            return optune_refuse(why, "'%s' has no generic implementation", step.op->name);
        if (!impl->applies(&of, why))
            return false;
    }
    return true;
}

/* An argument of an operator's own plan in terms of the whole call. */
static optune_arg translate(const optune_call *call, const optune_epilogue *e,
                            const optune_call *step, optune_arg arg)
{
    const int k = arg.kind == OPTUNE_ARG_DIM ? arg.index / OPTUNE_MAX_RANK : arg.index;
    const int d = arg.index % OPTUNE_MAX_RANK;
    if (arg.kind == OPTUNE_ARG_DIM && k == e->chain &&
        step->input[k].type.dim[d].name[0] == COMPUTED)
        arg = optune_output_dim_arg(0, d);
    else if (arg.kind == OPTUNE_ARG_DIM)
        find_dim(call, step->input[k].type.dim[d].name, &arg);
    else if (arg.kind == OPTUNE_ARG_INPUT)
        arg = k == e->chain ? optune_output_arg(0)
                            : optune_input_arg(e->extra + (k < e->chain ? k : k - 1));
    return arg;
}

/* A list of the operator's own plan as one of the whole call's. */
static optune_arg translate_dims(const optune_call *call, const optune_epilogue *e,
                                 const optune_call *step, const optune_plan *own,
                                 const optune_arg *dims, optune_plan *plan)
{
    optune_arg dim[OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK];
    const int n = (int)dims->value < OT_COUNT(dim) ? (int)dims->value : OT_COUNT(dim);
    for (int k = 0; k < n; k++)
        dim[k] = translate(call, e, step, ot_plan_dim(own, dims, k));
    return optune_dims_arg(optune_plan_dims(plan, dim, n), n);
}

static void add_step(const optune_task *task, int i, optune_plan *plan)
{
    optune_call step;
    step_of(task->call, i, &step);
    const optune_task of = {&step, task->target, task->device};
    const optune_config none = {0};
    optune_plan *own = ot_alloc(sizeof *own);
    own->impl = ot_generic_of(step.op);
    own->impl->plan(&of, &none, own);
    const int module = optune_plan_module(plan);
    const ot_module *computes = &own->module[0];
    for (int d = 0; d < computes->n_defines; d++)
        optune_plan_define_text(plan, module, ot_plan_text(own, computes->define[d].name),
                                ot_plan_text(own, computes->define[d].value));
    for (int f = 0; f < computes->n_flags; f++)
        optune_plan_flag(plan, module, computes->flag[f]);
    plan->module[module].closing = true;
    plan->module[module].first_extra = i;
    for (int s = 0; s < own->n_stages; s++) {
        optune_stage stage = own->stage[s];
        stage.module = module;
        for (int a = 0; a < stage.n_args; a++) {
            const optune_epilogue *e = &task->call->epilogue[i];
            const optune_arg arg = stage.arg[a];
            stage.arg[a] = arg.kind == OPTUNE_ARG_DIMS
                               ? translate_dims(task->call, e, &step, own, &arg, plan)
                               : translate(task->call, e, &step, arg);
        }
        optune_plan_stage(plan, &stage);
    }
    if (own->problem.status < 0 && plan->problem.status >= 0)
        plan->problem = own->problem;
    free(own);
}

void ot_generic_epilogue_close(const optune_task *task, optune_plan *plan)
{
    for (int i = 0; i < task->call->n_epilogues; i++)
        add_step(task, i, plan);
}
