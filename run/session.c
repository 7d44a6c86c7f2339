/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload in the worker: its inputs and outputs twice over (guarded for verifying,
 * aligned for timing), made once; and a candidate: plan, modules, and its stages bound to
 * one of the two. Nothing here judges or measures.
 *
 * The one idea: every process that handles a config makes the plan again from the config's
 * text, so no plan ever crosses the socket.
 */
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"

int ot_session_open(ot_session *s, const optune_target *target, const optune_device *device,
                    optune_err *err)
{
    *s = (ot_session){.target = *target, .device = *device};
    const optune_target_row *row = ot_target_find(target->kind);
    if (!row)
        return optune_fail(err, OPTUNE_ENOENT, "no target '%s' in the worker", target->kind);
    s->row = &row->worker;
    s->state = ot_alloc(s->row->state_size + 16);
    s->task = (optune_task){.call = &s->call, .target = &s->target, .device = &s->device};
    return s->row->open(s->state, &s->target, &s->device, err);
}

/* ---- buffers ----------------------------------------------------------------------------- */

static void name_zone(const ot_session *s, void *buffer, int64_t bytes, const char *name)
{
    const char *start = s->row->address ? s->row->address(s->state, buffer) : NULL;
    if (start)
        ot_crash_zone_add(start, bytes, name);
}

/* Where there is no room, what is stocked is less than what a candidate needs. */
static int alloc(ot_session *s, int64_t bytes, bool guarded, void **buffer, optune_err *err)
{
    int status = s->row->alloc(s->state, bytes, guarded, buffer, err);
    if (status < 0 && ot_stock_yield(s))
        status = s->row->alloc(s->state, bytes, guarded, buffer, err);
    return status;
}

static int open_buffer(ot_session *s, int kind, int64_t bytes, const char *what, int index,
                       void **buffer, optune_err *err)
{
    char name[OPTUNE_NAME_SIZE];
    const int status = alloc(s, bytes, kind == OT_GUARDED, buffer, err);
    if (status < 0) {
        *buffer = NULL;
        return status;
    }
    snprintf(name, sizeof name, "%s %d", what, index);
    if (kind == OT_GUARDED)
        name_zone(s, *buffer, bytes, name);
    return OPTUNE_OK;
}

static void close_buffer(ot_session *s, void **buffer)
{
    if (!*buffer)
        return;
    if (s->row->address)
        ot_crash_zone_remove(s->row->address(s->state, *buffer));
    s->row->free(s->state, *buffer);
    *buffer = NULL;
}

void ot_session_drop(ot_session *s, int kind)
{
    for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
        close_buffer(s, &s->in[kind][i]);
    for (int i = 0; i < OPTUNE_MAX_OUTPUTS; i++)
        close_buffer(s, &s->out[kind][i]);
}

int ot_session_buffers(ot_session *s, int kind, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < optune_call_inputs(&s->call) && status >= 0; i++)
        if (!s->in[kind][i])
            status = open_buffer(s, kind, s->in_bytes[i], "input", i, &s->in[kind][i], err);
    for (int i = 0; i < s->call.n_outputs && status >= 0; i++)
        if (!s->out[kind][i])
            status = open_buffer(s, kind, s->out_bytes[i], "output", i, &s->out[kind][i], err);
    return status;
}

int ot_session_fill(ot_session *s, int kind, optune_err *err)
{
    int status = ot_session_buffers(s, kind, err);
    for (int i = 0; i < optune_call_inputs(&s->call) && status >= 0; i++) {
        ot_fill_call_input(&s->call, s->seed, i, s->host);
        status = ot_session_put(s, kind, i, s->host, err);
    }
    return status;
}

int ot_session_renew(ot_session *s, optune_err *err)
{
    ot_session_drop(s, OT_GUARDED);
    return ot_session_fill(s, OT_GUARDED, err);
}

void ot_session_forget(ot_session *s)
{
    if (s->row && s->state) {
        ot_session_drop(s, OT_GUARDED);
        ot_session_drop(s, OT_ALIGNED);
        ot_stock_drop(s);
    }
    ot_reference_close(&s->reference);
    free(s->host);
    s->host = NULL;
    s->ready = false;
}

void ot_session_close(ot_session *s)
{
    ot_session_forget(s);
    if (s->row && s->state)
        ot_same_close(s);
    if (s->row && s->state && s->row->close)
        s->row->close(s->state);
    free(s->state);
    *s = (ot_session){0};
}

