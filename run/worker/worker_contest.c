/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper asks of one candidate, step by step, and what each answer makes of it. It is
 * judged by outputs in the keeper's memory and by the keeper's clock; that a runner says that all
 * is well decides nothing.
 *
 * The one idea: a candidate cannot tell a timed run from one that is judged. Inputs are shaken
 * between timed runs; at a moment drawn by lot, and behind the last sample, it is asked about near
 * inputs at the same addresses with the old answer still in its outputs, about the true ones with
 * nothing in them, and to run in a row once more (worker_verdict.c), with what the last run left
 * being judged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "run/worker/worker_contest.h"

/* Inputs are shaken in so many places as take this share of a run. */
static const double SHAKEN = 0.004, SHAKE_S = 20e-9;
enum {
    MOST_SHAKES = 64,
    MOST_LOADED = 200,
    LOOKS = 5,
    ROW_SHAKES = 16,
};
static const double START_S = 30;
static const double LONG_S = 5e-3; /* runs from here on are not looked at in between */
static const double WAY_S = 5e-3;  /* a message's way, on a busy machine */

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
void ot_contest_announce(ot_contestant *c)
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
    ot_contest_announce(c);
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
        if (c->keeper->fresh && !c->killed && c->outcome == OPTUNE_OUTCOME_CRASH)
            ot_runner_threads(c->keeper->device.threads, &c->keeper->refused);
        ot_runner_end_text(c->runner, end, c->doing, c->text, sizeof c->text);
    }
    return false;
}

static bool order_timed(ot_contestant *c, ot_order *order, const ot_enclosed *enclosed,
                        ot_report *report, ot_spent *spent)
{
    order->slot = c->slot;
    const ot_end end =
        ot_runner_ask(c->runner, order, enclosed, c->deadline, c->keeper->fd, report, spent);
    if (end != OT_END_NONE)
        return lose(c, end);
    if (report->made_room)
        memset(c->keeper->stocked, 0, sizeof c->keeper->stocked);
    if (report->status >= 0)
        return true;
    c->outcome = report->outcome > OPTUNE_OUTCOME_OK ? report->outcome : OPTUNE_OUTCOME_RUNTIME;
    ot_copy(c->text, sizeof c->text, report->text);
    return false;
}

static bool order(ot_contestant *c, ot_order what, const ot_enclosed *enclosed)
{
    static ot_report report;
    ot_spent spent;
    return order_timed(c, &what, enclosed, &report, &spent);
}

static bool put(ot_contestant *c, ot_set set, int kind, uint64_t mask)
{
    static ot_report report;
    ot_keeper *k = c->keeper;
    ot_spent spent;
    ot_order what = {.deed = OT_DO_PUT, .kind = kind, .set = (int)set, .mask = mask};
    for (bool put = false; !put;) {
        what.fresh = mask & ~k->stocked[set];
        c->leans = c->leans || (mask & ~what.fresh & ~c->own[set]);
        ot_inputs_put(&k->inputs, set, what.fresh, k->tray);
        put = order_timed(c, &what, NULL, &report, &spent);
        /* What was to be copied made room for what it was to be copied to. */
        if (!put && (c->lost || !report.made_room || what.fresh == mask))
            return false;
    }
    c->outcome = OPTUNE_OUTCOME_OK;
    c->own[set] |= what.fresh;
    k->stocked[set] |= report.held & mask;
    return true;
}

/* Somebody else may have written to what the device held for both: true, and inputs are brought
 * anew, where this one's fault is not sure. */
static bool deserves_another(ot_contestant *c)
{
    if (c->outcome != OPTUNE_OUTCOME_WRONG || !c->leans)
        return false;
    memset(c->keeper->stocked, 0, sizeof c->keeper->stocked);
    c->leans = false;
    c->outcome = OPTUNE_OUTCOME_OK;
    c->text[0] = '\0';
    return true;
}

/* Whether outputs stay on the device until it is known which part of them is judged. */
static bool stays(const ot_contestant *c)
{
    return !c->keeper->fresh && c->keeper->row->read_at;
}

