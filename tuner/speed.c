/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores change their speed while a workload is searched: clocks, heat, somebody else on the other
 * thread of the core. What is measured at one speed and what is measured at another do not compare.
 *
 * The one idea: a loop of microseconds behind every sample (target/cpu_pace.c) tells only that the
 * speed is another one, as it is not slowed by as much as a kernel is. By how much kernels are, the
 * best config known says, which is measured again there: once for each speed that is met, and never
 * where there is but one.
 */
#include "tuner/speed.h"

#include <math.h>
#include <string.h>

/* Paces this far apart are one: clocks by themselves move by 4 %. */
static const double NEAR = 1.1;
static const double TOLD = 0.02; /* what a record tells */

/* The nearest of those that were met; NULL: none is that near. */
static const ot_speed *met(const ot_speeds *s, double pace, double within)
{
    const ot_speed *nearest = NULL;
    for (int i = 0; i < s->n; i++) {
        const double apart = fmax(s->speed[i].pace / pace, pace / s->speed[i].pace);
        if (apart <= within) {
            within = apart;
            nearest = &s->speed[i];
        }
    }
    return nearest;
}

static void meet(ot_speeds *s, double pace, double times)
{
    if (s->n < OT_MOST_SPEEDS) {
        s->speed[s->n++] = (ot_speed){pace, times};
        return;
    }
    s->next = 1 + s->next % (OT_MOST_SPEEDS - 1); /* the first one is what all are told by */
    s->speed[s->next] = (ot_speed){pace, times};
}

double ot_speeds_at(ot_speeds *s, double pace, double known, ot_speed_again again, void *arg)
{
    double cost = 0, then = 0;
    if (!s->n && pace > 0)
        meet(s, pace, 1);
    const ot_speed *speed = pace > 0 ? met(s, pace, NEAR) : NULL;
    if (speed || !(pace > 0) || !isfinite(known) || !again(arg, &cost, &then) || !(then > 0)) {
        /* Where nothing says by how much, nothing is known better than what was found last. */
        s->times = speed ? speed->times : s->times > 0 ? s->times : 1;
        return s->times;
    }
    if (!met(s, then, NEAR))
        meet(s, then, cost / known);
    speed = met(s, pace, NEAR);
    s->times = speed ? speed->times : met(s, then, NEAR)->times;
    return speed ? s->times : 0;
}

void ot_speeds_settle(ot_speeds *s, double pace)
{
    if (pace > 0 && s->times > 0 && !met(s, pace, NEAR))
        meet(s, pace, s->times);
}

double ot_speed_take(ot_arena *arena, ot_trial_result *result)
{
    char value[32];
    double pace = 0;
    const char *first = result->counters ? result->counters : "";
    if (!ot_lines_get(first, "pace", value, sizeof value) || !ot_parse_real(value, &pace) ||
        strncmp(first, "pace=", 5) != 0)
        return 0;
    first += strcspn(first, "\n");
    result->counters = *first && first[1] ? ot_arena_copy(arena, first + 1) : NULL;
    return pace;
}

void ot_speed_note(double times, ot_arena *arena, ot_trial_result *result)
{
    if (result->outcome != OPTUNE_OUTCOME_OK || fabs(times - 1) < TOLD)
        return;
    ot_text lines = {0};
    const char *before = result->counters ? result->counters : "";
    ot_text_printf(&lines, "%s%smachine_times=%.2f\n", before,
                   *before && before[strlen(before) - 1] != '\n' ? "\n" : "", times);
    result->counters = ot_arena_copy(arena, ot_text_str(&lines));
    ot_text_release(&lines);
}

double ot_speed_even(const optune_record *record)
{
    char value[32];
    double times = 1;
    return record->counters &&
                   ot_lines_get(record->counters, "machine_times", value, sizeof value) &&
                   ot_parse_real(value, &times) && times > 0
               ? record->cost / times
               : record->cost;
}
