/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records go out as a log, oldest first, with a line for every device they were measured on, so
 * that another database can answer for it. Failures are facts and are exported, too. What is best
 * is not decided here: each question is asked as a selection would ask it (answer/facts.c).
 */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/record.h"

typedef struct item {
    char *line;
    double time;
} item;

/* A question that some record answers, in full. */
typedef struct question {
    const char *device, *target, *call, *policy;
} question;

typedef struct exporting {
    optune *o;
    const optune_export_options *options;
    optune_target target; /* what options->target says */
    const char *policy;
    ot_arena arena; /* the questions' texts */
    question *question;
    uint64_t *known; /* digests of questions, open addressing; 0: empty */
    size_t n_known, known_capacity;
    json_t *taken; /* by config, for the forms of others; NULL: a log is wanted */
    item *item;
    int n, capacity, n_questions, question_capacity;
    int left_out; /* questions that cannot be asked here, records that cannot be written */
    char why[OPTUNE_ERR_SIZE];
    optune *view; /* the handle, as if opened for the question at hand */
    const char *view_target, *view_device;
    int view_status;
    optune_err view_err;
} exporting;

/* ---- conditions -------------------------------------------------------------------------- */

static bool target_holds(const exporting *e, const char *text)
{
    const optune_target *want = &e->target;
    optune_target is;
    if (!e->options->target && !e->options->threads)
        return true;
    if (ot_target_parse(text, &is, NULL) < 0)
        return false;
    const int threads = e->options->threads ? e->options->threads : want->threads;
    if (threads && threads != is.threads)
        return false;
    return !e->options->target ||
           (!strcmp(want->kind, is.kind) && (!*want->arch || !strcmp(want->arch, is.arch)) &&
            (!*want->model || !strcmp(want->model, is.model)) &&
            (!*want->cflags || !strcmp(want->cflags, is.cflags)));
}

/* The policy of a plan over a range says the size behind its word: "warm m=128". */
static bool policy_holds(const exporting *e, const char *policy)
{
    policy = policy ? policy : "warm";
    const size_t n = strcspn(policy, " ");
    return !e->policy || (strlen(e->policy) == n && !strncmp(policy, e->policy, n));
}

static bool holds(const exporting *e, const optune_record *r)
{
    const optune_export_options *o = e->options;
    return r->impl && (!o->op || (r->op && !strcmp(o->op, r->op))) &&
           (!o->impl || !strcmp(o->impl, r->impl)) &&
           (!o->device || !strcmp(o->device, r->device)) && policy_holds(e, r->policy) &&
           target_holds(e, r->target) && (!o->tvm || ot_record_for_tvm(r));
}

/* ---- all --------------------------------------------------------------------------------- */

static void leave_out(exporting *e, const char *why)
{
    if (!e->left_out++)
        snprintf(e->why, sizeof e->why, "%s", why);
}

static void add_line(exporting *e, const optune_record *record)
{
    char why[OPTUNE_WHY_SIZE];
    if (!ot_record_sound(record, why)) {
        leave_out(e, why); /* an older version's: its line could not be read back */
        return;
    }
    if (e->taken) {
        ot_tuner_take(e->taken, record);
        e->n = (int)json_object_size(e->taken);
        return;
    }
    ot_text line = {0};
    ot_arena arena = {0};
    optune_record *own = ot_alloc(sizeof *own);
    ot_record_copy(own, record);
    own->task = ot_task_for_tvm(e->o->store, record, &arena);
    ot_record_line(own, &line);
    e->item = ot_room(e->item, e->n, &e->capacity, sizeof *e->item);
    e->item[e->n++] = (item){line.s, record->time};
    ot_arena_release(&arena);
    free(own);
}

static int collect(void *arg, const optune_record *record)
{
    exporting *e = arg;
    if (holds(e, record))
        add_line(e, record);
    return ot_context_stopped(e->o) ? OPTUNE_EINTERRUPTED : 0;
}

/* ---- the best ---------------------------------------------------------------------------- */

/* False: it was there. */
static bool remember(exporting *e, uint64_t digest)
{
    if (2 * e->n_known >= e->known_capacity) {
        const size_t before = e->known_capacity;
        uint64_t *old = e->known;
        e->known_capacity = before ? 2 * before : 1024;
        e->known = ot_alloc(e->known_capacity * sizeof *e->known);
        e->n_known = 0;
        for (size_t i = 0; i < before; i++)
            if (old[i])
                remember(e, old[i]);
        free(old);
    }
    size_t at = digest % e->known_capacity;
    for (; e->known[at]; at = (at + 1) % e->known_capacity)
        if (e->known[at] == digest)
            return false;
    e->known[at] = digest;
    e->n_known++;
    return true;
}

