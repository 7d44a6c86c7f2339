/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the machine while the worker measures: whether its cores were really its own. What was
 * measured while they were not is measured again, a few times; what stays so is recorded with how
 * much of the time was somebody else's, beside the hardware counters.
 *
 * The one idea: a second try costs as much as a first one, so only what might win has one, and on a
 * machine that is busy all the time it soon stops, and begins anew with the first quiet moment.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/tune.h"

enum { TRIES = 3, FINAL_TRIES = 2, IN_VAIN = 4 };
static const double OF_THE_REST = 0.1; /* of the run's time, for one more try */

static const struct kind {
    const char *name; /* in a record */
    size_t offset;
    const char *sentence;
} kinds[] = {
    {"machine_waited", offsetof(ot_disturbance, waited),
     "the cores were shared with others for %.0f %% of the time"},
    {"machine_shared", offsetof(ot_disturbance, shared),
     "others ran on the cores for %.0f %% of the time"},
    {"machine_stolen", offsetof(ot_disturbance, stolen),
     "the host gave %.0f %% of the cores' time to other machines"},
    {"machine_throttled", offsetof(ot_disturbance, throttled),
     "the control group's limit stopped the process for %.0f %% of the time"},
    {"machine_hot", offsetof(ot_disturbance, hot), "the cores were slowed by heat"},
};

static double *share_at(const struct kind *kind, ot_disturbance *d)
{
    return (double *)((char *)d + kind->offset);
}

void ot_watch_open(ot_run *run)
{
    ot_watch *w = &run->watch;
    *w = (ot_watch){.root = ""};
    const int threads = run->o->device.threads > 0 ? run->o->target.threads : 0;
    for (int i = 0; i < threads && w->n < OT_COUNT(w->core); i++)
        if (ot_cpu_place(i) >= 0)
            w->core[w->n++] = ot_cpu_place(i);
}

/* false: there is nothing to look at. */
static bool look(ot_run *run, ot_cpu_load *load)
{
    const ot_watch *w = &run->watch;
    pid_t pid[OT_LOAD_PROCESSES];
    const int n = w->n ? ot_worker_pids(run->worker, pid, OT_COUNT(pid)) : 0;
    if (n)
        ot_cpu_load_read(w->root, pid, n, w->core, w->n, load);
    return n > 0;
}

void ot_watch_begin(ot_run *run)
{
    run->watch.watching = look(run, &run->watch.before);
}

void ot_watch_end(ot_run *run)
{
    ot_cpu_load after;
    ot_disturbance d;
    if (run->watch.watching && look(run, &after)) {
        ot_cpu_load_between(&run->watch.before, &after, &d);
        ot_disturbance_add(&run->watch.sum, &d);
    }
    run->watch.watching = false;
}

int ot_watch_idle(ot_run *run, optune_err *err)
{
    static const double LOOK_S = 1, SLICE_S = 0.1, BUSY = 0.1;
    int core[OT_LOAD_THREADS], n = 0;
    while (n < OT_COUNT(core) && ot_cpu_place(n) >= 0) {
        core[n] = ot_cpu_place(n);
        n++;
    }
    for (;;) {
        ot_cpu_load before, after;
        ot_cpu_load_read(run->watch.root, NULL, 0, core, n, &before);
        for (int i = 0; i < (int)(LOOK_S / SLICE_S) && !ot_context_stopped(run->o); i++)
            usleep((useconds_t)(SLICE_S * 1e6));
        ot_cpu_load_read(run->watch.root, NULL, 0, core, n, &after);
        if (ot_context_stopped(run->o))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
        const double all_s = (after.at - before.at) * after.cores;
        const double busy = all_s > 0 ? (after.busy - before.busy) / all_s : 0;
        if (busy < BUSY || ot_now() >= run->end)
            return OPTUNE_OK;
        snprintf(run->waiting_note, sizeof run->waiting_note,
                 "others use %.0f %% of the cores; waiting until they are idle", 100 * busy);
        ot_run_report(run, "waiting", run->waiting_note);
    }
}

/* Whether it is to be measured once more. */
static bool again(ot_run *run, double began, int tries, int most)
{
    ot_watch *w = &run->watch;
    if (!ot_disturbed(&w->sum)) {
        w->in_vain = 0;
        return false;
    }
    w->in_vain += tries > 1;
    const double now = ot_now(), each = (now - began) / tries;
    return tries < most && w->in_vain < IN_VAIN && each < OF_THE_REST * (run->end - now) &&
           !ot_context_stopped(run->o);
}

