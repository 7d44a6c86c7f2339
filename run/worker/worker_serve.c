/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: answers one request after another until its socket ends. It never loads a candidate
 * (worker_contest.c has one done in a runner), so that whatever one does is an outcome here, and
 * the next one finds everything as it was. The protocol is in worker.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/strays.h"
#include "bring/bring.h"
#include "run/worker/worker_contest.h"

static const double PEAK_S = 60;

/* ---- answers ----------------------------------------------------------------------------- */

static json_t *failure(int status, const optune_err *err)
{
    return json_pack("{s:i, s:s}", "error", status, "text", err->text);
}

static void put_real(json_t *object, const char *name, double value)
{
    if (isfinite(value))
        json_object_set_new(object, name, json_real(value));
}

/* {"told": the worker's fields of a record, "seconds"}. */
static json_t *outcome(const ot_contestant *c, const ot_measured *m, double seconds)
{
    optune_record *told = ot_alloc(sizeof *told);
    told->outcome = c->outcome;
    told->cost = told->low = told->high = INFINITY;
    if (c->outcome == OPTUNE_OUTCOME_OK) {
        told->cost = m->interval.median;
        told->low = m->interval.low;
        told->high = m->interval.high;
        told->sample = m->sample;
        told->n_samples = m->n;
        told->inner = m->inner;
        told->error = c->error;
        told->counters = c->counters[0] ? c->counters : NULL;
    } else {
        told->message = c->text;
    }
    json_t *answer = json_pack("{s:o}", "told", ot_wire_told(told));
    put_real(answer, "seconds", seconds);
    free(told);
    return answer;
}

/* ---- hello, workload --------------------------------------------------------------------- */

/* As much address space as there is memory; what is touched of it is taken. */
static int open_tray(ot_keeper *k, optune_err *err)
{
    struct rlimit most; /* other things need addresses, too */
    k->tray_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur / 4 < (rlim_t)k->tray_bytes)
        k->tray_bytes = (int64_t)(most.rlim_cur / 4);
    void *map = mmap(NULL, (size_t)k->tray_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return optune_fail(err, OPTUNE_ENOMEM, "no memory to share with candidates: %s",
                           strerror(errno));
    k->tray = map;
    return OPTUNE_OK;
}

/* A kernel's file that was edited since the asking process read it would make other plans. That is
 * the matter of its own workloads only: all files that are remembered come along. */
static void load_brought(ot_keeper *k, const char *path, const char *digest)
{
    optune_err err = {0};
    const ot_brought *brought =
        ot_rows_load(path, ot_target_add, &err) < 0 ? NULL : ot_brought_of_path(path);
    if (!brought || strcmp(brought->digest, digest) != 0)
        json_object_set_new(k->edited, brought ? brought->op.name : "", json_string(path));
}

static int load_rows(ot_keeper *k, const json_t *request, optune_err *err)
{
    size_t i;
    json_t *plugin;
    const json_t *digests = json_object_get(request, "digests");
    k->edited = json_object();
    json_array_foreach(json_object_get(request, "plugins"), i, plugin)
    {
        const char *path = json_string_value(plugin);
        const char *digest = json_string_value(json_array_get(digests, i));
        if (digest && *digest)
            load_brought(k, path, digest);
        else
            OT_RETURN_UNLESS_OK(ot_rows_load(path, ot_target_add, err));
    }
    return OPTUNE_OK;
}

/* Whether the operator of this call is as the asking process knows it; one that it knows and we do
 * not is of a file that cannot be read any more. */
static int check_edited(const ot_keeper *k, const char *call, optune_err *err)
{
    char op[OPTUNE_NAME_SIZE];
    snprintf(op, sizeof op, "%.*s", (int)strcspn(call, "("), call);
    const json_t *path = json_object_get(k->edited, op);
    if (!path && !ot_op_find(op))
        path = json_object_get(k->edited, "");
    return path ? optune_fail(err, OPTUNE_ECONFLICT,
                              "'%s' was edited while it is tuned; start again: what was "
                              "measured is stored",
                              json_string_value(path))
                : OPTUNE_OK;
}

