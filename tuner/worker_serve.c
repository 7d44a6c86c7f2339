/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the worker process: answers one request after another until its socket ends.
 * Whatever a candidate does to this process is the candidate's outcome; the other side notices,
 * and starts another. The protocol is in worker.h.
 */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/worker.h"

enum { MOST_FINALISTS = 64 };

typedef struct server {
    int fd;
    bool open; /* the session is */
    int at;    /* the finalist that was announced last */
    ot_session session;
} server;

/* ---- answers ----------------------------------------------------------------------------- */

static json_t *failure(int status, const optune_err *err)
{
    return json_pack("{s:i, s:s}", "error", status, "text", err->text);
}

static json_t *bad_outcome(int outcome, const char *message)
{
    return json_pack("{s:i, s:s}", "outcome", outcome, "message", message);
}

static void put_real(json_t *object, const char *name, double value)
{
    if (isfinite(value))
        json_object_set_new(object, name, json_real(value));
}

static json_t *good_outcome(const ot_measured *m, double error)
{
    json_t *answer =
        json_pack("{s:i, s:I}", "outcome", OPTUNE_OUTCOME_OK, "inner", (json_int_t)m->inner);
    json_t *samples = json_array();
    for (int i = 0; i < m->n; i++)
        json_array_append_new(samples, json_real(m->sample[i]));
    json_object_set_new(answer, "samples", samples);
    put_real(answer, "cost", m->interval.median);
    put_real(answer, "low", m->interval.low);
    put_real(answer, "high", m->interval.high);
    put_real(answer, "worst", error);
    return answer;
}

/* ---- hello, workload --------------------------------------------------------------------- */

static int hello(server *s, const json_t *request, optune_err *err)
{
    const int64_t abi = json_integer_value(json_object_get(request, "abi"));
    if (strcmp(ot_wire_text(request, "version"), OT_VERSION) != 0 || abi != OPTUNE_ABI)
        return optune_fail(err, OPTUNE_EVERSION,
                           "the worker is version %s (ABI %d), its caller is %s (ABI %d)",
                           OT_VERSION, OPTUNE_ABI, ot_wire_text(request, "version"), (int)abi);
    size_t i;
    json_t *plugin;
    int status = OPTUNE_OK;
    json_array_foreach(json_object_get(request, "plugins"), i, plugin)
    {
        status = ot_plugin_load(json_string_value(plugin), ot_target_add, err);
        if (status < 0)
            return status;
    }
    optune_target target;
    optune_device device;
    status = ot_target_parse(ot_wire_text(request, "target"), &target, err);
    if (status >= 0)
        status = ot_wire_read_device(json_object_get(request, "device"), &device, err);
    if (status < 0)
        return status;
    target.threads = device.threads;
    status = ot_session_open(&s->session, &target, &device, err);
    s->open = status >= 0;
    return status;
}

static int workload(server *s, const json_t *request, optune_err *err)
{
    ot_crash_at("computing the reference");
    return ot_session_workload(&s->session, ot_wire_text(request, "call"),
                               ot_wire_read_u64(json_object_get(request, "seed")),
                               ot_wire_text(request, "reference"), err);
}

/* ---- one trial --------------------------------------------------------------------------- */

/* One candidate of this process, from its request to its times. */
typedef struct runner {
    server *server;
    int index; /* in the finals; -1: a trial */
    bool cold; /* flush before every run */
    ot_loaded *loaded;
    ot_bound *bound;
    int outcome;
    double error;
    optune_err err; /* its message, when the outcome is not OK */
    char counters[OPTUNE_TEXT_SIZE];
} runner;

/* Tells whose turn it is, only when it changes: the other side wakes up for it, which must not
 * happen in a sample. Every turn starts with a run for warmth. */
static void announce(runner *r)
{
    if (r->index < 0 || r->server->at == r->index)
        return;
    r->server->at = r->index;
    ot_wire_send(r->server->fd, json_pack("{s:i}", "at", r->index), NULL);
}

static double time_runner(void *arg, int64_t count)
{
    runner *r = arg;
    ot_session *s = &r->server->session;
    announce(r);
    if (!r->cold)
        return s->row->time(s->state, r->bound->launch[OPTUNE_TIMED], r->bound->n[OPTUNE_TIMED],
                            count, &r->err);
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        if (s->row->flush(s->state) < 0) {
            optune_fail(&r->err, OPTUNE_EIO, "the caches cannot be flushed");
            return -1;
        }
        const double t = s->row->time(s->state, r->bound->launch[OPTUNE_TIMED],
                                      r->bound->n[OPTUNE_TIMED], 1, &r->err);
        if (t < 0)
            return -1;
        sum += t;
    }
    return sum;
}