/* One run whose outputs are judged: ordered as timed ones are, and called from where they are. */
static bool run_over(ot_contestant *c, int kind, bool poison, bool numbers, bool look_around)
{
    return order(c,
                 (ot_order){.deed = OT_DO_TIME,
                            .kind = kind,
                            .count = 1,
                            .poison = poison,
                            .numbers = numbers,
                            .settle = true,
                            .stay = stays(c),
                            .look = look_around,
                            .rest = c->preparing},
                 NULL);
}

static bool run_once(ot_contestant *c, int kind, bool poison, bool look_around)
{
    return run_over(c, kind, poison, false, look_around);
}

static void name_pieces(const ot_inputs *in, const ot_reference *reference, int64_t most,
                        uint64_t where, ot_text *to)
{
    const ot_block *block[OT_REFERENCE_BLOCKS];
    const int n = most ? ot_judged_blocks(reference, most, where, block) : 0;
    for (int i = 0; i < n; i++) {
        const optune_tensor *type = &in->call.output[block[i]->output];
        const int64_t each = optune_tensor_bytes(type) / optune_tensor_elements(type);
        ot_text_printf(to, "%d %lld %lld;", (int)block[i]->output,
                       (long long)(block[i]->offset * each),
                       (long long)(block[i]->count * each));
    }
    for (int i = 0; i < in->call.n_outputs && !most; i++)
        ot_text_printf(to, "%d 0 %lld;", i,
                       (long long)optune_tensor_bytes(&in->call.output[i]));
}

/* From the device, what is judged. */
static bool fetch(ot_contestant *c, const ot_reference *reference, int kind, int64_t most,
                  uint64_t where)
{
    ot_text text = {0};
    if (!stays(c))
        return true;
    name_pieces(&c->keeper->inputs, reference, most, where, &text);
    const ot_enclosed enclosed = {.text = ot_text_str(&text)};
    const bool got = order(c, (ot_order){.deed = OT_DO_FETCH, .kind = kind}, &enclosed);
    ot_text_release(&text);
    return got;
}

/* What a run left in the tray, against what this set's answer is. `most` 0: all of it. */
bool ot_contest_judge(ot_contestant *c, ot_set set, int kind, int64_t most)
{
    const ot_inputs *in = &c->keeper->inputs;
    const void *out[OPTUNE_MAX_OUTPUTS] = {0};
    const uint64_t where = optune_random(&c->rng);
    if (!fetch(c, &in->reference[set], kind, most, where))
        return false;
    for (int i = 0; i < in->call.n_outputs; i++)
        out[i] = c->keeper->tray + in->out_at[i];
    if (ot_judge(&in->call, c->impl, &in->reference[set], out, most, where, &c->error, c->text,
                 sizeof c->text))
        return true;
    c->outcome = OPTUNE_OUTCOME_WRONG;
    return false;
}

