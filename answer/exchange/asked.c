/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one idea: what is best is not decided here. Each question is asked as a selection would ask
 * it (answer/facts.c), through a view of the handle that has the question's device and target.
 */
#include "answer/exchange/asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/record.h"

/* ---- conditions -------------------------------------------------------------------------- */

static bool target_holds(const ot_asking *a, const char *text)
{
    const optune_target *want = &a->target;
    optune_target is;
    if (!a->options->target && !a->options->threads)
        return true;
    if (ot_target_parse(text, &is, NULL) < 0)
        return false;
    const int threads = a->options->threads ? a->options->threads : want->threads;
    if (threads && threads != is.threads)
        return false;
    return !a->options->target ||
           (!strcmp(want->kind, is.kind) && (!*want->arch || !strcmp(want->arch, is.arch)) &&
            (!*want->model || !strcmp(want->model, is.model)) &&
            (!*want->cflags || !strcmp(want->cflags, is.cflags)));
}

/* The policy of a plan over a range says the size behind its word: "warm m=128". */
static bool policy_holds(const ot_asking *a, const char *policy)
{
    policy = policy ? policy : "warm";
    const size_t n = strcspn(policy, " ");
    return !a->policy || (strlen(a->policy) == n && !strncmp(policy, a->policy, n));
}

static bool holds(const ot_asking *a, const optune_record *r)
{
    const optune_export_options *o = a->options;
    return r->impl &&
           (a->call ? !strcmp(a->call, r->call) : !o->op || (r->op && !strcmp(o->op, r->op))) &&
           (!o->impl || !strcmp(o->impl, r->impl)) &&
           (!o->device || !strcmp(o->device, r->device)) && policy_holds(a, r->policy) &&
           target_holds(a, r->target) && (!o->tvm || ot_record_for_tvm(r));
}

static bool compiles(const ot_asking *a, const optune_record *r, char *why)
{
    return !a->options->tvm || ot_tvm_compiles(r, why);
}

bool ot_asking_takes(ot_asking *a, const optune_record *r)
{
    if (!holds(a, r))
        return false;
    const bool good = compiles(a, r, a->too_long ? NULL : a->why);
    a->too_long += !good;
    return good;
}

/* ---- what is asked ----------------------------------------------------------------------- */

static void grow(ot_asking *a)
{
    a->n_slots = a->n_slots ? 2 * a->n_slots : 1024;
    free(a->slot);
    a->slot = ot_alloc((size_t)a->n_slots * sizeof *a->slot);
    for (int i = 0; i < a->n; i++) {
        uint64_t at = a->asked[i].digest % (uint64_t)a->n_slots;
        while (a->slot[at])
            at = (at + 1) % (uint64_t)a->n_slots;
        a->slot[at] = i + 1;
    }
}

/* The question of a record, new where it is the first of it. */
static ot_asked *question_of(ot_asking *a, const optune_record *r)
{
    const ot_question question = {
        .device = r->device, .target = r->target, .call = r->call, .policy = r->policy};
    const ot_digest full = ot_question_digest(&question);
    uint64_t digest;
    memcpy(&digest, full.byte, sizeof digest);
    if (2 * a->n >= a->n_slots)
        grow(a);
    uint64_t at = digest % (uint64_t)a->n_slots;
    for (; a->slot[at]; at = (at + 1) % (uint64_t)a->n_slots)
        if (a->asked[a->slot[at] - 1].digest == digest)
            return &a->asked[a->slot[at] - 1];
    a->asked = ot_room(a->asked, a->n, &a->capacity, sizeof *a->asked);
    a->asked[a->n] = (ot_asked){
        .device = ot_arena_copy(&a->arena, r->device),
        .target = ot_arena_copy(&a->arena, r->target),
        .call = ot_arena_copy(&a->arena, r->call),
        .policy = ot_arena_copy(&a->arena, r->policy ? r->policy : "warm"),
        .digest = digest,
    };
    a->slot[at] = ++a->n;
    return &a->asked[a->n - 1];
}

static int collect(void *arg, const optune_record *r)
{
    ot_asking *a = arg;
    if (ot_asking_takes(a, r)) {
        ot_asked *asked = question_of(a, r);
        const bool hint = !r->digest || !*r->digest;
        asked->hints += hint;
        asked->measured += !hint && r->outcome == OPTUNE_OUTCOME_OK;
        asked->failed += !hint && r->outcome != OPTUNE_OUTCOME_OK;
        asked->time = r->time > asked->time ? r->time : asked->time;
    }
    return ot_context_stopped(a->o) ? OPTUNE_EINTERRUPTED : 0;
}

/* One view after the other; within one by policy, then by the calls' text. */
static int by_view(const void *x, const void *y)
{
    const ot_asked *a = x, *b = y;
    int order = strcmp(a->device, b->device);
    order = order ? order : strcmp(a->target, b->target);
    order = order ? order : strcmp(a->policy, b->policy);
    return order ? order : strcmp(a->call, b->call);
}