/* ---- the workload ------------------------------------------------------------------------ */

int ot_session_shape(ot_session *s, const char *text, optune_err *err)
{
    ot_session_forget(s);
    const int status = ot_call_parse(text, &s->call, err);
    if (status < 0)
        return status;
    if (!ot_call_static(&s->call))
        return optune_fail(err, OPTUNE_ETYPE,
                           "only calls with constant shapes can be measured: '%s'", text);
    int64_t most = 0;
    for (int i = 0; i < optune_call_inputs(&s->call); i++) {
        s->in_bytes[i] = optune_tensor_bytes(&s->call.input[i].type);
        most = s->in_bytes[i] > most ? s->in_bytes[i] : most;
    }
    for (int i = 0; i < s->call.n_outputs; i++) {
        s->out_bytes[i] = optune_tensor_bytes(&s->call.output[i]);
        most = s->out_bytes[i] > most ? s->out_bytes[i] : most;
    }
    s->host = calloc(1, (size_t)most + 64);
    if (!s->host)
        return optune_fail(err, OPTUNE_ENOMEM, "no memory for a tensor of %lld bytes",
                           (long long)most);
    s->ready = true;
    return OPTUNE_OK;
}

/* ---- a candidate ------------------------------------------------------------------------- */

ot_built ot_built_of(const ot_job *job, const optune_impl *impl, const optune_config *config)
{
    ot_built built = {.impl = impl, .config = config, .n_modules = job->n_modules};
    for (int i = 0; i < job->n_modules; i++)
        built.module[i] = job->module[i];
    return built;
}

int ot_loaded_open(ot_session *s, const ot_built *built, ot_loaded **loaded, int *outcome,
                   optune_err *err)
{
    /* The plan is made for the whole range, as its modules were, and run at the workload's
     * sizes. */
    const optune_task task = {.call = built->range ? built->range : s->task.call,
                              .target = s->task.target,
                              .device = s->task.device};
    ot_loaded *l = ot_alloc_sparse(sizeof *l);
    *outcome = OPTUNE_OUTCOME_INSTANTIATION;
    l->impl = built->impl;
    ot_config_copy(&l->config, built->config);
    optune_plan *plan = ot_alloc_raw(sizeof *plan); /* making one touches all of it */
    int status = ot_plan_make(&task, l->impl, &l->config, plan, err);
    if (status >= 0)
        ot_plan_copy(&l->plan, plan);
    free(plan);
    if (status >= 0 && l->plan.n_modules != built->n_modules)
        status = optune_fail(err, OPTUNE_EUSAGE, "the plan has %d modules, %d were built",
                             l->plan.n_modules, built->n_modules);
    for (int i = 0; status >= 0 && i < l->plan.n_modules; i++) {
        *outcome = OPTUNE_OUTCOME_RUNTIME;
        status = s->row->load(s->state, built->module[i], &l->module[i], err);
        if (status < 0 && ot_stock_yield(s))
            status = s->row->load(s->state, built->module[i], &l->module[i], err);
    }
    if (status < 0) {
        ot_loaded_close(s, l);
        return status;
    }
    *outcome = OPTUNE_OUTCOME_OK;
    *loaded = l;
    return OPTUNE_OK;
}

void ot_loaded_close(ot_session *s, ot_loaded *loaded)
{
    for (int i = 0; i < OPTUNE_MAX_MODULES; i++)
        if (loaded->module[i])
            s->row->unload(s->state, loaded->module[i]);
    free(loaded);
}

ot_loaded *ot_loaded_like(const ot_loaded *from)
{
    ot_loaded *l = ot_alloc_sparse(sizeof *l);
    l->impl = from->impl;
    ot_config_copy(&l->config, &from->config);
    ot_plan_copy(&l->plan, &from->plan);
    memcpy(l->module, from->module, sizeof l->module);
    return l;
}

static int64_t dim_at(const optune_call *call, const optune_arg *arg)
{
    return ot_call_arg_dim(call, arg)->min; /* the plan was checked */
}

