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
    *m = (ot_machine){0};
}

int ot_kernel_take(ot_machine *m, const optune_call *call, const optune_impl *impl,
                   const optune_config *config, ot_kernel *k, optune_err *err)
{
    *k = (ot_kernel){.machine = m, .impl = impl};
    ot_config_copy(&k->config, config);
    k->session = (ot_session){.row = m->row,
                              .state = m->state,
                              .target = m->o->target,
                              .device = m->o->device,
                              .call = *call,
                              .shared = &m->scratch};
    k->session.task = (optune_task){&k->session.call, &k->session.target, &k->session.device};
    k->task = k->session.task;
    int status = OPTUNE_OK;
    if (!ot_call_static(call)) {
        k->range = ot_alloc(sizeof *k->range);
        *k->range = *call;
        k->task.call = k->range;
        status = ot_call_widen(&k->session.call, err);
    }
    optune_plan *plan = ot_alloc(sizeof *plan);
    if (status >= 0)
        status = ot_plan_make(&k->task, impl, config, plan, err);
    for (int i = 0; i < plan->n_scratch && status >= 0; i++)
        k->scratch += plan->scratch[i].bytes;
    if (status >= 0)
        ot_shared_want(&m->scratch, plan);
    if (status >= 0)
        status = ot_builder_submit(m->builder, &k->task, plan, &k->job, err);
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
    const ot_choice *choice = &answer->choice;
    status = ot_kernel_take(m, call, choice->row[choice->winner].candidate.impl, choice->config,
                            k, err);
    ot_answer_drop(answer);
    return status;
}

int ot_kernel_load(ot_kernel *k, optune_err *err)
{
    while (!k->job.done)
        ot_builder_wait(k->machine->builder, &k->job, 60);
    if (k->job.status < 0)
        return optune_fail(err, k->job.status, "cannot compile '%s': %.600s", k->impl->name,
                           k->job.message);
    if (k->job.outcome != OPTUNE_OUTCOME_OK)
        return optune_fail(err, OPTUNE_ETOOL, "'%s' does not compile: %.600s", k->impl->name,
                           k->job.message);
    ot_built built = ot_built_of(&k->job, k->impl, &k->config);
    built.range = k->range;
    int outcome;
    int status = ot_loaded_open(&k->session, &built, &k->loaded, &outcome, err);
    if (status >= 0)
        status = ot_bound_open(&k->session, k->loaded, OT_ALIGNED, &k->bound, err);
    return status < 0 ? status : ot_bound_prepack(k->bound, err);
}

void ot_kernel_like(ot_machine *m, const ot_kernel *like, ot_kernel *k)
{
    k->machine = m;
    k->impl = like->impl;
    ot_config_copy(&k->config, &like->config);
    k->scratch = like->scratch;
    ot_session *s = &k->session;
    s->row = like->session.row;
    s->state = like->session.state;
    s->target = like->session.target;
    s->device = like->session.device;
    /* A large network has hundreds of kernels, and most of a call's room is unused. */
    ot_call_copy(&s->call, like->range ? like->range : &like->session.call);
    s->shared = &m->scratch;
    s->task = (optune_task){&s->call, &s->target, &s->device};
    k->task = s->task;
    if (like->range) {
        k->range = ot_alloc(sizeof *k->range);
        *k->range = *like->range;
        k->task.call = k->range;
        ot_call_widen(&s->call, NULL); /* as it could be of that one */
    }
}

int ot_kernel_load_like(ot_kernel *k, const ot_kernel *like, bool same_constants,
                        optune_err *err)
{
    ot_session *s = &k->session;
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
    k->session.call = *sized;
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
        ot_loaded_close(&k->session, k->loaded);
    if (k->machine && !k->job.done && k->job.work)
        ot_builder_forget(k->machine->builder, &k->job);
    free(k->range);
    free(k->own);
    k->range = NULL;
    k->own = NULL;
    k->bound = NULL;
    k->loaded = NULL;
}