static int hello(ot_keeper *k, const json_t *request, optune_err *err)
{
    const int64_t abi = json_integer_value(json_object_get(request, "abi"));
    if (strcmp(ot_wire_text(request, "version"), OT_VERSION) != 0 || abi != OPTUNE_ABI)
        return optune_fail(err, OPTUNE_EVERSION,
                           "the worker is version %s (ABI %d), its caller is %s (ABI %d)",
                           OT_VERSION, OPTUNE_ABI, ot_wire_text(request, "version"), (int)abi);
    char sources[33];
    ot_sources_digest(sources);
    if (strcmp(ot_wire_text(request, "sources"), sources) != 0)
        return optune_fail(err, OPTUNE_EVERSION,
                           "the worker was built of other sources than its caller: build or "
                           "install both together");
    int status = load_rows(k, request, err);
    if (status < 0)
        return status;
    status = ot_target_parse(ot_wire_text(request, "target"), &k->target, err);
    if (status >= 0)
        status = ot_wire_read_device(json_object_get(request, "device"), &k->device, err);
    if (status < 0)
        return status;
    k->target.threads = k->device.threads;
    const optune_target_row *row = ot_target_find(k->target.kind);
    if (!row)
        return optune_fail(err, OPTUNE_ENOENT, "no target '%s' in the worker", k->target.kind);
    k->row = &row->worker;
    /* What runs in the memory of its process can do anything to it. A device's driver takes long
     * to start, and its kernels are elsewhere. */
    k->fresh = k->row->address != NULL;
    if (k->fresh) { /* what every runner would have to find out again */
        ot_cpu_place(0);
        ot_cpu_spins(0);
    }
    status = open_tray(k, err);
    ot_runner *runner;
    if (status >= 0)
        status = ot_keeper_runner(k, 0, &runner, err);
    if (status >= 0 && k->fresh)
        ot_runner_end(runner, k->runner, OT_MOST_SLOTS);
    k->open = status >= 0;
    return status;
}

/* {"ok"}, and "left", of each output what its reference does not write, where there is any. */
static json_t *prepared(const ot_inputs *in)
{
    json_t *answer = json_pack("{s:b}", "ok", 1), *left = json_array();
    bool any = false;
    for (int i = 0; i < in->call.n_outputs; i++) {
        int64_t most = 0;
        for (int set = 0; set < OT_SETS; set++)
            most = in->reference[set].left[i] > most ? in->reference[set].left[i] : most;
        json_array_append_new(left, json_integer(most));
        any = any || most;
    }
    if (any)
        json_object_set(answer, "left", left);
    json_decref(left);
    return answer;
}

static int workload(ot_keeper *k, const json_t *request, optune_err *err)
{
    /* A GPU has no threads, and this machine's cores are idle while it works. */
    const int threads =
        k->device.threads > 0 ? k->device.threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    ot_keeper_say(k, "computing the reference", false, NULL);
    ot_inputs_close(&k->inputs);
    k->ready = k->told = false;
    free(k->call);
    k->call = ot_strdup(ot_wire_text(request, "call"));
    OT_RETURN_UNLESS_OK(check_edited(k, k->call, err));
    /* What the last one's tensors took is given back. */
    madvise(k->tray, (size_t)k->tray_bytes, MADV_REMOVE);
    int status = ot_inputs_open(
        &k->inputs, k->call, ot_wire_read_u64(json_object_get(request, "seed")),
        ot_wire_text(request, "reference"), threads,
        &(ot_reference_limits){.target = &k->target, .device = &k->device, .asker = &k->fd},
        err);
    if (status >= 0 &&
        (k->inputs.in_bytes > k->tray_bytes || k->inputs.out_bytes > k->tray_bytes))
        status = optune_fail(err, OPTUNE_ENOMEM,
                             "the workload's tensors take %.3g GB, of %.3g GB that candidates "
                             "can be given (memory, and a quarter of ulimit -v)",
                             (double)(k->inputs.in_bytes + k->inputs.out_bytes) * 1e-9,
                             (double)k->tray_bytes * 1e-9);
    k->ready = status >= 0;
    ot_runner *runner;
    if (status >= 0 && !k->fresh)
        status = ot_keeper_runner(k, 0, &runner, err); /* the device may have no room for it */
    k->ready = status >= 0;
    return status;
}