/* The sizes at hand, where stages find those of a list. */
static int write_dims(const ot_bound *b, int list, optune_err *err)
{
    const ot_session *s = b->session;
    const optune_plan *plan = &b->loaded->plan;
    const optune_arg dims = optune_dims_arg(list, plan->list[list].n);
    int64_t size[OT_PLAN_DIMS];
    for (int k = 0; k < dims.value; k++) {
        const optune_arg dim = ot_plan_dim(plan, &dims, k);
        size[k] = dim_at(s->task.call, &dim);
    }
    const int status =
        s->row->write(s->state, b->dims[list], size, dims.value * (int64_t)sizeof *size);
    return status < 0 ? optune_fail(err, OPTUNE_EIO, "cannot write the sizes of dims") : status;
}

/* The address or handle that an argument of a stage stands for. */
static int resolve(ot_bound *b, optune_arg *arg, void **to, optune_err *err)
{
    const ot_session *s = b->session;
    optune_tensor_map *map;
    switch (arg->kind) {
    case OPTUNE_ARG_INPUT: /* one left out is NULL */
        *to = arg->index < optune_call_inputs(s->task.call) ? s->in[b->kind][arg->index] : NULL;
        return OPTUNE_OK;
    case OPTUNE_ARG_OUTPUT:
        *to = s->out[b->kind][arg->index];
        return OPTUNE_OK;
    case OPTUNE_ARG_SCRATCH:
        *to = b->scratch[arg->index];
        return OPTUNE_OK;
    case OPTUNE_ARG_DIMS:
        *to = b->dims[arg->index];
        return OPTUNE_OK;
    case OPTUNE_ARG_INT:
        *to = &arg->value;
        return OPTUNE_OK;
    case OPTUNE_ARG_FLOAT:
        *to = &arg->real;
        return OPTUNE_OK;
    case OPTUNE_ARG_SYMBOL:
        *to = b->loaded->impl->library
                  ? s->row->library(s->state, b->loaded->impl->library, arg->symbol, err)
                  : NULL;
        if (!*to && !b->loaded->impl->library)
            return optune_fail(err, OPTUNE_EUSAGE, "'%s' asks for '%s' but names no library",
                               b->loaded->impl->name, arg->symbol);
        return *to || arg->value ? OPTUNE_OK : OPTUNE_ENODEV;
    case OPTUNE_ARG_DIM:
        /* Several threads share the plan of a call of constants, where it is there already. */
        if (arg->value != dim_at(s->task.call, arg))
            arg->value = dim_at(s->task.call, arg);
        *to = &arg->value;
        return OPTUNE_OK;
    case OPTUNE_ARG_FUNCTION:
        *to = s->row->symbol(s->state, b->loaded->module[arg->index], arg->symbol);
        return *to ? OPTUNE_OK
                   : optune_fail(err, OPTUNE_ENOENT, "the module has no function '%s'",
                                 arg->symbol);
    case OPTUNE_ARG_TENSOR_MAP:
        map = &b->map[arg->index];
        *map = b->loaded->plan.map[arg->index];
        *to = map;
        return resolve(b, &map->tensor, &map->buffer, err);
    }
    return OPTUNE_OK;
}

static bool has_scratch(const ot_bound *b, const void *buffer)
{
    for (int i = 0; i < b->loaded->plan.n_scratch; i++)
        if (b->scratch[i] == buffer)
            return true;
    return false;
}

void ot_shared_want(ot_shared *shared, const optune_plan *plan)
{
    int64_t size[OPTUNE_MAX_SCRATCH];
    int n = 0;
    for (int i = 0; i < plan->n_scratch; i++) {
        if (plan->scratch[i].constant) {
            shared->kept_wanted += ot_scratch_bytes(plan, i);
            continue;
        }
        int k = n++; /* the largest first */
        for (; k > 0 && size[k - 1] < ot_scratch_bytes(plan, i); k--)
            size[k] = size[k - 1];
        size[k] = ot_scratch_bytes(plan, i);
    }
    for (int k = 0; k < n; k++)
        if (size[k] > shared->wanted[k])
            shared->wanted[k] = size[k];
    shared->n_wanted = n > shared->n_wanted ? n : shared->n_wanted;
}

/* How large a new one is: the smallest that somebody will want and that is large enough. */
static int64_t size_of_new(const ot_shared *shared, int64_t needed)
{
    int64_t bytes = needed;
    for (int k = 0; k < shared->n_wanted; k++) {
        bool there = false;
        for (int i = 0; i < shared->n; i++)
            there = there || shared->bytes[i] == shared->wanted[k];
        if (!there && shared->wanted[k] >= needed)
            bytes = shared->wanted[k];
    }
    return bytes;
}

