/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored winners measured once more. Nothing is written but what finals write: a newer measurement,
 * which counts from then on, or a failure, which refutes; both make history of the older record
 * (answer/facts.c), and selection follows by itself.
 *
 * The one idea: who is selected after that has an old figure, too, and old figures must not win by
 * being of a faster day. So it is asked again who is best, until that is somebody measured here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "tuner/tune.h"

#define DEFAULT_SECONDS 150.0
static const double MEASURE_S = 3; /* sampling one winner, at most */
static const double DAY_S = 86400;
enum { ROUNDS = 16 }; /* configs of one workload */

/* A question that has an answer, or only had one. */
typedef struct stored {
    optune_call *call;
    const char *text;
    double time; /* of its winner's measurement */
    uint64_t lot;
    bool stale;
} stored;

typedef struct verifying {
    ot_run run;
    optune_run_options run_options;
    const optune_verify_options *options;
    ot_arena arena;
    ot_question asked; /* its call is each item's */
    const char **call; /* texts of what is stored, then its items */
    int n_calls, call_capacity;
    stored *item;
    int n, younger, left_out;
    json_t *list;
    ot_text text;
    int count[8], wrong; /* by status */
} verifying;

enum status { HOLDS, MOVED, WRONG, UNBUILT, STALE, UNMEASURED };
static const char *const status_name[] = {"holds",          "moved", "wrong",
                                          "does not build", "stale", "not measured"};

/* ---- who there is ------------------------------------------------------------------------ */