/* ---- trials ------------------------------------------------------------------------------ */

static ot_contestant contestant(ot_keeper *k, const json_t *request, int index, int slot,
                                const ot_measure_policy *policy, double limit_s)
{
    return (ot_contestant){
        .keeper = k,
        .request = request,
        .policy = policy,
        .index = index,
        .slot = slot,
        .limit_s = limit_s,
    };
}

/* The policy of a request, for a clock that may be no clock. */
static int policy_of(const ot_keeper *k, const json_t *request, ot_measure_policy *policy,
                     optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_wire_read_policy(json_object_get(request, "policy"), policy, err));
    policy->costs = k->row && k->row->costs;
    policy->lasted = ot_contest_lasted;
    return OPTUNE_OK;
}

static double limit_of(const json_t *request)
{
    const double limit_s = ot_wire_real(request, "limit");
    return isfinite(limit_s) && limit_s > 0 ? limit_s : 20;
}

static int run_trial(ot_contestant *c, double best, ot_measured *m, optune_err *err)
{
    ot_keeper *k = c->keeper;
    if (!k->ready)
        return optune_fail(err, OPTUNE_EUSAGE, "no workload was set");
    const int status = ot_contest_prepare(c, err);
    if (status < 0)
        return status;
    if (c->outcome == OPTUNE_OUTCOME_OK) {
        c->doing = "measuring";
        ot_keeper_say(k, c->doing, true, c->runner);
        ot_measure(c->policy, best, ot_contest_time, c, m);
        ot_keeper_measured(k);
        ot_contest_verdict(c, m);
        ot_contest_pace(c);
    }
    ot_contest_end(c);
    return OPTUNE_OK;
}

/* Somebody may kill a runner; once, that is forgiven. */
static void say_killed(ot_contestant *c)
{
    char text[sizeof c->text];
    if (!c->killed)
        return;
    ot_copy(text, sizeof text, c->text);
    snprintf(c->text, sizeof c->text, "the worker was killed from outside twice: %.900s", text);
}

static json_t *trial(ot_keeper *k, const json_t *request, optune_err *err)
{
    ot_measure_policy policy;
    int status = policy_of(k, request, &policy, err);
    const double start = ot_now();
    ot_measured *m = ot_alloc(sizeof *m);
    ot_contestant c = {0};
    k->refused = (optune_err){0};
    for (int tries = 0; status >= 0 && tries < 2; tries++) {
        ot_modules_hold(k, request);
        c = contestant(k, request, -1, 0, &policy, limit_of(request));
        status = run_trial(&c, ot_wire_real(request, "best"), m, err);
        if (!c.killed)
            break;
    }
    say_killed(&c);
    if (status >= 0 && k->refused.status < 0)
        status = optune_fail(err, k->refused.status, "%s", k->refused.text);
    json_t *answer = status < 0 ? failure(status, err) : outcome(&c, m, ot_now() - start);
    free(m);
    return answer;
}

/* ---- finals ------------------------------------------------------------------------------ */

typedef struct final {
    ot_keeper *keeper;
    int n;
    ot_contestant *c;
    ot_measured *m;
    json_t **result; /* NULL: to come */
    ot_measure_policy policy;
    double seconds, start;
} final;

static void set_result(final *f, int i)
{
    f->result[i] = outcome(&f->c[i], &f->m[i], (ot_now() - f->start) / f->n);
}

/* Those from `from` on, `n` of them, in turns. Where they share a runner that ends, all that are
 * left begin again without the one whose turn it was: true. */
