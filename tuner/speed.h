/* SPDX-License-Identifier: Apache-2.0 */
/* At which speed the machine is while trials are measured. */
#ifndef OPTUNE_SPEED_H
#define OPTUNE_SPEED_H

#include "tuner/tune.h"

/* Measures a config again whose cost is known: seconds of one run, and the core's pace meanwhile.
 * false: it could not be measured. */
typedef bool (*ot_speed_again)(void *arg, double *cost, double *pace);

/* How many times as long as at the pace of the first trial everything takes at this one. A pace
 * that was not met before is found out by measuring the config that `again` knows, of `known`
 * seconds at the first one's (infinity: there is none yet, or no time for it). 0: the machine
 * changed its speed meanwhile, and the trial is to be measured once more. */
double ot_speeds_at(ot_speeds *s, double pace, double known, ot_speed_again again, void *arg);

/* Everything takes as long at this pace, which was not met yet, as at that of the last trial:
 * nothing found says otherwise. */
void ot_speeds_settle(ot_speeds *s, double pace);

/* Takes the core's pace, the first line, from what a trial tells beside its cost; 0: it does not
 * tell. */
double ot_speed_take(ot_arena *arena, ot_trial_result *result);
/* Notes among a good result's counters that its cost was `times` that at the first trial's pace. */
void ot_speed_note(double times, ot_arena *arena, ot_trial_result *result);
/* Seconds that a record's config would have taken at the pace of its run's first trial. */
double ot_speed_even(const optune_record *record);

#endif