/* Runs once over the aligned buffers, where a body may take another path than over guarded
 * ones, and checks that too. */
static void check_aligned(runner *r)
{
    ot_session *s = &r->server->session;
    int status = ot_session_poison(s, OT_ALIGNED, &r->err);
    if (status >= 0)
        status = s->row->run(s->state, r->bound->launch[OPTUNE_TIMED],
                             r->bound->n[OPTUNE_TIMED], &r->err);
    if (status < 0)
        r->outcome = OPTUNE_OUTCOME_RUNTIME;
    else if (!ot_verify_outputs(s, OT_ALIGNED, r->loaded->impl, &r->error, r->err.text,
                                sizeof r->err.text))
        r->outcome = OPTUNE_OUTCOME_WRONG;
}

/* Loads, verifies, and binds for timing. */
static void prepare(runner *r, const json_t *request)
{
    ot_session *s = &r->server->session;
    announce(r);
    ot_crash_at("loading");
    if (!s->ready) {
        optune_fail(&r->err, OPTUNE_EUSAGE, "no workload was set");
        r->outcome = OPTUNE_OUTCOME_UNKNOWN;
        return;
    }
    if (ot_loaded_open(s, ot_wire_text(request, "impl"), ot_wire_text(request, "config"),
                       ot_wire_text(request, "range"), json_object_get(request, "modules"),
                       &r->loaded, &r->outcome, &r->err) < 0)
        return;
    ot_crash_at("verifying");
    r->outcome = ot_verify(s, r->loaded, &r->error, r->err.text, sizeof r->err.text);
    if (r->outcome != OPTUNE_OUTCOME_OK)
        return;
    ot_crash_at("preparing to measure");
    if (ot_bound_open(s, r->loaded, OT_ALIGNED, &r->bound, &r->err) < 0 ||
        ot_bound_prepack(r->bound, &r->err) < 0)
        r->outcome = OPTUNE_OUTCOME_RUNTIME;
    else
        check_aligned(r);
}

/* Some devices run nothing more after a fault: the candidate costs this process. */
static void end_if_broken(runner *r)
{
    const ot_session *s = &r->server->session;
    if (r->outcome == OPTUNE_OUTCOME_OK || !s->row->alive || s->row->alive(s->state))
        return;
    ot_wire_send(r->server->fd, json_pack("{s:s}", "crash", r->err.text), NULL);
    _exit(1);
}

static void release(runner *r)
{
    ot_crash_at("unloading");
    ot_bound_close(r->bound);
    if (r->loaded)
        ot_loaded_close(&r->server->session, r->loaded);
}

static json_t *trial(server *s, const json_t *request, optune_err *err)
{
    ot_measure_policy policy;
    const int status = ot_wire_read_policy(json_object_get(request, "policy"), &policy, err);
    if (status < 0)
        return failure(status, err);
    const double start = ot_now();
    ot_measured *m = ot_alloc(sizeof *m);
    runner r = {.server = s, .index = -1, .cold = policy.cold};
    prepare(&r, request);
    if (r.outcome == OPTUNE_OUTCOME_OK) {
        ot_crash_at_alone("measuring");
        ot_measure(&policy, ot_wire_real(request, "best"), time_runner, &r, m);
        if (m->failed)
            r.outcome = OPTUNE_OUTCOME_RUNTIME;
    }
    end_if_broken(&r);
    release(&r);
    json_t *answer = r.outcome == OPTUNE_OUTCOME_OK ? good_outcome(m, r.error)
                                                    : bad_outcome(r.outcome, r.err.text);
    put_real(answer, "seconds", ot_now() - start);
    free(m);
    return answer;
}

/* ---- finals ------------------------------------------------------------------------------ */

static void count_events(runner *r, char *why)
{
    ot_session *s = &r->server->session;
    r->counters[0] = '\0';
    if (!s->row->counters)
        return;
    announce(r);
    ot_crash_at_alone("counting events");
    s->row->counters(s->state, r->bound->launch[OPTUNE_TIMED], r->bound->n[OPTUNE_TIMED],
                     r->counters, sizeof r->counters, why);
}

