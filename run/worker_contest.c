/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper asks of one candidate, step by step, and what each answer makes of it. It is
 * judged by outputs in the keeper's memory and by the keeper's clock; that a runner says that all
 * is well decides nothing.
 *
 * The one idea: a candidate cannot tell a timed run from one that is judged. Inputs are shaken
 * between timed runs; at a moment drawn by lot, and behind the last sample, it is asked about near
 * inputs at the same addresses with the old answer still in its outputs, about the true ones with
 * nothing in them, and to run in a row once more, with what the last run left being judged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "run/worker_contest.h"

/* Inputs are shaken in so many places as take this share of a run. */
static const double SHAKEN = 0.004, SHAKE_S = 20e-9;
enum {
    MOST_SHAKES = 64,
    SPOT_ELEMENTS = 64 << 10,
    MOST_LOADED = 200,
    LOOKS = 5,
    ROW_SHAKES = 16
};
static const double START_S = 30;
static const double ROW_S = 3e-3;        /* of runs in a row behind the last sample */
static const double LONG_S = 5e-3;       /* runs from here on are not looked at in between */
static const double WAY_S = 5e-3;        /* a message's way, on a busy machine */
static const double LAG_S = 150e-6;      /* that a sample's way to the keeper may take */
static const double MUCH_S = 20e-3;      /* a run this long is not done once more for that */
static const double LONG_SAMPLE = 50e-3; /* where that does not matter any more */

/* ---- words ------------------------------------------------------------------------------- */

void ot_keeper_say(ot_keeper *k, const char *doing, bool alone, const ot_runner *runner)
{
    json_t *go = NULL;
    json_t *word = json_pack("{s:s, s:i}", "doing", doing, "pid",
                             runner && runner->pid ? (int)runner->pid : 0);
    if (alone)
        json_object_set_new(word, "alone", json_true());
    if (ot_wire_send(k->fd, word, NULL) < 0 ||
        (alone && ot_wire_receive(k->fd, -1, &go, NULL) < 0))
        k->gone = true;
    json_decref(go);
}

void ot_keeper_measured(ot_keeper *k)
{
    json_t *go = NULL;
    if (!k->gone && (ot_wire_send(k->fd, json_pack("{s:b}", "measured", 1), NULL) < 0 ||
                     ot_wire_receive(k->fd, -1, &go, NULL) < 0))
        k->gone = true;
    json_decref(go);
}

/* Tells whose turn it is: the other side wakes up for it, which must not happen in a sample. */
static void announce(ot_contestant *c)
{
    ot_keeper *k = c->keeper;
    const double now = ot_now();
    if (c->index < 0)
        return;
    c->deadline = now + c->limit_s;
    if (k->at == c->index && now - k->at_time < 1)
        return;
    k->at = c->index;
    k->at_time = now;
    ot_wire_send(k->fd, json_pack("{s:i, s:i}", "at", c->index, "pid", (int)c->runner->pid),
                 NULL);
}

static void begin(ot_contestant *c, const char *doing)
{
    announce(c);
    c->doing = doing;
    ot_keeper_say(c->keeper, doing, false, c->runner);
}

/* ---- orders ------------------------------------------------------------------------------ */

static int end_runner(ot_contestant *c)
{
    ot_keeper *k = c->keeper;
    ot_runner *others = k->runner;
    const int left = ot_runner_end(c->runner, others, OT_MOST_SLOTS);
    k->told = k->fresh && k->told;
    return left;
}

/* The runner gave no report: it is ended, and how it did so is the outcome. */
static bool lose(ot_contestant *c, ot_end end)
{
    end_runner(c);
    c->lost = true;
    c->killed = ot_runner_was_killed(c->runner, end);
    c->outcome = OPTUNE_OUTCOME_CRASH;
    if (WIFEXITED(c->runner->status) && WEXITSTATUS(c->runner->status) == OT_EXIT_CLOSED)
        end = OT_END_CLOSED;
    if (end == OT_END_ALONE) {
        c->keeper->gone = true;
    } else if (end == OT_END_LATE) {
        c->outcome = OPTUNE_OUTCOME_RUN_TIMEOUT;
        snprintf(c->text, sizeof c->text, "it did not end within %g s while %s", c->limit_s,
                 c->doing);
    } else {
        if (end == OT_END_FORGED || end == OT_END_CLOSED)
            c->outcome = OPTUNE_OUTCOME_RUNTIME;
        ot_runner_end_text(c->runner, end, c->doing, c->text, sizeof c->text);
    }
    return false;
}

