/* SPDX-License-Identifier: Apache-2.0 */
/* A workload while it is searched: what tune.c, tune_arms.c, tune_time.c and tune_first.c share. */
#ifndef OPTUNE_TUNING_H
#define OPTUNE_TUNING_H

#include "tuner/speed.h"

typedef struct ot_slot {
    int arm;
    optune_config config;
    ot_job job;
} ot_slot;

typedef struct ot_tuning {
    ot_run *run;
    optune_task task;
    ot_candidate candidate[OT_MAX_CANDIDATES];
    ot_arm arm[OT_MAX_CANDIDATES];
    int n_arms;
    ot_slot *queue[OT_QUEUE];
    int n_queued;
    int workload;
    ot_text call;
    double start, seconds; /* ot_now(); its share of the time */
    double end;            /* ot_now() by which it is over, finals included */
    double finals_s;       /* to be spent on sampling the finalists */
    double told_s;         /* telling the worker the workload took */
    /* Of each arm's good trials: how many there were, and the least that one took beside its
     * samples. */
    int n_timed[OT_MAX_CANDIDATES];
    double load_s[OT_MAX_CANDIDATES];
    double trials_s; /* of good trials, together; and how many those are */
    int n_good;
    double again_s; /* was spent on finding out what speeds do */
    ot_tuned *tuned;
    optune_plan *plan;
} ot_tuning;

/* What is known of the workload, ready to be asked for trials; NULL: nothing computes it. */
ot_tuning *ot_tuning_open(ot_run *run, int workload, double seconds, ot_tuned *tuned,
                          optune_err *err);
void ot_tuning_close(ot_tuning *t);
void ot_tuning_enter(ot_tuning *t); /* from here on, progress is this workload's */
void ot_tuning_leave(ot_tuning *t);
/* Asks for one more config and sends it to the compilers. 0: nothing is left to ask for. */
int ot_tuning_enqueue(ot_tuning *t, optune_err *err);
int ot_tuning_tell(ot_tuning *t, optune_err *err);            /* the worker, the workload */
int ot_tuning_measure(ot_tuning *t, int at, optune_err *err); /* runs one queued trial */
/* tune_arms.c: an arm for each implementation that is to be measured. ENOENT: there is none. */
int ot_tuning_open_arms(ot_tuning *t, optune_err *err);
/* tune_speed.c: ot_watched_trial, again where the machine changed its speed; `best`, and the
 * result's cost over *times, are as at the speed of the first trial. */
int ot_tuning_trial(ot_tuning *t, const ot_trial *trial, ot_arena *arena,
                    ot_trial_result *result, double *times, optune_err *err);
/* A good trial of this cost, so told: the best one is what speeds are told by. */
void ot_tuning_know(ot_tuning *t, const ot_slot *s, double cost);
/* tune_time.c: what this trial of an arm says of how long others take. */
void ot_tuning_note(ot_tuning *t, int arm, const ot_trial_result *result);
/* How many finalists can be compared within the time, or a tenth of it and half a second later, as
 * far as can be told, the fastest ones first; INT_MAX: all of them, 0: there are no finals. */
int ot_tuning_finalists(const ot_tuning *t);
/* What the worker is asked for from here on ends by then, as what was foreseen may take longer: by
 * the run's end or a little later, where something was measured; else by when a first trial may. */
void ot_tuning_limit(ot_tuning *t);
/* No more trials, as the next one would not end in time, or a little later: but a workload's first
 * one may take what is left of the whole run and a fifth of it more, and the run's first one as
 * much as it takes within its time, as a table without it says nothing. */
bool ot_tuning_is_over(const ot_tuning *t);
/* The --time, in seconds, with which each workload of the run would have had a trial, as far as
 * this one, which by `now` has none, and those that had one can tell. */
double ot_tuning_enough(const ot_tuning *t, double now);
/* The time is over: why no trial has ended, and what to give, as the workload's problem. */
void ot_tuning_say_unfinished(const ot_tuning *t);

#endif
