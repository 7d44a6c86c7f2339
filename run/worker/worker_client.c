/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials in processes of their own: this side starts the worker, tells it the workload, asks, and
 * turns whatever happens into an outcome. The worker has candidates run in yet another process;
 * should it end itself, the next trial starts another, which finds the references in files.
 *
 * The one idea: the worker holds no state that matters. What it must know (target, workload) is
 * here and is told again to every new process.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bring/bring.h"
#include "run/worker/worker_process.h"

enum { MOST_FINALISTS = 64 };
static const double START_S = 40, WORKLOAD_S = 600, PEAK_S = 90, TRIAL_S = 20;
/* The worker ends a candidate at its limit itself; so much later it is ended. */
static const double PATIENCE_S = 15;

struct ot_worker {
    ot_worker_options options;
    optune_target target;
    optune_device device;
    char *target_text, *program;
    char dir[2048]; /* of the reference files */
    ot_process process;
    char *call; /* the workload; NULL: none yet */
    uint64_t seed;
    bool told; /* this process knows it, with this seed: */
    uint64_t told_seed;
    char counters_why[OPTUNE_WHY_SIZE];
    int64_t left[OPTUNE_MAX_OUTPUTS];
};

int ot_worker_open(const ot_worker_options *options, ot_worker **worker, optune_err *err)
{
    char program[4096];
    int status = ot_worker_program(program, sizeof program, err);
    if (status < 0)
        return status;
    /* What candidates do is seen there, and what they are given is opened there. */
    if (access("/proc/self/fd", X_OK) < 0)
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "no /proc is mounted here, and measuring needs it: mount -t proc "
                           "proc /proc; what was measured before can be asked without");
    ot_worker *w = ot_alloc(sizeof *w);
    *w = (ot_worker){
        .options = *options, .target = *options->target, .device = *options->device};
    status = ot_temp_dir(w->dir, sizeof w->dir, err);
    if (status < 0) {
        free(w);
        return status;
    }
    w->options.target = &w->target;
    w->options.device = &w->device;
    w->target_text = ot_strdup(options->target_text);
    w->options.target_text = w->target_text;
    w->program = ot_strdup(program);
    *worker = w;
    return OPTUNE_OK;
}

/* A worker between requests is asked to end; one that does not is ended. */
static void stop_process(ot_worker *w)
{
    json_t *answer = NULL;
    if (w->process.pid)
        ot_process_ask(&w->process, json_pack("{s:s}", "do", "bye"), 2, NULL, &answer, NULL);
    json_decref(answer);
    ot_process_stop(&w->process);
    w->told = false;
}

void ot_worker_close(ot_worker *w)
{
    if (!w)
        return;
    stop_process(w);
    ot_remove_tree(w->dir);
    free(w->target_text);
    free(w->program);
    free(w->call);
    free(w);
}

const char *ot_worker_counters_why(const ot_worker *worker)
{
    return worker->counters_why;
}

int64_t ot_worker_left(const ot_worker *worker, int output)
{
    return worker->left[output];
}

int ot_worker_pids(const ot_worker *worker, pid_t *pid, int most)
{
    const ot_process *p = &worker->process;
    int n = 0;
    for (; p->pid && n < p->n_runners && n < most; n++)
        pid[n] = p->runners[n];
    return n;
}

/* ---- a process that is ready ------------------------------------------------------------- */