static bool order_timed(ot_contestant *c, ot_order *order, const ot_enclosed *enclosed,
                        ot_report *report, double *wall)
{
    order->slot = c->slot;
    const ot_end end =
        ot_runner_ask(c->runner, order, enclosed, c->deadline, c->keeper->fd, report, wall);
    if (end != OT_END_NONE)
        return lose(c, end);
    if (report->status >= 0)
        return true;
    c->outcome = report->outcome > OPTUNE_OUTCOME_OK ? report->outcome : OPTUNE_OUTCOME_RUNTIME;
    ot_copy(c->text, sizeof c->text, report->text);
    return false;
}

static bool order(ot_contestant *c, ot_order what, const ot_enclosed *enclosed)
{
    static ot_report report;
    double wall;
    return order_timed(c, &what, enclosed, &report, &wall);
}

static bool put(ot_contestant *c, ot_set set, int kind, uint32_t mask)
{
    ot_inputs_put(&c->keeper->inputs, set, mask, c->keeper->tray);
    return order(c, (ot_order){.deed = OT_DO_PUT, .kind = kind, .mask = mask}, NULL);
}

/* One run whose outputs are judged: ordered as timed ones are, and called from where they are. */
static bool run_once(ot_contestant *c, int kind, bool poison, bool look_around)
{
    return order(c,
                 (ot_order){.deed = OT_DO_TIME,
                            .kind = kind,
                            .count = 1,
                            .poison = poison,
                            .settle = true,
                            .look = look_around},
                 NULL);
}

/* What a run left in the tray, against what this set's answer is. `most` 0: all of it. */
static bool judge(ot_contestant *c, ot_set set, int64_t most)
{
    const ot_inputs *in = &c->keeper->inputs;
    const void *out[OPTUNE_MAX_OUTPUTS] = {0};
    for (int i = 0; i < in->call.n_outputs; i++)
        out[i] = c->keeper->tray + in->out_at[i];
    if (ot_judge(&in->call, c->impl, &in->reference[set], out, most, optune_random(&c->rng),
                 &c->error, c->text, sizeof c->text))
        return true;
    c->outcome = OPTUNE_OUTCOME_WRONG;
    return false;
}

/* ---- runners ----------------------------------------------------------------------------- */

static ot_runner_setup setup_of(const ot_keeper *k)
{
    return (ot_runner_setup){
        .target = &k->target,
        .device = &k->device,
        .call = k->fresh && k->ready ? k->call : NULL,
        .tray = k->tray,
        .once = k->fresh && k->ready,
        .bytes = k->inputs.in_bytes + k->inputs.out_bytes,
    };
}

static int plain(ot_keeper *k, ot_runner *r, int deed, const char *text, optune_err *err)
{
    static ot_report report;
    char why[OPTUNE_ERR_SIZE];
    double wall;
    ot_order what = {.deed = deed};
    const ot_enclosed enclosed = {.text = text};
    const ot_end end =
        ot_runner_ask(r, &what, &enclosed, ot_now() + START_S, k->fd, &report, &wall);
    if (end == OT_END_NONE)
        return report.status < 0 ? optune_fail(err, report.status, "%s", report.text)
                                 : OPTUNE_OK;
    ot_runner_end(r, k->runner, OT_MOST_SLOTS);
    k->gone = k->gone || end == OT_END_ALONE;
    ot_runner_end_text(r, end, "starting", why, sizeof why);
    return optune_fail(err, OPTUNE_EWORKER, "%s", why);
}

int ot_keeper_runner(ot_keeper *k, int slot, ot_runner **runner, optune_err *err)
{
    ot_runner *r = *runner = &k->runner[k->fresh ? slot : 0];
    const ot_runner_setup setup = setup_of(k);
    char what[OPTUNE_WHY_SIZE];
    int status = OPTUNE_OK;
    if (r->pid && slot == 0 &&
        (r->modules >= MOST_LOADED || !ot_runner_unchanged(r, what, sizeof what))) {
        ot_runner_end(r, k->runner, OT_MOST_SLOTS);
        k->told = false;
    }
    if (!r->pid) {
        k->told = false;
        status = ot_runner_start(r, &setup, err);
        if (status >= 0)
            status = plain(k, r, OT_DO_START, NULL, err);
    }
    if (status >= 0 && !k->fresh && k->ready && !k->told)
        status = plain(k, r, OT_DO_WORKLOAD, k->call, err);
    if (status < 0)
        ot_runner_end(r, k->runner, OT_MOST_SLOTS);
    k->told = status >= 0 && k->ready;
    return status;
}

/* ---- before measuring -------------------------------------------------------------------- */

