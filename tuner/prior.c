/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prior of a search. Sources are few and their trials many, so that what is asked for again and
 * again is a binary search in each, and the mean.
 */
#include "tuner/prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum {
    FITTED = 256, /* trials of a source that its forest is fitted to */
    BEST_OF = 64, /* of each source, what may be among the best of all */
    JUDGED = 48,  /* own trials by which sources are judged: more say no more */
};
static const double FAILED = 0.7;  /* more than the worst: a failure */
static const double UNHEARD = 0.1; /* of the most trusted one's trust: less is not asked */

typedef struct source {
    const optune_source *from;
    ot_forest *forest;
    double best, worst; /* cost of its best, logarithm of its worst over that */
    double trust;
} source;

struct ot_prior {
    int n_sources, n_features;
    source *source;
    ot_features_fn *features;
    const void *arg;
    int n_best;
    int64_t *best;
    float mean[OT_PRIOR_MOST], deviation[OT_PRIOR_MOST];
};

static double dearer(const source *s, double cost)
{
    return isfinite(cost) ? log(cost / s->best) : s->worst + FAILED;
}

static int by_index(const void *a, const void *b)
{
    const int64_t x = ((const optune_transfer *)a)->index,
                  y = ((const optune_transfer *)b)->index;
    return (x > y) - (x < y);
}

/* What a source says of n configs: what it measured, or else what its forest expects. */
static void ask(ot_prior *p, const source *s, const int64_t *index, const float *x, int n,
                float *to)
{
    bool unknown = false;
    for (int i = 0; i < n; i++) {
        const optune_transfer key = {.index = index[i]};
        const optune_transfer *found =
            bsearch(&key, s->from->trial, (size_t)s->from->n, sizeof key, by_index);
        to[i] = found ? (float)dearer(s, found->cost) : NAN;
        unknown = unknown || !found;
    }
    if (!unknown)
        return;
    ot_forest_predict(s->forest, x, n, p->mean, p->deviation);
    for (int i = 0; i < n; i++)
        if (isnan(to[i]))
            to[i] = p->mean[i];
}

static double most_trusted(const ot_prior *p)
{
    double most = 0;
    for (int i = 0; i < p->n_sources; i++)
        most = fmax(most, p->source[i].trust);
    return most;
}

