/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trial for each workload, before any gets a second one: where the time is short an answer to
 * every question is worth more than a good one to the first. All compile beside each other.
 */
#include <stdlib.h>
#include <string.h>

#include "tuner/tuning.h"

typedef struct firsts {
    ot_run *run;
    ot_tuning **all; /* NULL: nothing computes it, or it cannot be */
    ot_tuned *tuned;
    int n;
} firsts;

/* Those that wait for their trial: the first that is built, or else (*built false) the first. NULL:
 * none is left. */
static ot_tuning *next(const firsts *f, bool *built)
{
    ot_tuning *waiting = NULL;
    for (int i = 0; i < f->n; i++) {
        if (!f->all[i] || f->tuned[i].failed || !f->all[i]->n_queued)
            continue;
        *built = f->all[i]->queue[0]->job.done;
        if (*built)
            return f->all[i];
        if (!waiting)
            waiting = f->all[i];
    }
    return waiting;
}

static int try_one(ot_tuning *t, optune_err *err)
{
    ot_tuning_enter(t);
    int status = ot_tuning_tell(t, err);
    if (status >= 0)
        status = ot_tuning_measure(t, 0, err);
    if (ot_run_is_late(t->run, status))
        status = OPTUNE_OK;
    t->tuned->interrupted = status == OPTUNE_EINTERRUPTED;
    ot_tuning_leave(t);
    return status;
}

static int submit(firsts *f, int i, int workload, optune_err *err)
{
    int status = OPTUNE_OK;
    f->all[i] = ot_tuning_open(f->run, workload, 0, &f->tuned[i], err);
    if (!f->all[i])
        return err->status;
    if (!f->tuned[i].trials)
        status = ot_room_check(f->run, f->all[i]->task.call, err);
    if (status >= 0 && !f->tuned[i].trials)
        status = ot_tuning_enqueue(f->all[i], err);
    return status < 0 ? status : OPTUNE_OK;
}

/* A failure that is the workload's own is noted there. */
static int settle(firsts *f, ot_tuned *tuned, int status, const optune_err *own,
                  optune_err *err)
{
    if (status >= 0)
        return OPTUNE_OK;
    if (ot_run_ends_all(f->run, status))
        return optune_fail(err, status, "%s", own->text);
    ot_run_fail_alone(f->run, tuned, own);
    return OPTUNE_OK;
}

static int try_all(firsts *f, optune_err *err)
{
    int status = OPTUNE_OK;
    bool built = false;
    for (ot_tuning *t; status >= 0 && (t = next(f, &built));) {
        optune_err own = {0};
        if (ot_context_stopped(f->run->o))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
        if (ot_tuning_is_over(t))
            break;
        if (built)
            status = settle(f, t->tuned, try_one(t, &own), &own, err);
        else
            ot_builder_wait(f->run->builder, NULL, 0.1);
    }
    return status;
}

int ot_tune_first(ot_run *run, int from, ot_tuned *tuned, optune_err *err)
{
    firsts f = {.run = run, .tuned = tuned + from, .n = run->n_workloads - from};
    int status = OPTUNE_OK;
    f.all = ot_alloc((size_t)f.n * sizeof *f.all);
    for (int i = 0; i < f.n && status >= 0; i++) {
        optune_err own = {0};
        status = settle(&f, &f.tuned[i], submit(&f, i, from + i, &own), &own, err);
    }
    if (status >= 0)
        status = try_all(&f, err);
    for (int i = 0; i < f.n; i++) {
        if (f.all[i] && f.all[i]->n_queued && !f.tuned[i].failed && status >= 0)
            ot_tuning_say_unfinished(f.all[i]);
        if (f.all[i])
            ot_tuning_close(f.all[i]);
        if (status < 0 || f.tuned[i].failed)
            continue;
        /* What it found is stored: the search proper recalls it. */
        memset(f.tuned[i].failures, 0, sizeof f.tuned[i].failures);
        f.tuned[i].trials = 0;
        f.tuned[i].space = 0;
    }
    free(f.all);
    return status;
}