/* The smallest shared buffer that is large enough and not yet this candidate's, or a new one. */
static int share(ot_bound *b, ot_shared *shared, int i, optune_err *err)
{
    ot_session *s = b->session;
    const int64_t needed = ot_scratch_bytes(&b->loaded->plan, i);
    int best = -1;
    for (int k = 0; k < shared->n; k++)
        if (shared->bytes[k] >= needed && !has_scratch(b, shared->buffer[k]) &&
            (best < 0 || shared->bytes[k] < shared->bytes[best]))
            best = k;
    if (best >= 0) {
        b->scratch[i] = shared->buffer[best];
        return OPTUNE_OK;
    }
    if (shared->n == OT_MOST_SHARED)
        return alloc(s, needed, false, &b->scratch[i], err);
    const int64_t bytes = size_of_new(shared, needed);
    void **buffer = &shared->buffer[shared->n];
    const int status = alloc(s, bytes, false, buffer, err);
    if (status < 0)
        return status;
    shared->bytes[shared->n++] = bytes;
    b->scratch[i] = *buffer;
    return OPTUNE_OK;
}

static bool is_shared(const ot_shared *shared, const void *buffer)
{
    for (int k = 0; shared && k < shared->n; k++)
        if (shared->buffer[k] == buffer)
            return true;
    return false;
}

void ot_shared_release(ot_shared *shared, const optune_target_worker *row, void *state)
{
    for (int k = 0; k < shared->n; k++)
        row->free(state, shared->buffer[k]);
    if (shared->kept)
        row->free(state, shared->kept);
    *shared = (ot_shared){0};
}

/* A part of what is kept; 1: there is no room, or such memory has no parts. */
static int keep(ot_bound *b, int i, optune_err *err)
{
    ot_session *s = b->session;
    ot_shared *shared = s->shared;
    const int64_t bytes = ot_scratch_bytes(&b->loaded->plan, i);
    if (!s->row->address || !s->row->alias)
        return 1;
    if (!shared->kept && shared->kept_wanted >= bytes) {
        if (alloc(s, shared->kept_wanted, false, &shared->kept, NULL) < 0) {
            shared->kept = NULL; /* each by itself, then: equal ones may need less together */
            shared->kept_wanted = 0;
            return 1;
        }
        shared->kept_bytes = shared->kept_wanted;
    }
    if (shared->kept_bytes - shared->kept_used < bytes)
        return 1;
    char *start = s->row->address(s->state, shared->kept);
    if (s->row->alias(s->state, &b->scratch[i], start + shared->kept_used) < 0)
        return optune_fail(err, OPTUNE_ENOMEM, "no part of a buffer");
    shared->kept_used += bytes;
    return OPTUNE_OK;
}

static int open_scratch(ot_bound *b, int i, optune_err *err)
{
    ot_session *s = b->session;
    const optune_plan *plan = &b->loaded->plan;
    if (s->shared && !plan->scratch[i].constant)
        return share(b, s->shared, i, err);
    if (s->packed && plan->scratch[i].constant) {
        b->scratch[i] = s->packed->scratch[i];
        return OPTUNE_OK;
    }
    int status = s->shared ? keep(b, i, err) : 1;
    if (status <= 0)
        return status;
    const int64_t bytes = ot_scratch_bytes(&b->loaded->plan, i);
    status = alloc(s, bytes, b->kind == OT_GUARDED, &b->scratch[i], err);
    if (status >= 0 && b->kind == OT_GUARDED)
        name_zone(s, b->scratch[i], bytes, plan->scratch[i].name);
    return status;
}

static int open_dims(ot_bound *b, int list, optune_err *err)
{
    ot_session *s = b->session;
    const int64_t bytes = b->loaded->plan.list[list].n * (int64_t)sizeof(int64_t);
    OT_RETURN_UNLESS_OK(alloc(s, bytes, b->kind == OT_GUARDED, &b->dims[list], err));
    if (b->kind == OT_GUARDED)
        name_zone(s, b->dims[list], bytes, "dims");
    return write_dims(b, list, err);
}

/* Whose launches a stage is among. */
static optune_phase phase_of(const optune_stage *stage)
{
    return stage->phase == OPTUNE_RESTORE ? OPTUNE_TIMED : stage->phase;
}

