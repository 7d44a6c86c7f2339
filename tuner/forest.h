/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small regression forest: extremely randomised trees (Geurts, Ernst and Wehenkel, Machine
 * Learning 63, 2006). A split compares a feature, or the sum or difference of two, with a value
 * between two rows drawn at random; features are logarithms of sizes, so that sums are products of
 * knobs (threads of a block, bytes of a tile) and differences their ratios. What the trees disagree
 * on is how little is known.
 */
#ifndef OPTUNE_FOREST_H
#define OPTUNE_FOREST_H

#include "optune/define.h"

enum { OT_MAX_FEATURES = 96, OT_FOREST_TREES = 24 };

typedef enum ot_feature_kind {
    OT_FEATURE_ORDERED, /* more and less mean something */
    OT_FEATURE_LOG,     /* likewise, and it is a logarithm: sums mean something */
    OT_FEATURE_WORD,    /* only equal or not */
} ot_feature_kind;

typedef struct ot_forest ot_forest;
ot_forest *ot_forest_open(int n_features, const ot_feature_kind *kind);
void ot_forest_close(ot_forest *forest); /* NULL is fine */
/* Rows of n_features values each, and what they lead to. */
void ot_forest_fit(ot_forest *forest, const float *x, const float *y, int n, uint64_t *rng);
/* The mean of the trees for each row and how far they stray from it. */
void ot_forest_predict(const ot_forest *forest, const float *x, int n, float *mean,
                       float *deviation);

#endif