static int collect(void *arg, const optune_record *r)
{
    verifying *v = arg;
    if (ot_context_stopped(v->run.o))
        return OPTUNE_EINTERRUPTED;
    if (r->outcome != OPTUNE_OUTCOME_OK || !r->digest || !*r->digest ||
        strcmp(r->device, v->asked.device) || strcmp(r->target, v->asked.target) ||
        strcmp(r->policy ? r->policy : ot_policy_warm.name, v->asked.policy))
        return 0;
    v->call = ot_room(v->call, v->n_calls, &v->call_capacity, sizeof *v->call);
    v->call[v->n_calls++] = ot_arena_copy(&v->arena, r->call);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool wanted(const char *const *what, const stored *one)
{
    for (int i = 0; what && what[i]; i++)
        if (!strcmp(what[i], one->text) || !strcmp(what[i], one->call->op->name))
            return true;
    return !what || !what[0];
}

/* Words as they are stored: names of operators, canonical workloads. */
static int canonical(verifying *v, const char *const **what, optune_err *err)
{
    const char *const *given = v->options->what;
    int n = 0;
    while (given && given[n])
        n++;
    const char **own = ot_arena_alloc(&v->arena, (size_t)(n + 1) * sizeof *own);
    optune_call *call = ot_alloc(sizeof *call);
    int status = OPTUNE_OK;
    for (int i = 0; i < n && status >= 0; i++) {
        const optune_op *op;
        ot_text text = {0};
        if (strchr(given[i], '(')) {
            status = ot_call_parse(given[i], call, err);
            if (status >= 0)
                ot_call_print(call, &text);
        } else {
            status = ot_op_get(given[i], &op, err);
            ot_text_add(&text, given[i]);
        }
        own[i] = ot_arena_copy(&v->arena, ot_text_str(&text));
        ot_text_release(&text);
    }
    own[n] = NULL;
    *what = own;
    free(call);
    return status;
}

typedef struct asked {
    ot_arena arena;
    ot_fact *fact;
    ot_choice *choice;
    optune_task task;
    const ot_fact *best; /* NULL: nothing measured may be used */
} asked;

static int ask(verifying *v, const optune_call *call, asked *a, optune_err *err)
{
    optune *o = v->run.o;
    int n = 0;
    *a = (asked){.choice = ot_alloc(sizeof *a->choice), .task = {call, &o->target, &o->device}};
    const int status =
        ot_context_choose(o, &a->task, NULL, &a->arena, &a->fact, &n, a->choice, err);
    if (status >= 0 && ot_choice_measured(a->choice))
        a->best = a->choice->row[a->choice->winner].fact;
    return status;
}

static void answered(asked *a)
{
    ot_choice_free(a->choice);
    ot_arena_release(&a->arena);
}

/* The cheapest that is only history; NULL: there is none. */
static const ot_choice_row *stale_row(const asked *a)
{
    const ot_choice_row *best = NULL;
    for (int i = 0; i < a->choice->n; i++) {
        const ot_choice_row *row = &a->choice->row[i];
        if (row->stale && row->stale->record.outcome == OPTUNE_OUTCOME_OK &&
            (!best || row->stale->record.cost < best->stale->record.cost))
            best = row;
    }
    return best;
}

static int add_item(verifying *v, const char *text, const char *const *what)
{
    stored one = {.text = text, .call = ot_arena_alloc(&v->arena, sizeof *one.call)};
    asked a;
    optune_err own = {0};
    /* A record of a plugin that is not loaded, or of a range: nobody can measure it here. */
    if (ot_call_parse(text, one.call, &own) < 0 || !ot_call_static(one.call)) {
        v->left_out++;
        return OPTUNE_OK;
    }
    if (!wanted(what, &one))
        return OPTUNE_OK;
    if (ask(v, one.call, &a, &own) < 0) {
        v->left_out++;
    } else if (a.best || stale_row(&a)) {
        one.stale = !a.best;
        one.time = a.best ? a.best->record.time : INFINITY;
        one.lot = v->options->seed
                      ? ot_hash64(text, strlen(text)) * (2 * v->options->seed + 1) >> 8
                      : 0;
        if (a.best && v->options->max_age > 0 &&
            one.time > ot_unix_time() - v->options->max_age * DAY_S)
            v->younger++;
        else
            v->item[v->n++] = one;
    }
    answered(&a);
    return ot_context_stopped(v->run.o) ? OPTUNE_EINTERRUPTED : OPTUNE_OK;
}

static int by_turn(const void *a, const void *b)
{
    const stored *x = a, *y = b;
    if (x->stale != y->stale)
        return x->stale - y->stale;
    if (x->lot != y->lot)
        return x->lot < y->lot ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int nothing(const verifying *v, optune_err *err)
{
    if (v->younger)
        return optune_fail(
            err, OPTUNE_ENOENT,
            "nothing to verify: all there is (%d) was measured within the last %g days",
            v->younger, v->options->max_age);
    return optune_fail(err, OPTUNE_ENOENT,
                       "nothing to verify: no measurement %sof '%s' on this device, policy %s, "
                       "in '%s'",
                       v->options->what && v->options->what[0] ? "that was asked for " : "",
                       v->asked.target, v->asked.policy, v->run.o->db);
}

static int gather(verifying *v, optune_err *err)
{
    optune *o = v->run.o;
    const char *const *what;
    optune_call *any = ot_arena_alloc(&v->arena, sizeof *any);
    ot_store *store;
    const unsigned turn = ot_context_enter(o);
    int status = canonical(v, &what, err);
    if (status >= 0 && *o->device_key)
        status = optune_fail(err, OPTUNE_EUSAGE,
                             "this machine is measured: --device is for asking about others");
    if (status >= 0)
        status = ot_context_device(o, err);
    if (status >= 0)
        status = ot_context_reader(o, &store, NULL, err);
    if (status < 0) {
        ot_context_leave(o, turn);
        return status;
    }
    ot_text target = {0};
    ot_target_print(&o->target, true, &target);
    v->asked = (ot_question){.device = o->device.key,
                             .target = ot_arena_copy(&v->arena, ot_text_str(&target)),
                             .policy = o->policy->name};
    ot_text_release(&target);
    status = ot_store_walk(store, collect, v, err);
    ot_context_leave(o, turn);
    if (v->n_calls)
        qsort(v->call, (size_t)v->n_calls, sizeof *v->call, by_text);
    v->item = ot_alloc((size_t)(v->n_calls + 1) * sizeof *v->item);
    for (int i = 0; i < v->n_calls && status >= 0; i++)
        if (!i || strcmp(v->call[i], v->call[i - 1]))
            status = add_item(v, v->call[i], what);
    if (status == OPTUNE_EINTERRUPTED)
        return optune_fail(err, status, "interrupted: nothing was measured");
    if (status < 0)
        return status;
    if (!v->n)
        return nothing(v, err);
    qsort(v->item, (size_t)v->n, sizeof *v->item, by_turn);
    int good = 0;
    while (good < v->n && !v->item[good].stale)
        good++;
    if (v->options->sample > 0 && good > v->options->sample) {
        memmove(&v->item[v->options->sample], &v->item[good],
                (size_t)(v->n - good) * sizeof *v->item);
        v->n -= good - v->options->sample;
    }
    return OPTUNE_OK;
}

/* ---- what is said ------------------------------------------------------------------------ */

static json_t *figures(const optune_record *r)
{
    if (!r || r->outcome != OPTUNE_OUTCOME_OK)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f}", "cost", r->cost, "low", r->low, "high", r->high,
                     "time", r->time);
}

