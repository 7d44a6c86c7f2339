/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selected workloads in the calling process: the target's own hooks, as the worker uses them,
 * over buffers that others own. Nothing is verified or measured here: what is selected was.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/graph.h"

int ot_machine_open(optune *o, ot_machine *m, optune_err *err)
{
    *m = (ot_machine){.o = o};
    int status = ot_context_device(o, err);
    if (status < 0)
        return status;
    if (*o->device_key)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "computing needs this machine: --device is for asking about others");
    char cache[4096 + 64];
    ot_context_cache(o, cache, sizeof cache);
    const ot_build_options build = {
        .target = &o->target, .device = &o->device, .row = o->row, .cache_dir = cache};
    status = ot_builder_open(&build, &m->builder, err);
    if (status < 0)
        return status;
    m->row = &o->row->worker;
    m->target = o->target;
    m->device = o->device;
    m->state = ot_alloc(m->row->state_size + 16);
    status = m->row->open(m->state, &o->target, &o->device, err);
    if (status < 0) {
        free(m->state);
        m->state = NULL;
        ot_machine_close(m);
    }
    return status;
}

void ot_machine_close(ot_machine *m)
{
    if (m->state)
        ot_shared_release(&m->scratch, m->row, m->state);
    if (m->state && m->row->close)
        m->row->close(m->state);
    free(m->state);
    ot_builder_close(m->builder);
    ot_calls_release(&m->calls);
    *m = (ot_machine){0};
}

/* A session of it over a call that outlives it, at the largest sizes that this may have. */
static int sit(ot_kernel *k, ot_machine *m, const optune_call *call, optune_err *err)
{
    ot_session *s = ot_alloc_sparse(sizeof *s);
    k->machine = m;
    k->session = s;
    s->row = m->row;
    s->state = m->state;
    s->shared = &m->scratch;
    s->task = k->task = (optune_task){call, &m->target, &m->device};
    if (ot_call_static(call))
        return OPTUNE_OK;
    k->range = call;
    k->sized = ot_alloc(sizeof *k->sized);
    s->task.call = k->sized;
    ot_call_copy(k->sized, call);
    return ot_call_widen(k->sized, err);
}

int ot_kernel_take(ot_machine *m, const optune_call *call, const optune_impl *impl,
                   const optune_config *config, ot_kernel *k, optune_err *err)
{
    optune_config *own = ot_alloc(sizeof *own);
    *k = (ot_kernel){.impl = impl, .config = own, .taken = own};
    k->job = ot_alloc_sparse(sizeof *k->job);
    ot_config_copy(own, config);
    int status = sit(k, m, call, err);
    optune_plan *plan = ot_alloc(sizeof *plan);
    if (status >= 0)
        status = ot_plan_make(&k->task, impl, config, plan, err);
    for (int i = 0; i < plan->n_scratch && status >= 0; i++)
        k->scratch += plan->scratch[i].bytes;
    for (int i = 0; i < plan->n_scratch && status >= 0; i++)
        k->kept += plan->scratch[i].constant ? ot_scratch_bytes(plan, i) : 0;
    if (status >= 0)
        ot_shared_want(&m->scratch, plan);
    if (status >= 0)
        status = ot_builder_submit(m->builder, &k->task, plan, k->job, err);
    free(plan);
    return status;
}

int ot_kernel_choose(ot_machine *m, const optune_call *call, const char *const *policies,
                     ot_kernel *k, optune_err *err)
{
    const ot_answer *answer;
    int status = ot_answer_call_at(m->o, call, policies, &answer, err);
    if (status < 0)
        return status;
    optune_config config;
    const ot_choice choice = ot_answer_choice(answer, &config);
    status = ot_kernel_take(m, call, choice.row[choice.winner].candidate.impl, choice.config, k,
                            err);
    ot_answer_drop(answer);
    return status;
}