static int collect_question(void *arg, const optune_record *r)
{
    exporting *e = arg;
    const ot_question asked = {r->device, r->target, r->call, r->policy};
    const ot_digest digest = ot_question_digest(&asked);
    uint64_t short_digest;
    memcpy(&short_digest, digest.byte, sizeof short_digest);
    /* What failed, and hints of other programs, are no answers. */
    if (r->outcome == OPTUNE_OUTCOME_OK && r->digest && *r->digest && holds(e, r) &&
        remember(e, short_digest | 1)) {
        e->question =
            ot_room(e->question, e->n_questions, &e->question_capacity, sizeof *e->question);
        e->question[e->n_questions++] =
            (question){ot_arena_copy(&e->arena, r->device), ot_arena_copy(&e->arena, r->target),
                       ot_arena_copy(&e->arena, r->call),
                       ot_arena_copy(&e->arena, r->policy ? r->policy : "warm")};
    }
    return ot_context_stopped(e->o) ? OPTUNE_EINTERRUPTED : 0;
}

static int by_view(const void *a, const void *b)
{
    const question *x = a, *y = b;
    const int device = strcmp(x->device, y->device);
    return device ? device : strcmp(x->target, y->target);
}

/* Whether the target's device here is the one of the question: then its records are judged
 * against what is installed here. A handle for a stored device never looks. */
static bool is_here(exporting *e, const question *q)
{
    optune *v = e->view;
    return !*e->o->device_key && ot_target_probe(&v->target, &v->device, NULL) >= 0 &&
           !strcmp(v->device.key, q->device);
}

static int look(exporting *e, const question *q, optune_err *err)
{
    optune *v = e->view;
    v->target = e->o->target;
    int status = ot_target_parse(q->target, &v->target, err);
    if (status < 0)
        return status;
    if (!strcmp(v->target.kind, e->o->target.kind)) {
        v->target.n_libs = e->o->target.n_libs;
        memcpy(v->target.lib, e->o->target.lib, sizeof v->target.lib);
        v->target.n_keys = e->o->target.n_keys;
        memcpy(v->target.key, e->o->target.key, sizeof v->target.key);
    }
    v->row = ot_target_find(v->target.kind);
    v->device_key[0] = 0;
    v->have_device = true;
    const optune_target asked = v->target;
    if (is_here(e, q))
        return OPTUNE_OK;
    v->target = asked;
    status = ot_context_stored(e->o, q->device, &v->device, err);
    if (status < 0)
        return status;
    ot_copy(v->device_key, sizeof v->device_key, q->device);
    ot_context_settle(v);
    return OPTUNE_OK;
}

static void ask(exporting *e, const question *q)
{
    optune_err err = {0};
    if (!e->view_target || strcmp(e->view_target, q->target) ||
        strcmp(e->view_device, q->device)) {
        e->view_target = q->target;
        e->view_device = q->device;
        e->view_status = look(e, q, &e->view_err);
    }
    if (e->view_status < 0) {
        leave_out(e, e->view_err.text);
        return;
    }
    ot_arena arena = {0};
    optune_call *call = ot_alloc(sizeof *call);
    ot_choice *choice = ot_alloc(sizeof *choice);
    const optune_task task = {call, &e->view->target, &e->view->device};
    ot_fact *fact = NULL;
    int n = 0, kept = 0;
    int status = ot_call_parse(q->call, call, &err);
    if (status >= 0)
        status = ot_context_facts_at(e->view, &task, q->policy, &arena, &fact, &n, &err);
    for (int i = 0; i < n && status >= 0; i++)
        if (holds(e, &fact[i].record))
            fact[kept++] = fact[i];
    if (status >= 0)
        status = ot_select(&task, fact, kept, choice, &err);
    if (status < 0)
        leave_out(e, err.text);
    else if (ot_choice_measured(choice))
        add_line(e, &choice->row[choice->winner].fact->record);
    ot_choice_free(choice);
    free(call);
    ot_arena_release(&arena);
}

static int add_best(exporting *e, optune_err *err)
{
    int status = ot_store_walk(e->o->store, collect_question, e, err);
    if (e->n_questions)
        qsort(e->question, (size_t)e->n_questions, sizeof *e->question, by_view);
    e->view = ot_alloc(sizeof *e->view);
    memcpy(e->view, e->o, sizeof *e->view); /* lock and store are the handle's */
    for (int i = 0; i < e->n_questions && status >= 0; i++) {
        ask(e, &e->question[i]);
        status = ot_context_stopped(e->o) ? OPTUNE_EINTERRUPTED : status;
    }
    free(e->view);
    return status;
}

