/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methodology score of a search on a recorded space (Willemsen et al., "A methodology for
 * comparing optimization algorithms for auto-tuning", FGCS 2024): how much of the way from what
 * random search has at a moment to the optimum a search has gone, averaged over the time in which
 * random search reaches 95 %. 0 is random search, 1 the optimum at once; worse has no bound.
 */
#ifndef OPTUNE_SCORE_H
#define OPTUNE_SCORE_H

#include "db/recorded.h"

enum { OT_SCORE_STEPS = 1000 };

/* What searches of one space are held against. */
typedef struct ot_yardstick {
    int n;         /* configs that ran */
    double *value; /* their costs, from the worst to the best */
    double best, median;
    int trials;    /* that random search is expected to need for 95 % */
    double budget; /* seconds that a search gets */
    double time[OT_SCORE_STEPS];
    double random[OT_SCORE_STEPS]; /* what random search has by then */
} ot_yardstick;
/* ESYNTAX where all configs are alike, or random search is there at once. */
int ot_yardstick_open(const ot_recorded *recorded, ot_yardstick *yardstick, optune_err *err);
void ot_yardstick_close(ot_yardstick *yardstick);

/* The best cost by the end of each trial, from the first good one on. */
typedef struct ot_score_point {
    double time, best;
    int run;
} ot_score_point;
/* Of runs 0 .. runs-1 without those with run % groups == left_out (-1: all). `points` ascend in
 * time. `curve`, OT_SCORE_STEPS costs, may be NULL. */
double ot_score(const ot_yardstick *yardstick, const ot_score_point *points, int n, int runs,
                int groups, int left_out, double *curve);
/* The score with its standard error, by leaving out a tenth of the runs at a time; NAN with fewer
 * than two runs. */
double ot_score_error(const ot_yardstick *yardstick, const ot_score_point *points, int n,
                      int runs);

#endif