static int measure_some(final *f, int from, int n, bool *again, optune_err *err)
{
    ot_keeper *k = f->keeper;
    void *good[OT_MOST_SLOTS];
    ot_measured *m = ot_alloc((size_t)(n + 1) * sizeof *m);
    int which[OT_MOST_SLOTS], n_good = 0, status = OPTUNE_OK;
    bool lost = false;
    for (int i = from; i < from + n && status >= 0 && !lost; i++) {
        if (f->result[i])
            continue;
        const ot_contestant before = f->c[i];
        status = ot_contest_prepare(&f->c[i], err);
        if (status >= 0 && f->c[i].killed && k->fresh) {
            f->c[i] = before;
            status = ot_contest_prepare(&f->c[i], err);
            say_killed(&f->c[i]);
        }
        lost = f->c[i].lost && !k->fresh;
        if (status >= 0 && f->c[i].outcome == OPTUNE_OUTCOME_OK) {
            which[n_good] = i;
            good[n_good++] = &f->c[i];
        }
    }
    if (status >= 0 && !lost && n_good) {
        for (int i = 0; i < n_good; i++)
            f->c[which[i]].doing = "measuring";
        ot_keeper_say(k, "measuring", true, f->c[which[0]].runner);
        ot_measure_together(&f->policy, ot_contest_time, good, n_good, f->seconds,
                            k->inputs.seed, m);
        ot_keeper_measured(k);
        for (int i = 0; i < n_good; i++) {
            ot_contestant *c = &f->c[which[i]];
            f->m[which[i]] = m[i];
            lost = lost || (c->lost && !k->fresh);
            if (!lost)
                ot_contest_verdict(c, &m[i]);
            if (!lost && c->outcome == OPTUNE_OUTCOME_OK)
                ot_contest_counters(c, &m[i]);
            lost = lost || (c->lost && !k->fresh);
        }
    }
    for (int i = from; i < from + n && status >= 0; i++) {
        ot_contestant *c = &f->c[i];
        if (!lost && !f->result[i])
            ot_contest_end(c);
        if (!f->result[i] && (!lost || c->lost))
            set_result(f, i);
    }
    *again = lost && status >= 0;
    free(m);
    return status;
}

/* Each has buffers of its own where it has a process of its own: as many at once as there is
 * memory for. */
static int at_once(const ot_keeper *k, int64_t footprint, int n)
{
    const double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double each = (double)(k->inputs.in_bytes + k->inputs.out_bytes + footprint) + 1;
    return k->fresh ? (int)fmax(1, fmin(n, free_bytes / 2 / each)) : n;
}

static int run_finals(final *f, const json_t *candidates, double limit_s, optune_err *err)
{
    const int most = at_once(f->keeper, f->policy.footprint, f->n);
    int status = OPTUNE_OK;
    for (int from = 0; from < f->n && status >= 0; from += most) {
        const int n = f->n - from < most ? f->n - from : most;
        for (bool again = true; again && status >= 0 && !f->keeper->gone;) {
            f->keeper->at = -1;
            for (int i = from; i < from + n; i++)
                if (!f->result[i])
                    f->c[i] = contestant(f->keeper, json_array_get(candidates, (size_t)i), i,
                                         i - from, &f->policy, limit_s);
            status = measure_some(f, from, n, &again, err);
        }
    }
    return status;
}

static json_t *finals(ot_keeper *k, const json_t *request, optune_err *err)
{
    const json_t *candidates = json_object_get(request, "candidates");
    const int n = (int)json_array_size(candidates);
    final f = {
        .keeper = k, .n = n, .seconds = ot_wire_real(request, "seconds"), .start = ot_now()};
    int status = policy_of(k, request, &f.policy, err);
    if (status >= 0 && n > OT_MOST_SLOTS)
        status = optune_fail(err, OPTUNE_ELIMIT, "more than %d finalists", (int)OT_MOST_SLOTS);
    if (status >= 0 && !k->ready)
        status = optune_fail(err, OPTUNE_EUSAGE, "no workload was set");
    if (status < 0)
        return failure(status, err);
    f.c = ot_alloc((size_t)(n + 1) * sizeof *f.c);
    f.m = ot_alloc((size_t)(n + 1) * sizeof *f.m);
    f.result = ot_alloc((size_t)(n + 1) * sizeof(json_t *));
    for (int i = 0; i < n; i++)
        ot_modules_hold(k, json_array_get(candidates, (size_t)i));
    k->refused = (optune_err){0};
    status = run_finals(&f, candidates, limit_of(request), err);
    if (status >= 0 && k->refused.status < 0)
        status = optune_fail(err, k->refused.status, "%s", k->refused.text);
    json_t *results = json_array();
    const char *why = "";
    for (int i = 0; i < n; i++) {
        if (f.c[i].why[0])
            why = f.c[i].why;
        if (f.result[i])
            json_array_append_new(results, f.result[i]);
    }
    json_t *answer = status < 0
                         ? failure(status, err)
                         : json_pack("{s:O, s:s}", "results", results, "counters_why", why);
    json_decref(results);
    free(f.c);
    free(f.m);
    free(f.result);
    return answer;
}