static void add_figures(ot_text *to, const char *when, const optune_record *r)
{
    ot_text_printf(to, "%s %.4g us (%.4g to %.4g)", when, r->cost * 1e6, r->low * 1e6,
                   r->high * 1e6);
}

/* `now` NULL: it was not measured. */
static json_t *say(verifying *v, const stored *one, enum status status,
                   const optune_record *then, const optune_record *now, const char *reason)
{
    const bool good = now && now->outcome == OPTUNE_OUTCOME_OK;
    ot_text config = {0};
    ot_config_print(&then->config, &config);
    v->count[status]++;
    v->wrong += status == WRONG;
    json_t *json = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "call", one->text,
                             "status", status_name[status], "impl", then->impl, "config",
                             json_loads(ot_text_str(&config), 0, NULL), "then", figures(then),
                             "now", good ? figures(now) : json_null(), "factor",
                             good ? json_real(now->cost / then->cost) : json_null(), "reason",
                             *reason ? json_string(reason) : json_null());
    json_array_append_new(v->list, json);
    ot_text_printf(&v->text, "%-14s %s\n               %s: ", status_name[status], one->text,
                   then->impl);
    add_figures(&v->text, "then", then);
    if (good)
        add_figures(&v->text, ", now", now);
    if (status == MOVED)
        ot_text_printf(&v->text, ", %.2f times as long", now->cost / then->cost);
    ot_text_printf(&v->text, "%s%s\n", *reason ? "\n               " : "", reason);
    ot_text_release(&config);
    return json;
}

/* ---- measuring --------------------------------------------------------------------------- */

/* The outcome of one, as a record's figures: texts and samples are the result's. */
static enum status judge(const ot_run *run, const ot_trial_result *result,
                         const optune_record *then, optune_record *now, ot_text *reason)
{
    ot_text host = {0};
    *now = (optune_record){.tool = "optune " OT_VERSION};
    ot_trial_result_put(result, now);
    switch (result->outcome) {
    case OPTUNE_OUTCOME_OK:
        break;
    case OPTUNE_OUTCOME_BUILD_TIMEOUT:
        ot_text_add(reason, "it was not built in time");
        return UNMEASURED;
    case OPTUNE_OUTCOME_INSTANTIATION:
    case OPTUNE_OUTCOME_COMPILE:
    case OPTUNE_OUTCOME_COMPILE_DEVICE:
        ot_text_printf(reason, "%s: %.300s", ot_outcome_name(result->outcome),
                       result->message ? result->message : "");
        return UNBUILT;
    default:
        ot_text_printf(reason, "%s: %.300s", ot_outcome_name(result->outcome),
                       result->message ? result->message : "");
        return WRONG;
    }
    now->time = ot_unix_time();
    if (ot_record_moved(then, now) == 1)
        return HOLDS;
    ot_run_host(run, &host);
    now->host = ot_text_str(&host);
    ot_record_apart(then, now, reason);
    now->host = NULL;
    ot_text_release(&host);
    return MOVED;
}