int ot_asking_collect(ot_asking *a, optune_err *err)
{
    const int status = ot_store_walk(a->store, collect, a, err);
    if (a->n)
        qsort(a->asked, (size_t)a->n, sizeof *a->asked, by_view);
    return status;
}

/* ---- asking ------------------------------------------------------------------------------ */

/* Whether the target's device here is the one of the question: then its records are judged
 * against what is installed here. A handle for a stored device never looks. */
static bool is_here(ot_asking *a, const ot_asked *q)
{
    optune *v = a->view;
    return !*a->o->device_key && ot_target_probe(&v->target, &v->device, NULL) >= 0 &&
           !strcmp(v->device.key, q->device);
}

static int look(ot_asking *a, const ot_asked *q, optune_err *err)
{
    optune *v = a->view;
    v->target = a->o->target;
    int status = ot_target_parse(q->target, &v->target, err);
    if (status < 0)
        return status;
    if (!strcmp(v->target.kind, a->o->target.kind)) {
        v->target.n_libs = a->o->target.n_libs;
        memcpy(v->target.lib, a->o->target.lib, sizeof v->target.lib);
        v->target.n_keys = a->o->target.n_keys;
        memcpy(v->target.key, a->o->target.key, sizeof v->target.key);
    }
    v->row = ot_target_find(v->target.kind);
    v->device_key[0] = 0;
    v->have_device = true;
    const optune_target asked = v->target;
    if (is_here(a, q))
        return OPTUNE_OK;
    v->target = asked;
    status = ot_context_stored(a->o, q->device, &v->device, err);
    if (status < 0)
        return status;
    ot_copy(v->device_key, sizeof v->device_key, q->device);
    ot_context_settle(v);
    return OPTUNE_OK;
}

int ot_asking_select(ot_asking *a, const ot_asked *q, ot_arena *arena, optune_call *call,
                     ot_choice *choice, optune_err *err)
{
    if (!a->view) {
        a->view = ot_alloc(sizeof *a->view);
        memcpy(a->view, a->o, sizeof *a->view); /* lock and stores are the handle's */
    }
    if (!a->view_target || strcmp(a->view_target, q->target) ||
        strcmp(a->view_device, q->device)) {
        a->view_target = q->target;
        a->view_device = q->device;
        a->view_status = look(a, q, &a->view_err);
    }
    if (a->view_status < 0) {
        *err = a->view_err;
        return a->view_status;
    }
    const optune_task task = {call, &a->view->target, &a->view->device};
    ot_fact *fact = NULL;
    int n = 0, kept = 0;
    int status = ot_call_parse(q->call, call, err);
    if (status >= 0)
        status = ot_context_facts_at(a->view, &task, q->policy, arena, &fact, &n, err);
    for (int i = 0; i < n && status >= 0; i++)
        if (holds(a, &fact[i].record) && compiles(a, &fact[i].record, NULL))
            fact[kept++] = fact[i];
    return status < 0 ? status : ot_select(&task, fact, kept, choice, err);
}

/* Of an operator by its name, or of one workload, as records have its text. */
static int read_op(ot_asking *a, const char *text, optune_err *err)
{
    const optune_op *op;
    if (!strchr(text, '('))
        return ot_op_get(text, &op, err);
    optune_call *call = ot_alloc(sizeof *call);
    const int status = ot_call_parse(text, call, err);
    if (status >= 0) {
        ot_text print = {0};
        ot_call_print(call, &print);
        a->call = print.s;
    }
    free(call);
    return status;
}

/* ---- begin, end -------------------------------------------------------------------------- */

int ot_asking_begin(ot_asking *a, optune *o, const optune_export_options *options,
                    optune_err *err)
{
    const optune_impl *impl;
    optune_device device;
    *a = (ot_asking){.o = o, .options = options, .turn = ot_context_enter(o)};
    a->policy = options->policy ? options->policy : options->tvm ? "warm" : NULL;
    int status = options->op ? read_op(a, options->op, err) : OPTUNE_OK;
    if (status >= 0 && options->impl)
        status = ot_impl_get(options->impl, &impl, err);
    if (status >= 0 && options->target)
        status = ot_target_parse(options->target, &a->target, err);
    if (status >= 0)
        status = ot_context_reader(o, &a->store, NULL, err);
    if (status >= 0 && options->device)
        status = ot_store_device(a->store, options->device, &device, err);
    return status;
}

void ot_asking_end(ot_asking *a)
{
    if (!a->o)
        return;
    ot_context_leave(a->o, a->turn);
    free(a->call);
    free(a->view);
    free(a->asked);
    free(a->slot);
    ot_arena_release(&a->arena);
}