static bool load(ot_contestant *c)
{
    int file[OPTUNE_MAX_MODULES], n;
    begin(c, "loading");
    if (!ot_modules_files(c->keeper, c->request, file, &n, c->text, sizeof c->text)) {
        c->outcome = OPTUNE_OUTCOME_RUNTIME;
        return false;
    }
    char *text = json_dumps(c->request, JSON_COMPACT);
    const ot_enclosed enclosed = {.text = text, .file = file, .n_files = n};
    c->runner->modules += (int)json_array_size(json_object_get(c->request, "modules"));
    const bool loaded = order(c, (ot_order){.deed = OT_DO_LOAD}, &enclosed);
    free(text);
    return loaded;
}

static bool verify(ot_contestant *c)
{
    const uint32_t all = c->keeper->inputs.all;
    if (!load(c))
        return false;
    begin(c, "verifying");
    if (!put(c, OT_SET_FAR, OT_GUARDED, all) ||
        !order(c, (ot_order){.deed = OT_DO_BIND, .kind = OT_GUARDED}, NULL) ||
        !run_once(c, OT_GUARDED, true, true) || !judge(c, OT_SET_FAR, 0) ||
        !order(c, (ot_order){.deed = OT_DO_UNBIND, .kind = OT_GUARDED}, NULL))
        return false;
    begin(c, "preparing to measure");
    /* A body may take another path over aligned buffers. */
    return put(c, OT_SET_TRUE, OT_ALIGNED, all) &&
           order(c,
                 (ot_order){
                     .deed = OT_DO_BIND, .kind = OT_ALIGNED, .footprint = c->policy->footprint},
                 NULL) &&
           run_once(c, OT_ALIGNED, true, true) && judge(c, OT_SET_TRUE, 0);
}

int ot_contest_prepare(ot_contestant *c, optune_err *err)
{
    const char *name = ot_wire_text(c->request, "impl");
    const int status = ot_keeper_runner(c->keeper, c->slot, &c->runner, err);
    if (status < 0)
        return status;
    c->deadline = ot_now() + c->limit_s;
    c->doing = "loading";
    c->rng = c->keeper->inputs.seed ^ ot_hash64(name, strlen(name)) ^ (uint64_t)ot_now_ns();
    c->shakes = 1;
    c->look_at = 2 + (int)optune_random_below(&c->rng, LOOKS);
    c->impl = ot_impl_find(name);
    if (c->impl) {
        verify(c);
    } else {
        c->outcome = OPTUNE_OUTCOME_INSTANTIATION;
        snprintf(c->text, sizeof c->text, "the worker knows no implementation '%s'", name);
    }
    return OPTUNE_OK;
}

/* ---- while measuring --------------------------------------------------------------------- */

/* Near inputs in place of the true ones, whose answer is still in the outputs; then these again. */
static bool look(ot_contestant *c)
{
    const uint32_t variable = c->keeper->inputs.variable;
    const bool told =
        !variable ||
        (put(c, OT_SET_NEAR, OT_ALIGNED, variable) && run_once(c, OT_ALIGNED, false, false) &&
         judge(c, OT_SET_NEAR, SPOT_ELEMENTS) && put(c, OT_SET_TRUE, OT_ALIGNED, variable));
    return told && run_once(c, OT_ALIGNED, true, true) && judge(c, OT_SET_TRUE, SPOT_ELEMENTS);
}

/* *lag: the keeper's time less what was reported, shaking included. */
static bool row_of_runs(ot_contestant *c, int64_t count, bool judged, double *seconds,
                        double *lag)
{
    double wall;
    static ot_report report;
    ot_order what = {
        .deed = OT_DO_TIME,
        .kind = OT_ALIGNED,
        .count = count,
        .seed = optune_random(&c->rng),
        .shakes = judged && c->shakes < ROW_SHAKES ? ROW_SHAKES : c->shakes,
        .poison = judged,
        .settle = judged,
        .look = judged,
        .cold = c->policy->cold,
    };
    if (!order_timed(c, &what, NULL, &report, &wall))
        return false;
    const double whole = fmax(report.seconds, fmin(report.real[0], 2.1 * report.seconds));
    *seconds = report.seconds;
    *lag = wall - whole;
    if (whole >= 0 && whole <= wall * 1.01 + 1e-3)
        return true;
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text, "it says that %.3g s passed in %.3g s", whole, wall);
    return false;
}

double ot_contest_time(void *contestant, int64_t count)
{
    ot_contestant *c = contestant;
    double seconds = -1, lag = 0;
    announce(c);
    if (!row_of_runs(c, count, false, &seconds, &lag))
        return -1;
    /* Where a sample is long against a message's way, the keeper's own clock has the last word. */
    const double wall = seconds + lag;
    if (c->keeper->fresh && !c->policy->cold)
        seconds = fmax(seconds, wall - fmax(WAY_S, wall / 10));
    c->lag[c->n_lags++ % OT_LAGS] = lag;
    c->shakes = (int)fmin(SHAKEN * seconds / (double)count / SHAKE_S, MOST_SHAKES);
    c->shakes = c->shakes < 1 ? 1 : c->shakes;
    if (++c->turns == c->look_at && seconds / (double)count < LONG_S && !look(c))
        return -1;
    return seconds;
}