static int measure(verifying *v, const stored *one, const asked *a, double seconds,
                   enum status *how, optune_err *err)
{
    ot_run *run = &v->run;
    ot_arena arena = {0};
    ot_text reason = {0};
    const optune_record *then = &a->best->record;
    const ot_contender who = {
        .task = &a->task, .impl = ot_impl_find(then->impl), .config = &then->config};
    ot_trial_result result;
    optune_record now;
    run->progress.impl = run->progress.best_impl = who.impl->name; /* outlives the answer */
    run->progress.best = then->cost;
    ot_run_report(run, "finals", NULL);
    int status = ot_compare(run, &who, 1, seconds, &arena, &result, err);
    if (status >= 0) {
        *how = judge(run, &result, then, &now, &reason);
        if (*how == UNBUILT)
            status = ot_record_trial(run, &who, &result, 0, true, err);
        run->failures += *how == WRONG || *how == UNBUILT;
        say(v, one, *how, then, &now, ot_text_str(&reason));
    }
    ot_text_release(&reason);
    ot_arena_release(&arena);
    return status;
}

static bool known(const optune_record *r, const optune_record *done, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(done[i].impl, r->impl) && ot_config_equal(&done[i].config, &r->config))
            return true;
    return false;
}

/* Behind those of one workload: who is selected, where that is another. */
static void say_selected(verifying *v, const optune_record *first, const asked *a)
{
    char impl[OPTUNE_NAME_SIZE] = "nothing that was measured";
    ot_text config = {0};
    if (a->best && known(&a->best->record, first, 1))
        return;
    if (a->best) {
        ot_copy(impl, sizeof impl, a->best->record.impl);
        ot_config_print(&a->best->record.config, &config);
    }
    ot_text_printf(&v->text, "               selected from now on: %s %s\n", impl,
                   ot_text_str(&config));
    json_object_set_new(json_array_get(v->list, json_array_size(v->list) - 1), "selected",
                        a->best ? json_pack("{s:s, s:o}", "impl", impl, "config",
                                            json_loads(ot_text_str(&config), 0, NULL))
                                : json_null());
    ot_text_release(&config);
}

static int one_workload(verifying *v, const stored *one, double seconds, optune_err *err)
{
    optune_record *done = ot_alloc(ROUNDS * sizeof *done);
    char *impl[ROUNDS];
    int n = 0, status = OPTUNE_OK;
    for (bool over = false; !over && status >= 0;) {
        asked a;
        char why[OPTUNE_WHY_SIZE];
        enum status how = UNMEASURED;
        status = ask(v, one->call, &a, err);
        over = status < 0 || !a.best || n == ROUNDS || known(&a.best->record, done, n);
        const ot_choice_row *old = !n && over && status >= 0 ? stale_row(&a) : NULL;
        if (old) {
            say(v, one, STALE, &old->stale->record, NULL, ot_fact_why(old->stale, why));
        } else if (over && n && status >= 0) {
            say_selected(v, done, &a);
        } else if (!over && ot_now() >= v->run.end) {
            say(v, one, UNMEASURED, &a.best->record, NULL, "the time was over");
            over = true;
        } else if (!over) {
            if (v->options->idle)
                status = ot_watch_idle(&v->run, err);
            if (status >= 0)
                status = ot_room_check(&v->run, one->call, err);
            if (status >= 0)
                status = measure(v, one, &a, seconds, &how, err);
            impl[n] = ot_strdup(a.best->record.impl);
            done[n] = (optune_record){.impl = impl[n], .config = a.best->record.config};
            n++;
            over = how == UNMEASURED;
        }
        if (status < 0 && status != OPTUNE_EINTERRUPTED && a.best &&
            !ot_run_ends_all(&v->run, status)) {
            say(v, one, UNMEASURED, &a.best->record, NULL, err->text);
            status = OPTUNE_OK;
            over = true;
        }
        answered(&a);
    }
    for (int i = 0; i < n; i++)
        free(impl[i]);
    free(done);
    return status;
}