bool ot_loses_anyway(double low, double best, const ot_disturbance *d, int threads)
{
    return low * (1 - (threads > 1 ? threads : 1) * ot_disturbance_share(d)) > best;
}

void ot_disturbance_lines(const ot_disturbance *d, ot_text *to)
{
    ot_disturbance copy = *d;
    for (int i = 0; i < OT_COUNT(kinds) && ot_disturbed(d); i++)
        if (*share_at(&kinds[i], &copy) > 0.005)
            ot_text_printf(to, "%s=%.2f\n", kinds[i].name, *share_at(&kinds[i], &copy));
}

bool ot_disturbance_of(const char *counters, ot_disturbance *d)
{
    char value[32];
    *d = (ot_disturbance){0};
    for (int i = 0; i < OT_COUNT(kinds) && counters; i++)
        if (ot_lines_get(counters, kinds[i].name, value, sizeof value))
            ot_parse_real(value, share_at(&kinds[i], d));
    return ot_disturbance_share(d) > 0;
}

void ot_disturbance_say(const ot_disturbance *d, ot_text *to)
{
    ot_disturbance copy = *d;
    const char *comma = "";
    for (int i = 0; i < OT_COUNT(kinds); i++) {
        const double share = *share_at(&kinds[i], &copy);
        char sentence[128];
        if (share <= 0)
            continue;
        snprintf(sentence, sizeof sentence, kinds[i].sentence, 100 * share);
        ot_text_printf(to, "%s%s", comma, sentence);
        comma = ", ";
    }
}

/* Beside the hardware counters of a good result. */
static void note(const ot_disturbance *d, ot_arena *arena, ot_trial_result *result)
{
    if (result->outcome != OPTUNE_OUTCOME_OK || !ot_disturbed(d))
        return;
    ot_text lines = {0};
    if (result->counters && *result->counters) {
        ot_text_add(&lines, result->counters);
        if (lines.s[lines.n - 1] != '\n')
            ot_text_add(&lines, "\n");
    }
    ot_disturbance_lines(d, &lines);
    result->counters = ot_arena_copy(arena, ot_text_str(&lines));
    ot_text_release(&lines);
}

int ot_watched_trial(ot_run *run, const ot_trial *trial, ot_arena *arena,
                     ot_trial_result *result, optune_err *err)
{
    const double began = ot_now();
    ot_disturbance least = {0};
    for (int tries = 1;; tries++) {
        ot_trial_result mine = {0};
        run->watch.sum = (ot_disturbance){0};
        const int status = ot_worker_trial(run->worker, trial, &run->policy, arena, &mine, err);
        const double before = tries > 1 ? result->seconds : 0;
        if (status < 0)
            return status;
        const double share = ot_disturbance_share(&run->watch.sum);
        const bool bad = mine.outcome != OPTUNE_OUTCOME_OK;
        if (tries == 1 || bad || share < ot_disturbance_share(&least)) {
            *result = mine;
            least = run->watch.sum;
        }
        result->seconds = before + mine.seconds;
        if (bad ||
            ot_loses_anyway(result->low, trial->best, &least, run->o->device.threads) ||
            !again(run, began, tries, TRIES))
            break;
    }
    note(&least, arena, result);
    return OPTUNE_OK;
}

int ot_watched_finals(ot_run *run, const ot_trial *trial, int n, double seconds,
                      ot_arena *arena, ot_trial_result *result, optune_err *err)
{
    const double began = ot_now();
    ot_disturbance least = {0};
    ot_trial_result *mine = ot_alloc((size_t)n * sizeof *mine);
    int status = OPTUNE_OK;
    for (int tries = 1; status >= 0; tries++) {
        run->watch.sum = (ot_disturbance){0};
        status =
            ot_worker_finals(run->worker, trial, n, &run->policy, seconds, arena, mine, err);
        if (status < 0)
            break;
        const bool better =
            ot_disturbance_share(&run->watch.sum) < ot_disturbance_share(&least);
        for (int i = 0; i < n; i++) /* one that failed at any time has failed */
            if (tries == 1 || mine[i].outcome != OPTUNE_OUTCOME_OK ||
                (better && result[i].outcome == OPTUNE_OUTCOME_OK))
                result[i] = mine[i];
        if (tries == 1 || better)
            least = run->watch.sum;
        if (!again(run, began, tries, FINAL_TRIES))
            break;
    }
    for (int i = 0; i < n && status >= 0; i++)
        note(&least, arena, &result[i]);
    free(mine);
    return status;
}