static json_t *peak(ot_keeper *k, optune_err *err)
{
    static ot_report report;
    ot_runner *runner;
    ot_order what = {.deed = OT_DO_PEAK};
    char why[OPTUNE_WHY_SIZE];
    ot_spent spent;
    const bool ready = k->ready;
    k->ready = k->ready && !k->fresh; /* a runner that is no candidate's */
    int status = ot_keeper_runner(k, 0, &runner, err);
    if (status >= 0) {
        ot_keeper_say(k, "measuring the peak", true, runner);
        const ot_end end =
            ot_runner_ask(runner, &what, NULL, ot_now() + PEAK_S, k->fd, &report, &spent);
        ot_keeper_measured(k);
        /* What failed on the device may have broken all that comes behind it. */
        if (end != OT_END_NONE || k->fresh || report.why[0])
            ot_runner_end(runner, k->runner, OT_MOST_SLOTS);
        if (end != OT_END_NONE) {
            ot_runner_end_text(runner, end, "measuring the peak", why, sizeof why);
            status = optune_fail(err, OPTUNE_EWORKER, "%s", why);
        } else if (report.status < 0) {
            status = optune_fail(err, report.status, "%s", report.text);
        }
    }
    k->ready = ready;
    return status < 0
               ? failure(status, err)
               : json_pack("{s:f, s:f, s:f, s:s}", "flops", report.real[0], "bandwidth",
                           report.real[1], "tensor", report.real[2], "tensor_why", report.why);
}

/* ---- the loop ---------------------------------------------------------------------------- */

static json_t *answer_to(ot_keeper *k, const json_t *request)
{
    const char *what = ot_wire_text(request, "do");
    optune_err err = {0};
    int status;
    if (strcmp(what, "hello") == 0)
        status = hello(k, request, &err);
    else if (!k->open)
        status = optune_fail(&err, OPTUNE_EUSAGE, "the worker was not greeted");
    else if (strcmp(what, "workload") == 0)
        status = workload(k, request, &err);
    else if (strcmp(what, "trial") == 0)
        return trial(k, request, &err);
    else if (strcmp(what, "finals") == 0)
        return finals(k, request, &err);
    else if (strcmp(what, "peak") == 0)
        return peak(k, &err);
    else
        status = optune_fail(&err, OPTUNE_EUSAGE, "the worker cannot do '%s'", what);
    if (status >= 0 && strcmp(what, "workload") == 0)
        return prepared(&k->inputs);
    return status < 0 ? failure(status, &err) : json_pack("{s:b}", "ok", 1);
}

/* Orphans of its runners become its children; it is no file of theirs to look into; and where
 * memory runs out it goes before the process that asked, and after its runners. */
static void settle_in(void)
{
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        if (write(score, "500", 3) < 0)
            errno = 0; /* it is as likely as others, then */
        close(score);
    }
    ot_strays_adopt();
    prctl(PR_SET_DUMPABLE, 0);
}

int ot_worker_serve(int fd)
{
    ot_keeper *k = ot_alloc(sizeof *k);
    optune_err err = {0};
    int status = OPTUNE_OK;
    k->fd = fd;
    settle_in();
    while (!k->gone) {
        json_t *request;
        status = ot_wire_receive(fd, -1, &request, &err);
        if (status < 0)
            break;
        const bool bye = strcmp(ot_wire_text(request, "do"), "bye") == 0;
        json_t *answer = bye ? NULL : answer_to(k, request);
        json_decref(request);
        if (bye)
            break;
        status = ot_wire_send(fd, answer, &err);
        if (status < 0)
            break;
    }
    for (int i = 0; i < OT_MOST_SLOTS; i++)
        ot_runner_end(&k->runner[i], k->runner, OT_MOST_SLOTS);
    ot_inputs_close(&k->inputs);
    ot_modules_close(k);
    free(k->call);
    free(k);
    /* A caller that is gone is how most workers end. */
    return status >= 0 || status == OPTUNE_EWORKER ? 0 : 1;
}