static int all(verifying *v, optune_err *err)
{
    ot_run *run = &v->run;
    int status = OPTUNE_OK;
    run->progress.workloads = run->n_workloads = v->n;
    for (int i = 0; i < v->n && status >= 0; i++) {
        const double share = fmax(0, run->end - ot_now()) / (v->n - i);
        run->progress.workload = i + 1;
        run->progress.impl = run->progress.best_impl = NULL;
        run->progress.best = INFINITY;
        run->progress.call = v->item[i].text;
        run->progress.flops = ot_call_flops(v->item[i].call);
        ot_run_report(run, "preparing", NULL);
        status = one_workload(v, &v->item[i], fmin(MEASURE_S, share), err);
        if (ot_context_stopped(run->o))
            status = OPTUNE_EINTERRUPTED;
    }
    run->progress.call = run->progress.impl = run->progress.best_impl = NULL;
    ot_run_report(run, "done", NULL);
    return status;
}

static optune_result *conclude(verifying *v)
{
    const char *comma = "";
    json_t *json = json_object();
    for (int i = 0; i < OT_COUNT(status_name); i++) {
        if (v->count[i])
            ot_text_printf(&v->text, "%s%d %s", comma, v->count[i], status_name[i]);
        comma = v->count[i] ? ", " : comma;
        json_object_set_new(json, status_name[i], json_integer(v->count[i]));
    }
    if (v->left_out)
        ot_text_printf(&v->text, "%s%d that cannot be asked here are left out", comma,
                       v->left_out);
    ot_text_add(&v->text, json_array_size(v->list) ? "\n" : "nothing was measured\n");
    json_object_set_new(json, "target", json_string(v->asked.target));
    json_object_set_new(json, "device", json_string(v->asked.device));
    json_object_set(json, "winners", v->list);
    optune_result *result = ot_result_new(v->text.s, json);
    v->text = (ot_text){0};
    return result;
}

int optune_verify(optune *o, const optune_verify_options *options, optune_result **result,
                  optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    optune_verify_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_verify_options, options, &own));
    verifying *v = ot_alloc(sizeof *v);
    const double seconds = own.seconds != 0 ? own.seconds : own.idle ? -1 : DEFAULT_SECONDS;
    v->options = &own;
    v->list = json_array();
    v->run_options = (optune_run_options){.size = sizeof v->run_options,
                                          .seed = own.seed,
                                          .no_transfer = true,
                                          .progress = own.progress,
                                          .progress_arg = own.progress_arg};
    v->run.o = o;
    v->run.options = &v->run_options;
    v->run.policy = *o->policy;
    v->run.started = ot_now();
    v->run.end = seconds > 0 ? v->run.started + seconds : INFINITY;
    ot_run_report(&v->run, "starting", NULL);
    int status = gather(v, err);
    if (status >= 0) /* before anything is started for what could not be kept */
        status = ot_context_store(o, OT_STORE_WRITE, err);
    if (status >= 0)
        status = ot_run_open(&v->run, err);
    if (status >= 0) {
        status = all(v, err);
        if (status >= 0 || status == OPTUNE_EINTERRUPTED)
            *result = conclude(v);
        if (status == OPTUNE_EINTERRUPTED)
            optune_fail(err, status, "interrupted: what was measured so far is stored");
        else if (status >= 0 && v->wrong)
            status = optune_fail(err, OPTUNE_EPARTIAL,
                                 "%d stored winners no longer compute the right thing; they "
                                 "are selected no more",
                                 v->wrong);
    }
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this that was asked to end */
    ot_run_close(&v->run);
    json_decref(v->list);
    ot_text_release(&v->text);
    ot_arena_release(&v->arena);
    free(v->call);
    free(v->item);
    free(v);
    return status;
}
