/* SPDX-License-Identifier: Apache-2.0 */
/* The last word on a graph, between its files. Nothing outside tuner/in_graph*.c includes this. */
#ifndef OPTUNE_TUNER_IN_GRAPH_H
#define OPTUNE_TUNER_IN_GRAPH_H

#include "answer/graph.h"
#include "tuner/tune.h"

enum {
    OT_ENTRANTS = 8,         /* candidates of a workload, at most */
    OT_ENTRANT_SAMPLES = 60, /* of a record */
    OT_WHOLE_TURNS = 31      /* of the whole against the whole */
};

typedef struct ot_entrant {
    const optune_impl *impl;
    optune_config config;
    double error;      /* as verified */
    ot_kernel *kernel; /* of each group of the workload */
    double held;       /* bytes of constants, packed or as they are, of all these groups */
    double sample[OT_ENTRANT_SAMPLES], least; /* of them */
    int n;
    ot_interval interval;
    bool begun, out;
} ot_entrant;

typedef struct ot_seat { /* a distinct workload */
    const optune_call *call;
    int *group, n_groups;
    ot_entrant item[OT_ENTRANTS];
    int n, alone, best;           /* as it is chosen until now; as chosen here */
    int order[OT_ENTRANTS], turn; /* this round's draw */
    int now;                      /* who runs */
    double spent;                 /* in the run at hand, in all its groups */
    double whole[2]
                [OT_WHOLE_TURNS]; /* the same of `alone` and of `best`, in turns of the whole */
    bool measured;                /* by itself, before */
    bool decided;                 /* `best` follows from what was measured here */
    ot_arena arena;
} ot_seat;

/* in_graph_enter.c: who competes for a workload: first what is chosen until now, then what would be
 * untuned, each implementation's best, what else is near, and what is a little slower but holds
 * fewer bytes. */
int ot_seat_enter(ot_run *run, const optune_partition *partition, ot_seat *seat,
                  optune_err *err);
/* Bytes of constants that a kernel of this plan holds: packed, or where they are. */
double ot_plan_held(const optune_call *call, const optune_impl *impl, const optune_plan *plan);
double ot_plan_packed(const optune_plan *plan); /* of them what is packed */

/* lighten.c */
typedef struct ot_weight {
    double seconds,
        bytes; /* of a candidate, in the whole; seconds INFINITY: it is not to be had */
} ot_weight;
/* Of n things one of weight[i][n_weights[i]] is chosen each, chosen[i]. Chooses lighter ones while
 * all of them together take at most `most` seconds more; what saves the most bytes for a second
 * goes first. Returns the bytes saved. */
double ot_lighten(const ot_weight *const *weight, const int *n_weights, int n, double most,
                  int *chosen);

#endif
