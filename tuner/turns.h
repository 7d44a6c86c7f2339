/* SPDX-License-Identifier: Apache-2.0 */
/* Two ways to compute one graph, taking turns in this process. Nothing outside tuner/ includes
 * this. */
#ifndef OPTUNE_TUNER_TURNS_H
#define OPTUNE_TUNER_TURNS_H

#include "answer/graph.h"
#include "tuner/tune.h"

/* A turn is a few runs, the first of them not counted: it meets caches that the other one left. The
 * fastest of the others counts, as a machine that is shared makes runs longer, never shorter. */
enum { OT_TURN_RUNS = 6, OT_MOST_TURNS = 21 };

typedef struct ot_side {
    optune_partition *partition;
    /* Groups whose time, all together, is told of each run. */
    bool (*counts)(const optune_partition *partition, int group);
    double part[OT_MOST_TURNS * OT_TURN_RUNS];
    int n; /* runs */
    optune_program *program;
} ot_side;

typedef struct ot_turns {
    ot_run *run;
    const char *stage; /* of the run's report */
    ot_side first, second;
    double first_s,
        second_s; /* of the whole: a median of turns; that times a median of ratios */
    bool *ours;   /* by node of the graph: a constant that had no elements */
} ot_turns;

/* Until about `end` (ot_now()), with the device to itself: both programs are opened, take turns,
 * and are held against one another: their outputs must agree. Constants without elements have some
 * for the while. ot_turns_close whatever is returned. */
int ot_turns_play(ot_turns *t, double end, optune_err *err);
void ot_turns_close(ot_turns *t);

/* ot_layouts_anchor of the side's partition; a `counts`. */
bool ot_turns_is_anchor(const optune_partition *partition, int group);
/* A record of the first side's anchor, whose time was counted, in its graph, with lines beside its
 * counters. */
int ot_turns_record(const ot_turns *t, const char *lines, optune_err *err);

#endif