/* One run, and all of its outputs. Where NaN is right, what was not written shows over numbers. */
static bool run_judged(ot_contestant *c, ot_set set, int kind)
{
    return run_once(c, kind, true, true) && ot_contest_judge(c, set, kind, 0) &&
           (!c->keeper->inputs.reference[set].nan ||
            (run_over(c, kind, true, true, true) && ot_contest_judge(c, set, kind, 0)));
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

static int plain(ot_keeper *k, ot_runner *r, int deed, const ot_enclosed *enclosed,
                 optune_err *err)
{
    static ot_report report;
    char why[OPTUNE_ERR_SIZE];
    ot_spent spent;
    ot_order what = {.deed = deed};
    const ot_end end =
        ot_runner_ask(r, &what, enclosed, ot_now() + START_S, k->fd, &report, &spent);
    if (end == OT_END_NONE)
        return report.status < 0 ? optune_fail(err, report.status, "%s", report.text)
                                 : OPTUNE_OK;
    ot_runner_end(r, k->runner, OT_MOST_SLOTS);
    k->gone = k->gone || end == OT_END_ALONE;
    ot_runner_end_text(r, end, "starting", why, sizeof why);
    return optune_fail(err, OPTUNE_EWORKER, "%s", why);
}

/* To a lasting runner, with what compares large inputs, which no candidate's time goes into. */
static int tell_workload(ot_keeper *k, ot_runner *r, optune_err *err)
{
    int file;
    const int n = ot_modules_same(k, &file);
    const ot_enclosed enclosed = {.text = k->call, .file = &file, .n_files = n};
    return plain(k, r, OT_DO_WORKLOAD, &enclosed, err);
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
    if (!k->told) /* what the runner before held, or of another workload */
        memset(k->stocked, 0, sizeof k->stocked);
    if (status >= 0 && !k->fresh && k->ready && !k->told)
        status = tell_workload(k, r, err);
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
    const uint64_t all = c->keeper->inputs.all;
    if (!load(c))
        return false;
    begin(c, "verifying");
    if (!put(c, OT_SET_FAR, OT_GUARDED, all) ||
        !order(c, (ot_order){.deed = OT_DO_BIND, .kind = OT_GUARDED, .rest = true}, NULL) ||
        !run_judged(c, OT_SET_FAR, OT_GUARDED) ||
        !order(c, (ot_order){.deed = OT_DO_UNBIND, .kind = OT_GUARDED}, NULL))
        return false;
    begin(c, "preparing to measure");
    /* A body may take another path over aligned buffers. */
    return put(c, OT_SET_TRUE, OT_ALIGNED, all) &&
           order(c,
                 (ot_order){.deed = OT_DO_BIND,
                            .kind = OT_ALIGNED,
                            .footprint = c->policy->footprint,
                            .rest = true},
                 NULL) &&
           run_judged(c, OT_SET_TRUE, OT_ALIGNED);
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
    c->preparing = true;
    if (c->impl) {
        if (!verify(c) && deserves_another(c)) {
            c->error = 0;
            c->deadline = ot_now() + c->limit_s;
            if (order(c, (ot_order){.deed = OT_DO_UNLOAD}, NULL))
                verify(c);
        }
    } else {
        c->outcome = OPTUNE_OUTCOME_INSTANTIATION;
        snprintf(c->text, sizeof c->text, "the worker knows no implementation '%s'", name);
    }
    c->preparing = false;
    return OPTUNE_OK;
}

/* ---- while measuring --------------------------------------------------------------------- */

bool ot_contest_leaves(const ot_contestant *c, int set)
{
    const ot_inputs *in = &c->keeper->inputs;
    for (int i = 0; i < in->call.n_outputs; i++)
        if (in->reference[set].left[i] > 0)
            return true;
    return false;
}

/* Near inputs in place of the true ones, whose answer is still in the outputs; then these again. */
static bool look(ot_contestant *c)
{
    const uint64_t variable = c->keeper->inputs.variable;
    const bool told =
        !variable || (put(c, OT_SET_NEAR, OT_ALIGNED, variable) &&
                      run_once(c, OT_ALIGNED, ot_contest_leaves(c, OT_SET_NEAR), false) &&
                      ot_contest_judge(c, OT_SET_NEAR, OT_ALIGNED, OT_SPOT_ELEMENTS) &&
                      put(c, OT_SET_TRUE, OT_ALIGNED, variable));
    return told && run_once(c, OT_ALIGNED, true, true) &&
           ot_contest_judge(c, OT_SET_TRUE, OT_ALIGNED, OT_SPOT_ELEMENTS);
}

bool ot_contest_look(ot_contestant *c)
{
    const double error = c->error;
    c->leans = false;
    if (look(c))
        return true;
    if (!deserves_another(c))
        return false;
    c->error = error;
    return look(c);
}

bool ot_contest_row(ot_contestant *c, int64_t count, bool judged, double *seconds, double *lag)
{
    ot_spent spent;
    static ot_report report;
    ot_order what = {
        .deed = OT_DO_TIME,
        .kind = OT_ALIGNED,
        .count = count,
        .seed = optune_random(&c->rng),
        .shakes = judged && c->shakes < ROW_SHAKES ? ROW_SHAKES : c->shakes,
        .poison = judged,
        .settle = judged,
        .stay = stays(c),
        .look = judged,
        .cold = c->policy->cold,
        .pace = c->paced,
    };
    if (!order_timed(c, &what, NULL, &report, &spent))
        return false;
    const double wall = spent.wall;
    c->row = spent;
    if (report.real[2] > 0 && c->n_paces < OT_MAX_SAMPLES)
        c->pace[c->n_paces++] = report.real[2];
    c->spent.wall += wall;
    c->spent.cpu += spent.cpu;
    const double whole = fmax(report.seconds, fmin(report.real[0], 2.1 * report.seconds));
    *seconds = report.seconds;
    const double apart = fmin(fmax(report.real[1], 0), fmax(wall - whole, 0));
    c->apart = apart / (double)count;
    *lag = wall - whole - apart;
    if (c->keeper->row->costs || (whole >= 0 && whole <= wall * 1.01 + 1e-3))
        return true;
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text, "it says that %.3g s passed in %.3g s", whole, wall);
    return false;
}