/* ---- behind the last sample --------------------------------------------------------------- */

/* A reported time that is far from the keeper's own: asked again about runs that take so long that
 * a message's way does not matter, it is either near for once or never. */
static bool honest_clock(ot_contestant *c, const ot_measured *m)
{
    double lag[OT_LAGS], least = INFINITY, reported = 0;
    int64_t count = m->inner;
    const int n = c->n_lags < OT_LAGS ? c->n_lags : OT_LAGS;
    const double share = 0.5, sample = m->interval.median * (double)m->inner;
    memcpy(lag, c->lag, (size_t)n * sizeof *lag);
    const double usual = ot_median_interval(lag, n).median;
    /* The clock of a device counts less than what brings runs to it, and is its driver's. */
    if (c->policy->cold || !c->keeper->fresh || usual < LAG_S + share * sample)
        return true;
    for (int i = 0; i < LOOKS;) {
        double seconds, late;
        announce(c);
        if (!row_of_runs(c, count, false, &seconds, &late))
            return false;
        if (late < share * seconds)
            return true;
        if (late + seconds < LONG_SAMPLE) {
            count *= late + seconds < LONG_SAMPLE / 8 ? 8 : 2;
            continue;
        }
        i++;
        if (late < least) {
            least = late;
            reported = seconds;
        }
    }
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text,
             "too fast to be true: it says that runs took %.3g s which lasted %.3g s", reported,
             reported + least);
    return false;
}

static bool possible(ot_contestant *c, const ot_measured *m)
{
    char why[OPTUNE_WHY_SIZE];
    const double least =
        ot_least_seconds(&c->keeper->inputs.call, &c->keeper->device, why, sizeof why);
    if (m->interval.median >= least)
        return true;
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text,
             "too fast to be true: %.3g s, and %s take %.3g s at least", m->interval.median,
             why, least);
    return false;
}

/* Once more as in a sample, over outputs with nothing in them. */
static bool last_row(ot_contestant *c, const ot_measured *m)
{
    double seconds, lag;
    const double runs = fmin((double)m->inner, ROW_S / fmax(m->interval.median, 1e-9));
    if (runs < 2 && m->interval.median > MUCH_S)
        return true; /* a look says nearly the same */
    return row_of_runs(c, runs < 2 ? 2 : (int64_t)runs, true, &seconds, &lag) &&
           judge(c, OT_SET_TRUE, SPOT_ELEMENTS);
}

void ot_contest_verdict(ot_contestant *c, const ot_measured *m)
{
    announce(c);
    c->doing = "verifying what was measured";
    if (c->outcome == OPTUNE_OUTCOME_OK && m->failed) {
        c->outcome = OPTUNE_OUTCOME_RUNTIME;
        ot_copy(c->text, sizeof c->text, "it could not be measured");
    }
    /* Of one that is slower than the best anyway, a look between its samples is enough. */
    if (c->outcome == OPTUNE_OUTCOME_OK)
        c->passed =
            possible(c, m) && honest_clock(c, m) && (m->gave_up || (last_row(c, m) && look(c)));
}

void ot_contest_counters(ot_contestant *c)
{
    static ot_report report;
    double wall;
    if (!c->keeper->row->counters)
        return;
    announce(c);
    c->doing = "counting events";
    ot_keeper_say(c->keeper, c->doing, true, c->runner);
    ot_order what = {.deed = OT_DO_COUNTERS, .kind = OT_ALIGNED};
    if (order_timed(c, &what, NULL, &report, &wall)) {
        ot_copy(c->counters, sizeof c->counters, report.text);
        ot_copy(c->why, sizeof c->why, report.why);
    }
}

void ot_contest_end(ot_contestant *c)
{
    if (c->lost || !c->runner || !c->runner->pid)
        return;
    c->deadline = ot_now() + c->limit_s;
    c->doing = "unloading";
    if (c->outcome == OPTUNE_OUTCOME_OK || !c->keeper->fresh)
        order(c, (ot_order){.deed = OT_DO_UNLOAD}, NULL);
    if (!c->keeper->fresh || c->lost)
        return;
    const int left = end_runner(c);
    if (left > 0 && c->outcome == OPTUNE_OUTCOME_OK) {
        c->outcome = OPTUNE_OUTCOME_RUNTIME;
        snprintf(c->text, sizeof c->text, "it left %d process%s behind", left,
                 left > 1 ? "es" : "");
    }
}