/* ---- a log ------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return strcmp(x->line, y->line);
}

static int add_devices(optune *o, const char *only, ot_text *to, optune_err *err)
{
    ot_arena arena = {0};
    optune_device *device;
    int n = 0;
    const int status = ot_store_devices(o->store, &arena, &device, &n, err);
    for (int i = 0; i < n && status >= 0; i++)
        if (!only || !strcmp(only, device[i].key))
            ot_device_line(&device[i], to);
    ot_arena_release(&arena);
    return status;
}

static int write_log(exporting *e, ot_text *log, optune_err *err)
{
    OT_RETURN_UNLESS_OK(add_devices(e->o, e->options->device, log, err));
    if (e->n)
        qsort(e->item, (size_t)e->n, sizeof *e->item, by_time);
    for (int i = 0; i < e->n; i++)
        ot_text_add(log, e->item[i].line);
    return OPTUNE_OK;
}

static optune_result *written(const exporting *e, ot_text *log)
{
    const char *path = e->options->path;
    json_t *json = json_pack("{s:i, s:s?, s:i, s:s?}", "records", e->n, "file", path,
                             "left_out", e->left_out, "why", e->left_out ? e->why : NULL);
    if (path) {
        ot_text_clear(log);
        ot_text_printf(log, "%d records written to %s\n", e->n, path);
        if (e->left_out)
            ot_text_printf(log, "%d left out, as they cannot be judged here: %s\n", e->left_out,
                           e->why);
    }
    optune_result *result = ot_result_new(log->s, json);
    log->s = NULL;
    return result;
}

static int check(exporting *e, optune_err *err)
{
    const optune_export_options *o = e->options;
    const optune_op *op;
    const optune_impl *impl;
    optune_device device;
    int status = o->op ? ot_op_get(o->op, &op, err) : OPTUNE_OK;
    if (status >= 0 && o->format && !ot_tuner_format(o->format))
        status = ot_no_such(err, "form of records", o->format,
                            (const char *const[]){"t4", "kernel-tuner"}, 2);
    if (status >= 0 && o->impl)
        status = ot_impl_get(o->impl, &impl, err);
    if (status >= 0 && o->target)
        status = ot_target_parse(o->target, &e->target, err);
    if (status >= 0)
        status = ot_context_store(e->o, OT_STORE_READ, err);
    if (status >= 0)
        status = ot_context_own(e->o, err); /* what others hold is not this one's to give */
    if (status >= 0 && o->device)
        status = ot_store_device(e->o->store, o->device, &device, err);
    return status;
}

int optune_export_records(optune *o, const optune_export_options *options,
                          optune_result **result, optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"handle", o}, {"options", options}, {"result", result}));
    *result = NULL;
    optune_export_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_export_options, options, &own));
    options = &own;
    ot_text log = {0};
    exporting *e = ot_alloc(sizeof *e);
    e->o = o;
    e->options = options;
    e->policy = options->policy ? options->policy : options->tvm ? "warm" : NULL;
    e->taken = options->format ? json_object() : NULL;
    int status = check(e, err);
    if (status >= 0)
        status = options->best ? add_best(e, err) : ot_store_walk(o->store, collect, e, err);
    if (status == OPTUNE_EINTERRUPTED)
        optune_fail(err, status, "interrupted");
    if (status >= 0)
        status = e->taken ? ot_tuner_write(e->taken, options->format, &log, err)
                          : write_log(e, &log, err);
    if (status >= 0 && options->path)
        status = ot_write_file(options->path, ot_text_str(&log), log.n, err);
    if (status >= 0)
        *result = written(e, &log);
    for (int i = 0; i < e->n && !e->taken; i++)
        free(e->item[i].line);
    json_decref(e->taken);
    free(e->item);
    free(e->question);
    free(e->known);
    ot_arena_release(&e->arena);
    free(e);
    ot_text_release(&log);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this export that was asked to end */
    return status;
}

int optune_export(optune *o, const char *op, bool best, const char *path,
                  optune_result **result, optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"handle", o}, {"result", result}));
    const optune_export_options options = {
        .size = sizeof options, .op = op, .best = best, .path = path};
    return optune_export_records(o, &options, result, err);
}