/* A launch has room for as many arguments as any can have, and a plan for many stages. */
static void make_launches(ot_bound *b)
{
    const optune_plan *plan = &b->loaded->plan;
    int n[3] = {0};
    for (int i = 0; i < plan->n_stages; i++)
        n[phase_of(&plan->stage[i])]++;
    optune_launch *all = ot_alloc((size_t)(plan->n_stages + 1) * sizeof *all);
    for (int k = 0; k < 3; all += n[k++])
        b->launch[k] = all;
}

static int bind(ot_bound *b, optune_err *err)
{
    ot_session *s = b->session;
    optune_plan *plan = &b->loaded->plan;
    make_launches(b);
    for (int i = 0; i < plan->n_scratch; i++) {
        const int status = open_scratch(b, i, err);
        if (status < 0)
            return status;
    }
    for (int i = 0; i < plan->n_lists; i++)
        OT_RETURN_UNLESS_OK(open_dims(b, i, err));
    for (int i = 0; i < 2 * plan->n_stages; i++) {
        optune_stage *stage = &plan->stage[i % plan->n_stages];
        const bool restores = stage->phase == OPTUNE_RESTORE;
        const optune_phase phase = phase_of(stage);
        if (restores != (i < plan->n_stages))
            continue;
        optune_launch *launch = &b->launch[phase][b->n[phase]++];
        b->n_restoring += restores;
        launch->stage = stage;
        launch->function =
            s->row->symbol(s->state, b->loaded->module[stage->module], stage->function);
        if (!launch->function)
            return optune_fail(err, OPTUNE_ENOENT, "the module has no function '%s'",
                               stage->function);
        for (int k = 0; k < stage->n_args; k++) {
            const int status = resolve(b, &stage->arg[k], &launch->arg[k], err);
            if (status < 0)
                return status;
        }
    }
    return OPTUNE_OK;
}

int ot_bound_open(ot_session *s, ot_loaded *loaded, int kind, ot_bound **bound, optune_err *err)
{
    ot_bound *b = ot_alloc(sizeof *b);
    b->session = s;
    b->loaded = loaded;
    b->kind = kind;
    const int status = bind(b, err);
    if (status < 0) {
        ot_bound_close(b);
        return status;
    }
    *bound = b;
    return OPTUNE_OK;
}

optune_launch ot_launch_of(ot_function function, void *arg)
{
    static const optune_stage stage = {.n_args = 1, .arg = {{.kind = OPTUNE_ARG_INT}}};
    optune_launch launch = {.stage = &stage, .arg = {arg}};
    memcpy(&launch.function, &function, sizeof launch.function);
    return launch;
}

int ot_bound_prepack(ot_bound *b, optune_err *err)
{
    b->prepacked = true;
    return b->session->row->run(b->session->state, b->launch[OPTUNE_PREPACK],
                                b->n[OPTUNE_PREPACK], err);
}

int ot_bound_resize(ot_bound *b, optune_err *err)
{
    optune_plan *plan = &b->loaded->plan;
    for (int i = 0; i < plan->n_stages; i++)
        for (int k = 0; k < plan->stage[i].n_args; k++) {
            optune_arg *arg = &plan->stage[i].arg[k];
            if (arg->kind == OPTUNE_ARG_DIM)
                arg->value = dim_at(b->session->task.call, arg);
        }
    for (int i = 0; i < plan->n_lists; i++)
        OT_RETURN_UNLESS_OK(write_dims(b, i, err));
    return OPTUNE_OK;
}

void ot_bound_close(ot_bound *b)
{
    if (!b)
        return;
    ot_session *s = b->session;
    if (b->prepacked)
        s->row->run(s->state, b->launch[OPTUNE_TEARDOWN], b->n[OPTUNE_TEARDOWN], NULL);
    for (int i = 0; i < b->loaded->plan.n_scratch; i++)
        if (b->scratch[i] && !is_shared(s->shared, b->scratch[i]) &&
            !(s->packed && s->packed->scratch[i] == b->scratch[i]))
            close_buffer(s, &b->scratch[i]);
    for (int i = 0; i < b->loaded->plan.n_lists; i++)
        close_buffer(s, &b->dims[i]);
    free(b->launch[0]);
    free(b);
}