/* A request that no candidate can make fail. Its failures are errors. */
static int ask_plain(ot_worker *w, json_t *request, double limit_s, const char *what,
                     json_t **answer, optune_err *err)
{
    optune_err inner = {0};
    char end[OPTUNE_WHY_SIZE];
    int status = ot_process_ask(&w->process, request, limit_s, &w->options, answer, &inner);
    if (status == OPTUNE_EWORKER) {
        ot_process_end_text(&w->process, end, sizeof end);
        return optune_fail(err, status, "the worker ended while %s: %s", what, end);
    }
    if (status == OPTUNE_ETIMEOUT)
        return optune_fail(err, status, "the worker did not answer within %g s while %s",
                           limit_s, what);
    if (status < 0)
        return optune_fail(err, status, "%s", inner.text);
    if (json_object_get(*answer, "error")) {
        status = (int)json_integer_value(json_object_get(*answer, "error"));
        optune_fail(err, status, "%s", ot_wire_text(*answer, "text"));
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}

static int ensure_process(ot_worker *w, optune_err *err)
{
    if (ot_process_alive(&w->process))
        return OPTUNE_OK;
    int status = ot_process_start(&w->process, w->program, w->dir, err);
    if (status < 0)
        return status;
    w->told = false;
    char sources[33];
    ot_sources_digest(sources);
    json_t *plugins = json_array(), *digests = json_array(), *answer = NULL;
    for (char *const *path = w->options.plugins; path && *path; path++) {
        const ot_brought *brought = ot_brought_of_path(*path);
        json_array_append_new(plugins, json_string(*path));
        json_array_append_new(digests, json_string(brought ? brought->digest : ""));
    }
    status = ask_plain(w,
                       json_pack("{s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:o}", "do", "hello",
                                 "version", OT_VERSION, "abi", OPTUNE_ABI, "sources", sources,
                                 "target", w->target_text, "device", ot_wire_device(&w->device),
                                 "plugins", plugins, "digests", digests),
                       START_S, "starting", &answer, err);
    json_decref(answer);
    if (status < 0)
        ot_process_stop(&w->process);
    return status;
}

/* One file for each workload and seed, under a name that both sides can use. */
static void reference_path(const ot_worker *w, uint64_t seed, char *path, size_t size)
{
    char hex[33];
    ot_digest_hex(ot_digest_of(w->call, strlen(w->call)), hex);
    snprintf(path, size, "%s/%s-%016llx", w->dir, hex, (unsigned long long)seed);
}

static int tell_workload(ot_worker *w, uint64_t seed, optune_err *err)
{
    int status = ensure_process(w, err);
    if (status < 0 || (w->told && w->told_seed == seed))
        return status;
    if (!w->call)
        return optune_fail(err, OPTUNE_EUSAGE, "the worker was given no workload");
    char path[sizeof w->dir + 64];
    json_t *answer = NULL;
    reference_path(w, seed, path, sizeof path);
    status = ask_plain(w,
                       json_pack("{s:s, s:s, s:o, s:s}", "do", "workload", "call", w->call,
                                 "seed", ot_wire_u64(seed), "reference", path),
                       WORKLOAD_S, "preparing the workload", &answer, err);
    if (status >= 0)
        for (int i = 0; i < OPTUNE_MAX_OUTPUTS; i++)
            w->left[i] =
                json_integer_value(json_array_get(json_object_get(answer, "left"), (size_t)i));
    json_decref(answer);
    w->told = status >= 0;
    w->told_seed = seed;
    return status;
}

/* Somebody may kill this process too; once, as with a trial, that is forgiven. */
static int ensure_workload(ot_worker *w, uint64_t seed, optune_err *err)
{
    const int status = tell_workload(w, seed, err);
    if (status == OPTUNE_EWORKER && ot_process_was_killed(&w->process))
        return tell_workload(w, seed, err);
    return status;
}

int ot_worker_workload(ot_worker *w, const char *call, uint64_t seed, optune_err *err)
{
    if (w->call && strcmp(w->call, call) == 0 && w->seed == seed)
        return ensure_workload(w, seed, err);
    /* The old workload's references are not wanted again in most runs, and may be large. */
    if (w->call) {
        ot_remove_tree(w->dir);
        const int status = ot_make_dirs(w->dir, err);
        if (status < 0)
            return status;
    }
    char *copy = ot_strdup(call);
    free(w->call);
    w->call = copy;
    w->seed = seed;
    w->told = false;
    return ensure_workload(w, seed, err);
}

/* ---- trials ------------------------------------------------------------------------------ */

static json_t *candidate_json(const ot_trial *trial)
{
    ot_text config = {0};
    json_t *modules = json_array();
    for (int i = 0; i < trial->job->n_modules; i++)
        json_array_append_new(modules, json_string(trial->job->module[i]));
    ot_config_print(trial->config, &config);
    json_t *object = json_pack("{s:s, s:s, s:o}", "impl", trial->impl->name, "config",
                               ot_text_str(&config), "modules", modules);
    if (trial->range)
        json_object_set_new(object, "range", json_string(trial->range));
    ot_text_release(&config);
    return object;
}

static void bad_result(ot_trial_result *result, int outcome, uint64_t seed, const char *message,
                       ot_arena *arena)
{
    *result = (ot_trial_result){
        .outcome = outcome,
        .message = ot_arena_copy(arena, message),
        .cost = INFINITY,
        .low = INFINITY,
        .high = INFINITY,
        .seed = seed,
    };
}

static int read_result(const json_t *answer, uint64_t seed, ot_arena *arena,
                       ot_trial_result *result, optune_err *err)
{
    optune_record *told = ot_alloc(sizeof *told);
    const int status = ot_wire_read_told(json_object_get(answer, "told"), arena, told, err);
    const double seconds = ot_wire_real(answer, "seconds");
    ot_trial_result_of(told, result);
    result->seed = seed;
    result->seconds = isfinite(seconds) ? seconds : 0;
    free(told);
    return status;
}

/* What the end of the process says of the candidate that ran in it. */
static void ended_result(const ot_worker *w, int status, double limit_s, uint64_t seed,
                         ot_arena *arena, ot_trial_result *result)
{
    char text[OPTUNE_ERR_SIZE], end[OPTUNE_ERR_SIZE - 64];
    if (status == OPTUNE_ETIMEOUT) {
        ot_format(text, sizeof text, "it did not end within %g s%s%s", limit_s,
                  w->process.doing[0] ? " while " : "", w->process.doing);
        bad_result(result, OPTUNE_OUTCOME_RUN_TIMEOUT, seed, text, arena);
        result->seconds = limit_s;
        return;
    }
    ot_process_end_text(&w->process, end, sizeof end);
    const bool killed = ot_process_was_killed(&w->process);
    snprintf(text, sizeof text, killed ? "the worker was killed from outside twice: %s" : "%s",
             end);
    bad_result(result, OPTUNE_OUTCOME_CRASH, seed, text, arena);
}

/* A failure that is the candidate's, and not ours or the user's. */
static bool is_candidates(int status)
{
    return status == OPTUNE_EWORKER || status == OPTUNE_ETIMEOUT;
}

/* Seconds that a trial may take: its own, its target's, or the house's. */
static double limit_of(const ot_worker *w, const ot_trial *trial)
{
    const optune_target_row *row = ot_target_find(w->options.target->kind);
    const double usual = row && row->patience_s > 0 ? row->patience_s : TRIAL_S;
    return trial->limit_s > 0 ? trial->limit_s : usual;
}

static int try_once(ot_worker *w, const ot_trial *trial, const ot_measure_policy *policy,
                    double limit_s, json_t **answer, bool *ran, optune_err *err)
{
    *ran = false;
    const int status = ensure_workload(w, w->seed, err);
    if (status < 0)
        return status;
    json_t *request = candidate_json(trial);
    json_object_set_new(request, "do", json_string("trial"));
    json_object_set_new(request, "policy", ot_wire_policy(policy));
    if (isfinite(trial->best))
        json_object_set_new(request, "best", json_real(trial->best));
    json_object_set_new(request, "limit", json_real(limit_s));
    *ran = true;
    return ot_process_ask(&w->process, request, limit_s + PATIENCE_S, &w->options, answer, err);
}

int ot_worker_trial(ot_worker *w, const ot_trial *trial, const ot_measure_policy *policy,
                    ot_arena *arena, ot_trial_result *result, optune_err *err)
{
    const double limit_s = limit_of(w, trial), start = ot_now();
    int lock;
    int status = ot_device_lock(&w->options, &lock, err);
    if (status < 0)
        return status;
    json_t *answer = NULL;
    bool ran;
    optune_err inner = {0};
    status = try_once(w, trial, policy, limit_s, &answer, &ran, &inner);
    if (ran && status == OPTUNE_EWORKER && ot_process_was_killed(&w->process))
        status = try_once(w, trial, policy, limit_s, &answer, &ran, &inner);
    ot_device_unlock(lock);
    if (!w->process.pid)
        w->told = false;
    if (status >= 0 && json_object_get(answer, "error")) {
        status = (int)json_integer_value(json_object_get(answer, "error"));
        optune_fail(err, status, "%s", ot_wire_text(answer, "text"));
    } else if (status >= 0) {
        status = read_result(answer, w->seed, arena, result, err);
    } else if (ran && is_candidates(status)) {
        ended_result(w, status, limit_s, w->seed, arena, result);
        if (status == OPTUNE_EWORKER)
            result->seconds = ot_now() - start;
        status = OPTUNE_OK;
    } else {
        optune_fail(err, status, "%s", inner.text);
    }
    json_decref(answer);
    return status;
}

/* ---- finals ------------------------------------------------------------------------------ */

/* Asks for those that are still in; `which` maps the request's numbers to the caller's. */
static int ask_finals(ot_worker *w, const ot_trial *trial, const bool *out, int n,
                      const ot_measure_policy *policy, double seconds, uint64_t seed,
                      int *which, json_t **answer, bool *ran, optune_err *err)
{
    *ran = false;
    const int status = ensure_workload(w, seed, err);
    if (status < 0)
        return status;
    json_t *candidates = json_array();
    double limit_s = 0;
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (out[i])
            continue;
        json_array_append_new(candidates, candidate_json(&trial[i]));
        limit_s = fmax(limit_s, limit_of(w, &trial[i]));
        which[k++] = i;
    }
    *ran = true;
    return ot_process_ask(&w->process,
                          json_pack("{s:s, s:o, s:o, s:f, s:f}", "do", "finals", "candidates",
                                    candidates, "policy", ot_wire_policy(policy), "seconds",
                                    seconds, "limit", limit_s),
                          limit_s + PATIENCE_S, &w->options, answer, err);
}