int ot_kernel_load(ot_kernel *k, optune_err *err)
{
    while (!k->job->done)
        ot_builder_wait(k->machine->builder, k->job, 60);
    if (k->job->status < 0)
        return optune_fail(err, k->job->status, "cannot compile '%s': %.600s", k->impl->name,
                           k->job->message);
    if (k->job->outcome != OPTUNE_OUTCOME_OK)
        return optune_fail(err, OPTUNE_ETOOL, "'%s' does not compile: %.600s", k->impl->name,
                           k->job->message);
    ot_built built = ot_built_of(k->job, k->impl, k->config);
    built.range = k->range;
    int outcome;
    int status = ot_loaded_open(k->session, &built, &k->loaded, &outcome, err);
    if (status >= 0)
        status = ot_bound_open(k->session, k->loaded, OT_ALIGNED, &k->bound, err);
    free(k->job);
    k->job = NULL;
    return status < 0 ? status : ot_bound_prepack(k->bound, err);
}

void ot_kernel_like(ot_machine *m, const ot_kernel *like, ot_kernel *k)
{
    *k = (ot_kernel){.impl = like->impl,
                     .config = like->config,
                     .scratch = like->scratch,
                     .kept = like->kept};
    sit(k, m, like->task.call, NULL);           /* as it could be of that one */
    if (m == like->machine || k->impl->library) /* a clone uses what was packed */
        m->scratch.kept_wanted += like->kept;
}

int ot_kernel_load_like(ot_kernel *k, const ot_kernel *like, bool same_constants,
                        optune_err *err)
{
    ot_session *s = k->session;
    ot_loaded *loaded = like->bound->loaded;
    if (k->range) {
        k->own = ot_loaded_like(loaded);
        loaded = k->own;
    }
    s->packed = same_constants && !k->impl->library ? like->bound : NULL;
    const int status = ot_bound_open(s, loaded, OT_ALIGNED, &k->bound, err);
    return status < 0 || s->packed ? status : ot_bound_prepack(k->bound, err);
}

static bool packs(const optune_plan *plan, int input)
{
    bool does = false;
    for (int i = 0; i < plan->n_stages; i++)
        for (int a = 0; a < plan->stage[i].n_args && plan->stage[i].phase == OPTUNE_PREPACK;
             a++)
            does = does || (plan->stage[i].arg[a].kind == OPTUNE_ARG_INPUT &&
                            plan->stage[i].arg[a].index == input);
    return does;
}

bool ot_groups_pack_alike(const optune_partition *p, const optune_plan *plan, int a, int b)
{
    const ot_group *one = &p->groups.group[a], *other = &p->groups.group[b];
    bool same = plan->n_maps == 0;
    for (int k = 0; k < one->n_in && same; k++)
        same = !packs(plan, k) || (one->in[k].node == other->in[k].node &&
                                   one->in[k].output == other->in[k].output);
    return same;
}

int ot_kernel_resize(ot_kernel *k, const optune_call *sized, optune_err *err)
{
    if (!k->sized)
        k->session->task.call = k->sized = ot_alloc(sizeof *k->sized);
    ot_call_copy(k->sized, sized);
    k->nothing = true;
    for (int o = 0; o < sized->n_outputs; o++)
        k->nothing = k->nothing && optune_tensor_elements(&sized->output[o]) == 0;
    return ot_bound_resize(k->bound, err);
}

int ot_kernel_run(ot_kernel *k, optune_err *err)
{
    if (k->nothing)
        return OPTUNE_OK;
    return k->machine->row->run(k->machine->state, k->bound->launch[OPTUNE_TIMED],
                                k->bound->n[OPTUNE_TIMED], err);
}

void ot_kernel_release(ot_kernel *k)
{
    ot_bound_close(k->bound);
    if (k->loaded)
        ot_loaded_close(k->session, k->loaded);
    if (k->job && !k->job->done && k->job->work)
        ot_builder_forget(k->machine->builder, k->job);
    free(k->job);
    free(k->taken);
    free(k->sized);
    free(k->own);
    free(k->session);
    *k = (ot_kernel){0};
}
