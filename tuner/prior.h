/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trials elsewhere say of a config: of each source how much dearer it was than the best there,
 * as a logarithm, and of all of them the mean, each trusted as far as it is alike and has been
 * right so far. Of configs that a source has not measured, a forest over those that it has says it.
 */
#ifndef OPTUNE_PRIOR_H
#define OPTUNE_PRIOR_H

#include "optune/define.h"
#include "tuner/forest.h"

typedef struct ot_prior ot_prior;
/* `features` writes an index as n_features values; it and `arg` outlive the prior, the view's
 * sources too. NULL: nothing is known from elsewhere. */
typedef void ot_features_fn(const void *arg, int64_t index, float *to);
ot_prior *ot_prior_open(const optune_search_view *view, int n_features,
                        const ot_feature_kind *kind, ot_features_fn *features, const void *arg,
                        uint64_t *rng);
void ot_prior_close(ot_prior *prior); /* NULL is fine */
/* Trusts each source by how often it orders two of these few trials as they are; cost infinity: it
 * failed. Gives how far the best of them is right: 1 always, 0 no more than a coin. */
double ot_prior_trust(ot_prior *prior, const int64_t *index, const double *cost, int n);
/* The logarithm of what each is expected to cost over the best, for n <= OT_PRIOR_MOST configs with
 * their features. */
enum { OT_PRIOR_MOST = 1024 };
void ot_prior_predict(ot_prior *prior, const int64_t *index, const float *x, int n, float *to);
/* The n-th best of all configs that sources have, by their mean; -1: there are no more. */
int64_t ot_prior_best(const ot_prior *prior, int n);

#endif