void ot_prior_predict(ot_prior *p, const int64_t *index, const float *x, int n, float *to)
{
    float said[OT_PRIOR_MOST];
    double all = 0;
    const double least = UNHEARD * most_trusted(p);
    for (int k = 0; k < n; k++)
        to[k] = 0;
    for (int i = 0; i < p->n_sources; i++) {
        const source *s = &p->source[i];
        if (s->trust <= least)
            continue;
        ask(p, s, index, x, n, said);
        for (int k = 0; k < n; k++)
            to[k] += (float)s->trust * said[k];
        all += s->trust;
    }
    for (int k = 0; k < n && all > 0; k++)
        to[k] /= (float)all;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Trials for a forest: all, or draws. */
static void fit(ot_prior *p, source *s, const ot_feature_kind *kind, float *x, uint64_t *rng)
{
    float y[FITTED];
    int n = 0;
    s->forest = ot_forest_open(p->n_features, kind);
    for (int k = 0; k < s->from->n && n < FITTED; k++) {
        if (optune_random_below(rng, s->from->n - k) >= FITTED - n)
            continue;
        p->features(p->arg, s->from->trial[k].index, x + (size_t)n * (size_t)p->n_features);
        y[n++] = (float)dearer(s, s->from->trial[k].cost);
    }
    ot_forest_fit(s->forest, x, y, n, rng);
}

typedef struct ranked {
    int64_t index;
    double z;
} ranked;

static int cheaper(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->z != y->z ? (x->z > y->z) - (x->z < y->z)
                        : (x->index > y->index) - (x->index < y->index);
}

/* The best of each source, in the order of what all say. */
static void rank_best(ot_prior *p, float *x)
{
    int64_t most = 0, index[BEST_OF];
    float said[BEST_OF];
    for (int i = 0; i < p->n_sources; i++)
        most = p->source[i].from->n > most ? p->source[i].from->n : most;
    ranked *own = ot_alloc((size_t)(most + 1) * sizeof *own);
    ranked *list = ot_alloc((size_t)(p->n_sources * BEST_OF + 1) * sizeof *list);
    int n = 0;
    for (int i = 0; i < p->n_sources; i++) {
        const source *s = &p->source[i];
        int best = s->from->n < BEST_OF ? s->from->n : BEST_OF;
        for (int k = 0; k < s->from->n; k++)
            own[k] = (ranked){s->from->trial[k].index, dearer(s, s->from->trial[k].cost)};
        qsort(own, (size_t)s->from->n, sizeof *own, cheaper);
        for (int k = 0; k < best; k++) {
            index[k] = own[k].index;
            p->features(p->arg, index[k], x + (size_t)k * (size_t)p->n_features);
        }
        ot_prior_predict(p, index, x, best, said);
        for (int k = 0; k < best; k++)
            list[n++] = (ranked){index[k], (double)said[k]};
    }
    qsort(list, (size_t)n, sizeof *list, cheaper);
    p->best = ot_alloc((size_t)(n + 1) * sizeof *p->best);
    for (int i = 0; i < n; i++)
        if (!i || list[i].index != list[i - 1].index)
            p->best[p->n_best++] = list[i].index;
    free(own);
    free(list);
}

ot_prior *ot_prior_open(const optune_search_view *view, int n_features,
                        const ot_feature_kind *kind, ot_features_fn *features, const void *arg,
                        uint64_t *rng)
{
    ot_prior *p = ot_alloc(sizeof *p);
    p->n_features = n_features;
    p->features = features;
    p->arg = arg;
    p->source = ot_alloc((size_t)(view->n_sources + 1) * sizeof *p->source);
    for (int i = 0; i < view->n_sources; i++) {
        source s = {
            .from = &view->source[i], .best = INFINITY, .trust = view->source[i].likeness};
        double worst = 0;
        for (int k = 0; k < s.from->n; k++) {
            s.best = fmin(s.best, s.from->trial[k].cost);
            if (isfinite(s.from->trial[k].cost))
                worst = fmax(worst, s.from->trial[k].cost);
        }
        s.worst = worst > 0 ? log(worst / s.best) : 0;
        if (isfinite(s.best) && s.trust > 0)
            p->source[p->n_sources++] = s;
    }
    if (!p->n_sources) {
        ot_prior_close(p);
        return NULL;
    }
    float *x = ot_alloc((size_t)(FITTED * n_features + 1) * sizeof *x);
    for (int i = 0; i < p->n_sources; i++)
        fit(p, &p->source[i], kind, x, rng);
    rank_best(p, x);
    free(x);
    return p;
}

void ot_prior_close(ot_prior *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n_sources; i++)
        ot_forest_close(p->source[i].forest);
    free(p->source);
    free(p->best);
    free(p);
}

/* ---- asking -------------------------------------------------------------------------------- */

/* The share of pairs that it orders as they are. */
static double agreement(const float *said, const double *cost, int n)
{
    int right = 0, all = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (said[i] == said[k] || cost[i] == cost[k])
                continue;
            right += (said[i] < said[k]) == (cost[i] < cost[k]);
            all++;
        }
    /* Two pairs' worth of being right, as alike things are. */
    return (right + 2.0) / (all + 2.0);
}

double ot_prior_trust(ot_prior *p, const int64_t *index, const double *cost, int n)
{
    float said[JUDGED];
    float *x = ot_alloc((size_t)(JUDGED * p->n_features + 1) * sizeof *x);
    double most = 0;
    n = n < JUDGED ? n : JUDGED;
    for (int i = 0; i < n; i++)
        p->features(p->arg, index[i], x + (size_t)i * (size_t)p->n_features);
    for (int i = 0; i < p->n_sources; i++) {
        source *s = &p->source[i];
        ask(p, s, index, x, n, said);
        const double right = fmax(0, 2 * agreement(said, cost, n) - 1);
        s->trust = s->from->likeness * right * right;
        most = fmax(most, right);
    }
    free(x);
    return most;
}

int64_t ot_prior_best(const ot_prior *p, int n)
{
    return n < p->n_best ? p->best[n] : -1;
}
