/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What learns from the trials that it is told of, and asks for the config that promises most: a
 * forest over the values of the knobs predicts what a config costs and how little is known of it;
 * of many proposals (neighbours and crossings of the best, random ones) the one with the largest
 * expected improvement is next. It starts with configs far from each other, of sizes near powers
 * of two, fewer of them the shorter the run is. Failures count as the worst of all; what is out is
 * taken to cost what the model expects, so that asking again before being told leads elsewhere.
 */
#ifndef OPTUNE_LEARNER_H
#define OPTUNE_LEARNER_H

#include "optune/define.h"

enum { OT_LEARNER_OUT = 64 }; /* trials out at once that it takes into account */

typedef struct ot_learner ot_learner;
/* The same seed asks the same way where it is told the same. The view's space outlives it. */
ot_learner *ot_learner_open(const optune_search_view *view, uint64_t seed);
void ot_learner_close(ot_learner *learner); /* NULL is fine */
/* From here on it believes the view's sources, as far as they hold; they outlive it. */
void ot_learner_teach(ot_learner *learner, const optune_search_view *view);
/* cost: of a trial of this config; infinity: it failed. */
void ot_learner_hear(ot_learner *learner, int64_t index, double cost);
/* A fresh index, or -1: it has no proposal. n_out: how many are out that it will be told of. */
int64_t ot_learner_ask(ot_learner *learner, optune_search_view *view, int n_out);

typedef struct ot_heard {
    int64_t index;
    double cost;
} ot_heard;

typedef struct ot_progress {
    const ot_heard *heard; /* in the order of telling; until it is told again */
    int n;
    double best; /* infinity: nothing ran */
    int since;   /* how many it was told since the best */
    bool fitted; /* its model has said something */
    bool taught;
    double right; /* how far the sources were when its model was fitted: 1 always, 0 a coin */
} ot_progress;
ot_progress ot_learner_progress(const ot_learner *learner);

#endif