static int read_finals(ot_worker *w, const json_t *answer, const int *which, uint64_t seed,
                       ot_arena *arena, ot_trial_result *result, optune_err *err)
{
    const json_t *results = json_object_get(answer, "results");
    for (size_t k = 0; k < json_array_size(results); k++)
        OT_RETURN_UNLESS_OK(
            read_result(json_array_get(results, k), seed, arena, &result[which[k]], err));
    ot_copy(w->counters_why, sizeof w->counters_why, ot_wire_text(answer, "counters_why"));
    return OPTUNE_OK;
}

int ot_worker_finals(ot_worker *w, const ot_trial *trial, int n,
                     const ot_measure_policy *policy, double seconds, ot_arena *arena,
                     ot_trial_result *result, optune_err *err)
{
    bool out[MOST_FINALISTS] = {false}, ran, repeated = false;
    int which[MOST_FINALISTS], left = n, lock;
    if (n > MOST_FINALISTS)
        return optune_fail(err, OPTUNE_ELIMIT, "more than %d finalists", (int)MOST_FINALISTS);
    const uint64_t seed = ot_hash64(&w->seed, sizeof w->seed);
    int status = ot_device_lock(&w->options, &lock, err);
    if (status < 0)
        return status;
    while (left > 0) {
        json_t *answer = NULL;
        optune_err inner = {0};
        status =
            ask_finals(w, trial, out, n, policy, seconds, seed, which, &answer, &ran, &inner);
        if (status >= 0 && json_object_get(answer, "error")) {
            status = (int)json_integer_value(json_object_get(answer, "error"));
            optune_fail(err, status, "%s", ot_wire_text(answer, "text"));
            left = 0;
        } else if (status >= 0) {
            status = read_finals(w, answer, which, seed, arena, result, err);
            left = 0;
        } else if (ran && status == OPTUNE_EWORKER && !repeated &&
                   ot_process_was_killed(&w->process)) {
            repeated = true;
        } else if (ran && is_candidates(status) && w->process.at >= 0 && w->process.at < left) {
            /* It costs itself only: the others are measured again. */
            const int loser = which[w->process.at];
            const double limit_s = limit_of(w, &trial[loser]);
            ended_result(w, status, limit_s, seed, arena, &result[loser]);
            out[loser] = true;
            left--;
            status = OPTUNE_OK;
        } else {
            optune_fail(err, status, "%s", inner.text);
            left = 0;
        }
        json_decref(answer);
        if (!w->process.pid)
            w->told = false;
    }
    ot_device_unlock(lock);
    return status;
}

int ot_worker_peak(ot_worker *w, ot_peaks *peak, optune_err *err)
{
    int lock;
    json_t *answer = NULL;
    int status = ot_device_lock(&w->options, &lock, err);
    if (status < 0)
        return status;
    status = ensure_process(w, err);
    if (status >= 0)
        status = ask_plain(w, json_pack("{s:s}", "do", "peak"), PEAK_S, "measuring the peak",
                           &answer, err);
    ot_device_unlock(lock);
    peak->flops = json_number_value(json_object_get(answer, "flops"));
    peak->bandwidth = json_number_value(json_object_get(answer, "bandwidth"));
    peak->tensor = json_number_value(json_object_get(answer, "tensor"));
    ot_copy(peak->tensor_why, sizeof peak->tensor_why, ot_wire_text(answer, "tensor_why"));
    json_decref(answer);
    return status;
}