static json_t *finals(server *s, const json_t *request, optune_err *err)
{
    ot_measure_policy policy;
    const json_t *candidates = json_object_get(request, "candidates");
    const int n = (int)json_array_size(candidates);
    int status = ot_wire_read_policy(json_object_get(request, "policy"), &policy, err);
    if (status >= 0 && n > MOST_FINALISTS)
        status = optune_fail(err, OPTUNE_ELIMIT, "more than %d finalists", (int)MOST_FINALISTS);
    if (status < 0)
        return failure(status, err);
    const double start = ot_now();
    s->at = -1;
    runner *r = ot_alloc((size_t)(n + 1) * sizeof *r);
    ot_measured *m = ot_alloc((size_t)(n + 1) * sizeof *m);
    void *good[MOST_FINALISTS];
    int n_good = 0;
    for (int i = 0; i < n; i++) {
        r[i] = (runner){.server = s, .index = i, .cold = policy.cold};
        prepare(&r[i], json_array_get(candidates, (size_t)i));
        end_if_broken(&r[i]);
        if (r[i].outcome == OPTUNE_OUTCOME_OK)
            good[n_good++] = &r[i];
    }
    ot_crash_at_alone("measuring");
    ot_measure_together(&policy, time_runner, good, n_good, ot_wire_real(request, "seconds"),
                        s->session.seed, m);
    json_t *results = json_array();
    char why[OPTUNE_WHY_SIZE] = "";
    for (int i = 0, k = 0; i < n; i++) {
        const ot_measured *mine = r[i].outcome == OPTUNE_OUTCOME_OK ? &m[k++] : NULL;
        if (mine && mine->failed) {
            r[i].outcome = OPTUNE_OUTCOME_RUNTIME;
            end_if_broken(&r[i]);
        }
        json_t *result;
        if (r[i].outcome == OPTUNE_OUTCOME_OK) {
            result = good_outcome(mine, r[i].error);
            count_events(&r[i], why);
            if (r[i].counters[0])
                json_object_set_new(result, "counters", json_string(r[i].counters));
        } else {
            result = bad_outcome(r[i].outcome, r[i].err.text);
        }
        put_real(result, "seconds", (ot_now() - start) / n);
        json_array_append_new(results, result);
    }
    for (int i = 0; i < n; i++)
        release(&r[i]);
    free(r);
    free(m);
    return json_pack("{s:o, s:s}", "results", results, "counters_why", why);
}

static json_t *peak(server *s, optune_err *err)
{
    double flops, bandwidth;
    ot_crash_at_alone("measuring the peak");
    const int status = ot_peak(&s->session, &flops, &bandwidth, err);
    if (status < 0)
        return failure(status, err);
    return json_pack("{s:f, s:f}", "flops", flops, "bandwidth", bandwidth);
}

/* ---- the loop ---------------------------------------------------------------------------- */

static json_t *answer_to(server *s, const json_t *request)
{
    const char *what = ot_wire_text(request, "do");
    optune_err err = {0};
    int status;
    if (strcmp(what, "hello") == 0)
        status = hello(s, request, &err);
    else if (!s->open)
        status = optune_fail(&err, OPTUNE_EUSAGE, "the worker was not greeted");
    else if (strcmp(what, "workload") == 0)
        status = workload(s, request, &err);
    else if (strcmp(what, "trial") == 0)
        return trial(s, request, &err);
    else if (strcmp(what, "finals") == 0)
        return finals(s, request, &err);
    else if (strcmp(what, "peak") == 0)
        return peak(s, &err);
    else
        status = optune_fail(&err, OPTUNE_EUSAGE, "the worker cannot do '%s'", what);
    return status < 0 ? failure(status, &err) : json_pack("{s:b}", "ok", 1);
}

int ot_worker_serve(int fd)
{
    server s = {.fd = fd};
    optune_err err = {0};
    fenv_t rounding;
    fegetenv(&rounding);
    int status;
    for (;;) {
        json_t *request;
        ot_crash_at("waiting");
        status = ot_wire_receive(fd, -1, &request, &err);
        if (status < 0)
            break;
        const bool bye = strcmp(ot_wire_text(request, "do"), "bye") == 0;
        json_t *answer = bye ? NULL : answer_to(&s, request);
        json_decref(request);
        fesetenv(&rounding); /* a candidate may have left the FPU otherwise */
        if (bye)
            break;
        status = ot_wire_send(fd, answer, &err);
        if (status < 0)
            break;
    }
    if (s.open)
        ot_session_close(&s.session);
    /* A caller that is gone is how most workers end. */
    return status >= 0 || status == OPTUNE_EWORKER ? 0 : 1;
}
