/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configs of a space as rows of numbers that a model learns from: logarithms of sizes and counts,
 * other numbers as they are, every part of a split for itself, words and permutations as things
 * that are equal or not; of sizes also what they leave without their factors of two.
 */
#ifndef OPTUNE_FEATURES_H
#define OPTUNE_FEATURES_H

#include "tuner/forest.h"

typedef struct ot_features {
    const optune_space *space;
    int n;
    ot_feature_kind kind[OT_MAX_FEATURES];
    int first[OPTUNE_MAX_KNOBS + 1]; /* feature of each knob */
    float *value[OPTUNE_MAX_KNOBS];  /* its features, of each digit */
    bool few;                        /* so few that there is room for derived ones */
    bool derived[OT_MAX_FEATURES];   /* from another: the model's alone, no distance */
    bool counted[OT_MAX_FEATURES];   /* derived, and the knob counts */
    float low[OT_MAX_FEATURES], high[OT_MAX_FEATURES];
} ot_features;

/* The space outlives them. */
void ot_features_open(ot_features *features, const optune_space *space);
void ot_features_close(ot_features *features);
/* Writes the config at this index of the space as n numbers; `features` is an ot_features. */
void ot_features_of(const void *features, int64_t index, float *to);
/* Between two rows: the sum over features of how far they are apart, 0 .. 1 each. */
double ot_features_distance(const ot_features *features, const float *a, const float *b);
/* How far the numbers of knobs that count are from powers of two, in factors of two, beyond the
 * least of each knob. */
double ot_features_oddness(const ot_features *features, const float *x);

#endif