double ot_contest_time(void *contestant, int64_t count)
{
    ot_contestant *c = contestant;
    double seconds = -1, lag = 0;
    ot_contest_announce(c);
    c->paced = c->index < 0; /* finals have rounds */
    const bool measured = ot_contest_row(c, count, false, &seconds, &lag);
    c->paced = false;
    if (!measured)
        return -1;
    /* Where a sample is long against a message's way, the keeper's own clock has the last word. */
    const double wall = seconds + lag;
    if (c->keeper->fresh && !c->policy->cold)
        seconds = fmax(seconds, wall - fmax(WAY_S, wall / 10));
    c->shakes = (int)fmin(SHAKEN * seconds / (double)count / SHAKE_S, MOST_SHAKES);
    c->shakes = c->shakes < 1 ? 1 : c->shakes;
    c->lasted = c->keeper->row->costs ? c->row.wall : seconds + c->apart * (double)count;
    if (++c->turns == c->look_at && c->lasted / (double)count < LONG_S && !ot_contest_look(c))
        return -1;
    return seconds;
}

double ot_contest_lasted(void *contestant)
{
    return ((const ot_contestant *)contestant)->lasted;
}

static void count_events(ot_contestant *c)
{
    static ot_report report;
    ot_spent spent;
    ot_contest_announce(c);
    c->doing = "counting events";
    ot_keeper_say(c->keeper, c->doing, true, c->runner);
    ot_order what = {.deed = OT_DO_COUNTERS, .kind = OT_ALIGNED};
    if (order_timed(c, &what, NULL, &report, &spent)) {
        ot_copy(c->counters, sizeof c->counters, report.text);
        ot_copy(c->why, sizeof c->why, report.why);
    }
}

void ot_contest_counters(ot_contestant *c, const ot_measured *m)
{
    if (c->keeper->row->counters)
        count_events(c);
    const size_t n = strlen(c->counters);
    if (m->left_out && c->outcome == OPTUNE_OUTCOME_OK)
        snprintf(c->counters + n, sizeof c->counters - n, "%srounds_left_out=%d\n",
                 n && c->counters[n - 1] != '\n' ? "\n" : "", m->left_out);
}

void ot_contest_pace(ot_contestant *c)
{
    if (c->n_paces && c->outcome == OPTUNE_OUTCOME_OK)
        ot_format(c->counters, sizeof c->counters, "pace=%.4g\n",
                  ot_median_interval(c->pace, c->n_paces).median);
}

void ot_contest_end(ot_contestant *c)
{
    /* Who wrote where it must not may have written to what the device holds, too. */
    if (c->outcome != OPTUNE_OUTCOME_OK)
        memset(c->keeper->stocked, 0, sizeof c->keeper->stocked);
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
