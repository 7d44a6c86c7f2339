/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hutter, Hoos and Leyton-Brown, "Sequential model-based optimization for general algorithm
 * configuration", LION 5 (2011).
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tuner/features.h"
#include "tuner/learner.h"
#include "tuner/prior.h"
#include "tuner/tune.h"

enum {
    MAX_ROWS = 400, /* that the model is fitted to */
    REFIT = 20,     /* when a 20th more is known */
    BEST = 8,       /* configs whose neighbours are proposed */
    PER_KNOB = 8,   /* neighbours by one knob */
    PARENTS = 24,
    CROSSINGS = 100,
    DRAWS = 120,
    FROM_ELSEWHERE = 200, /* the best there */
    POOL = 1024,          /* proposals at most */
    FAR_DRAWS = 40,       /* of which the farthest is taken */
    FEW = 40,        /* trials, up to which every ask weighs proposals anew; then every third */
    BEGIN_LEAST = 3, /* configs of the beginning, and a share of all that are to come */
    BEGIN_MOST = 8,
    TELLING = 4, /* trials that contradict what is said of them, or do not */
    TELLING_MOST = 16,
};
#define BEGIN_SHARE 0.04
#define BELIEVED 0.3   /* how far advice has to be right */
#define DOUBT 0.5      /* of what the trees disagree by; all of it explores too long */
#define EXPLORING 0.05 /* share of far configs, after a tenth of all trials without progress */

/* What trials elsewhere say, as the model sees it: it is fitted to what they leave unsaid. */
typedef struct lore {
    ot_prior *prior; /* NULL: there are none */
    double slope;    /* how much of it holds here: 0 .. 1 */
    double right;    /* how far it was right when the model was fitted last */
    int n;           /* what it says of the rows of the last fit, ascending: a rank's measure */
    float said[MAX_ROWS];
    int next; /* of its best, to propose at the beginning */
} lore;

struct ot_learner {
    ot_features features;
    lore lore;
    uint64_t rng;
    ot_forest *forest[2]; /* of ranks, of logarithms */
    int model;            /* the one fitted last */
    int n_pool, left_in_pool;
    ot_heard *row; /* told, in the order of telling */
    int n, capacity, good;
    int *order; /* row numbers by cost, best first */
    int fitted; /* rows there were when the model was fitted */
    int fits;
    int since; /* trials told since the best one */
    double best;
    double worst;
    float goal; /* the best target among rows, as the model sees it */
    int64_t pool[POOL];
    float *x; /* POOL configs as features, and more than the rows of a fit */
    float y[MAX_ROWS + OT_LEARNER_OUT], mean[POOL], deviation[POOL], said[POOL];
    double score[POOL];
};

/* ---- a learner ------------------------------------------------------------------------------- */

ot_learner *ot_learner_open(const optune_search_view *view, uint64_t seed)
{
    ot_learner *l = ot_alloc(sizeof *l);
    ot_features_open(&l->features, view->space);
    l->rng = seed;
    l->best = INFINITY;
    l->x = ot_alloc((size_t)(POOL * l->features.n + 1) * sizeof *l->x);
    for (int m = 0; m < 2; m++)
        l->forest[m] = ot_forest_open(l->features.n, l->features.kind);
    return l;
}

void ot_learner_close(ot_learner *l)
{
    if (!l)
        return;
    ot_features_close(&l->features);
    for (int m = 0; m < 2; m++)
        ot_forest_close(l->forest[m]);
    ot_prior_close(l->lore.prior);
    free(l->x);
    free(l->row);
    free(l->order);
    free(l);
}

void ot_learner_teach(ot_learner *l, const optune_search_view *view)
{
    l->lore.prior = ot_prior_open(view, l->features.n, l->features.kind, ot_features_of,
                                  &l->features, &l->rng);
}

ot_progress ot_learner_progress(const ot_learner *l)
{
    return (ot_progress){.heard = l->row,
                         .n = l->n,
                         .best = l->best,
                         .since = l->since,
                         .fitted = l->fits > 0,
                         .taught = l->lore.prior != NULL,
                         .right = l->lore.right};
}

void ot_learner_hear(ot_learner *l, int64_t index, double cost)
{
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->row = realloc(l->row, (size_t)l->capacity * sizeof *l->row);
        l->order = realloc(l->order, (size_t)l->capacity * sizeof *l->order);
        if (!l->row || !l->order)
            abort();
    }
    int at = l->n;
    while (at > 0 && l->row[l->order[at - 1]].cost > cost)
        at--;
    memmove(&l->order[at + 1], &l->order[at], (size_t)(l->n - at) * sizeof *l->order);
    l->order[at] = l->n;
    l->row[l->n++] = (ot_heard){index, cost};
    l->since = cost < l->best ? 0 : l->since + 1;
    l->best = fmin(l->best, cost);
    if (isfinite(cost)) {
        l->good++;
        l->worst = fmax(l->worst, cost);
    }
}

/* Of some draws the one farthest from all that was tried or is out, or from a sample of them. With
 * `even`, distance is worth the less the odder the numbers: hardware is made of powers of two, and
 * with nothing known yet that is the better guess. */
static int64_t far_from_all(optune_search_view *view, ot_learner *l, bool even)
{
    enum { OTHERS = 64 };
    float other[OTHERS][OT_MAX_FEATURES], x[OT_MAX_FEATURES];
    const int all = l->n + view->n_pending, n = all < OTHERS ? all : OTHERS;
    for (int i = 0; i < n; i++) {
        const int64_t k = all > OTHERS ? optune_random_below(&l->rng, all) : i;
        ot_features_of(&l->features, k < l->n ? l->row[k].index : view->pending[k - l->n],
                       other[i]);
    }
    int64_t best = -1;
    double most = -1;
    for (int i = 0; i < FAR_DRAWS; i++) {
        const int64_t index = optune_search_draw(view, &l->rng);
        if (index < 0)
            break;
        ot_features_of(&l->features, index, x);
        double nearest = n ? INFINITY : 1;
        for (int k = 0; k < n; k++)
            nearest = fmin(nearest, ot_features_distance(&l->features, x, other[k]));
        if (even)
            nearest /= 1 + ot_features_oddness(&l->features, x);
        if (nearest > most) {
            most = nearest;
            best = index;
        }
    }
    return best;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Rows for the model: all, or the best half and a sample of the others. */
static int choose_rows(ot_learner *l, int64_t *index, bool rank)
{
    int n = 0;
    const int all = l->n;
    for (int i = 0; i < all && n < MAX_ROWS; i++) {
        const int left = all - i, room = MAX_ROWS - n;
        if (i >= MAX_ROWS / 2 && all > MAX_ROWS && optune_random_below(&l->rng, left) >= room)
            continue;
        const ot_heard *r = &l->row[l->order[i]];
        ot_features_of(&l->features, r->index, l->x + (size_t)n * (size_t)l->features.n);
        /* Failures are all alike: as bad as the worst. */
        if (rank)
            l->y[n] = (float)((isfinite(r->cost) ? i : all - 1) / (double)all);
        else
            l->y[n] = (float)log(isfinite(r->cost) ? r->cost : l->worst * 1.5);
        index[n++] = r->index;
    }
    return n;
}

/* The sources are trusted by the order of own trials from the best to the worst. */
static double trust(ot_learner *l)
{
    enum { MOST = 48 };
    int64_t index[MOST];
    double cost[MOST];
    const int n = l->n < MOST ? l->n : MOST;
    for (int i = 0; i < n; i++) {
        const ot_heard *r = &l->row[l->order[(int64_t)i * l->n / n]];
        index[i] = r->index;
        cost[i] = r->cost;
    }
    return ot_prior_trust(l->lore.prior, index, cost, n);
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* What is said of a config, in the unit of the model: a logarithm, or the share of rows of which
 * less is said, beyond both ends by their middle distance. */
static double in_unit(const ot_learner *l, double said)
{
    const lore *o = &l->lore;
    if (l->model == 1 || o->n < 2)
        return said;
    int lo = 0, hi = o->n - 1;
    const double step = fmax(1e-9, (double)(o->said[hi] - o->said[0]) / (o->n - 1));
    if (said <= (double)o->said[0])
        return (said - (double)o->said[0]) / step / o->n;
    if (said >= (double)o->said[hi])
        return (hi + (said - (double)o->said[hi]) / step) / o->n;
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if ((double)o->said[mid] <= said)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + (said - (double)o->said[lo]) / (double)(o->said[hi] - o->said[lo])) / o->n;
}

/* Takes from the targets of the rows what is said of them elsewhere, as far as it holds here. */
static void leave_unsaid(ot_learner *l, const int64_t *index, int n)
{
    enum { FAITH = 2 }; /* rows that say it holds, before any does */
    lore *o = &l->lore;
    float said[MAX_ROWS];
    double x = 0, y = 0, xx = 0, xy = 0;
    const double right = o->right = trust(l);
    ot_prior_predict(o->prior, index, l->x, n, said);
    memcpy(o->said, said, (size_t)n * sizeof *said);
    qsort(o->said, (size_t)n, sizeof *said, ascending);
    o->n = n;
    for (int i = 0; i < n; i++) {
        said[i] = (float)in_unit(l, (double)said[i]);
        x += (double)said[i] / n;
        y += (double)l->y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        xx += ((double)said[i] - x) * ((double)said[i] - x);
        xy += ((double)said[i] - x) * ((double)l->y[i] - y);
    }
    const double faith = (double)FAITH / n;
    o->slope = right * (xx > 0 ? fmin(1, fmax(0, (xy / xx + faith) / (1 + faith))) : 1);
    for (int i = 0; i < n; i++)
        l->y[i] -= (float)(o->slope * (double)said[i]);
}

static void fit(optune_search_view *view, ot_learner *l)
{
    l->model = l->fits % 2;
    ot_forest *forest = l->forest[l->model];
    int64_t index[MAX_ROWS];
    int n = choose_rows(l, index, l->model == 0);
    l->goal = l->y[0];
    if (l->lore.prior)
        leave_unsaid(l, index, n);
    /* What is out costs what the model expected of it when it was fitted last. */
    if (l->fits >= 2) {
        float *x = l->x + (size_t)n * (size_t)l->features.n;
        const int out = view->n_pending < OT_LEARNER_OUT ? view->n_pending : OT_LEARNER_OUT;
        for (int i = 0; i < out; i++)
            ot_features_of(&l->features, view->pending[i],
                           x + (size_t)i * (size_t)l->features.n);
        ot_forest_predict(forest, x, out, l->y + n, l->deviation);
        n += out;
    }
    ot_forest_fit(forest, l->x, l->y, n, &l->rng);
    l->fitted = l->n;
    l->fits++;
    l->left_in_pool = 0;
}

/* ---- proposals ------------------------------------------------------------------------------- */

static void propose(optune_search_view *view, ot_learner *l, int *n, int64_t index)
{
    if (*n == POOL || !view->fresh(view, index))
        return;
    for (int i = 0; i < *n; i++)
        if (l->pool[i] == index)
            return;
    l->pool[(*n)++] = index;
}

static void propose_neighbours(optune_search_view *view, ot_learner *l, int *n, int64_t of)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    optune_space_digits(view->space, of, digit);
    for (int k = 0; k < optune_space_knobs(view->space); k++) {
        const int64_t radix = optune_space_radix(view->space, k), own = digit[k];
        for (int64_t i = 1; i < radix && i <= PER_KNOB; i++) {
            /* All others where they are few, else the two beside it and some at random. */
            digit[k] = radix <= PER_KNOB + 1 ? (own + i) % radix
                       : i == 1              ? (own + 1 < radix ? own + 1 : own - 1)
                       : i == 2              ? (own ? own - 1 : 1)
                                             : optune_random_below(&l->rng, radix);
            propose(view, l, n, optune_space_index(view->space, digit));
        }
        digit[k] = own;
    }
}

static int64_t cross(const optune_search_view *view, ot_learner *l, int parents)
{
    int64_t one[OPTUNE_MAX_KNOBS], two[OPTUNE_MAX_KNOBS];
    const int knobs = optune_space_knobs(view->space);
    optune_space_digits(view->space,
                        l->row[l->order[optune_random_below(&l->rng, parents)]].index, one);
    optune_space_digits(view->space,
                        l->row[l->order[optune_random_below(&l->rng, parents)]].index, two);
    for (int k = 0; k < knobs; k++) {
        if (optune_random_below(&l->rng, 2))
            one[k] = two[k];
        if (optune_random_below(&l->rng, 2 * knobs) == 0)
            one[k] = optune_random_below(&l->rng, optune_space_radix(view->space, k));
    }
    return optune_space_index(view->space, one);
}

static int propose_all(optune_search_view *view, ot_learner *l)
{
    int n = 0;
    const int best = l->good < BEST ? l->good : BEST;
    for (int i = 0; i < best; i++)
        propose_neighbours(view, l, &n, l->row[l->order[i]].index);
    const int parents = l->good < PARENTS ? l->good : PARENTS;
    for (int i = 0; i < CROSSINGS && parents > 1; i++)
        propose(view, l, &n, cross(view, l, parents));
    for (int i = 0; i < DRAWS; i++) {
        const int64_t index = optune_search_draw(view, &l->rng);
        if (index < 0)
            break;
        propose(view, l, &n, index);
    }
    for (int i = 0; i < FROM_ELSEWHERE && l->lore.prior; i++) {
        const int64_t index = ot_prior_best(l->lore.prior, i);
        if (index < 0)
            break;
        propose(view, l, &n, index);
    }
    return n;
}

static double improvement(double goal, double mean, double deviation)
{
    if (deviation < 1e-9)
        return fmax(0, goal - mean);
    const double z = (goal - mean) / deviation;
    return deviation * (z * 0.5 * erfc(-z * M_SQRT1_2) + exp(-z * z / 2) * 0.3989422804014327);
}

/* What the most promising proposal may well cost: by logarithms, as ranks are no costs. */
static void say_hope(const optune_search_view *view, const ot_learner *l)
{
    int best = 0;
    for (int i = 1; i < l->n_pool; i++)
        if (l->score[i] > l->score[best])
            best = i;
    if (l->model == 1 && l->n_pool)
        ot_arm_hope(view, exp((double)l->mean[best] - DOUBT * (double)l->deviation[best]));
}

/* Fills the pool with proposals and what each promises. */
static void weigh(optune_search_view *view, ot_learner *l)
{
    const int n = l->n_pool = propose_all(view, l);
    for (int i = 0; i < n; i++)
        ot_features_of(&l->features, l->pool[i], l->x + (size_t)i * (size_t)l->features.n);
    ot_forest_predict(l->forest[l->model], l->x, n, l->mean, l->deviation);
    if (l->lore.prior) {
        ot_prior_predict(l->lore.prior, l->pool, l->x, n, l->said);
        for (int i = 0; i < n; i++)
            l->mean[i] += (float)(l->lore.slope * in_unit(l, (double)l->said[i]));
    }
    for (int i = 0; i < n; i++)
        /* Where nothing promises an improvement, the lowest expectation decides. */
        l->score[i] =
            improvement((double)l->goal, (double)l->mean[i], DOUBT * (double)l->deviation[i]) -
            1e-6 * (double)l->mean[i];
    say_hope(view, l);
    l->left_in_pool = l->n < FEW ? 1 : 3;
}

static int64_t best_proposal(optune_search_view *view, ot_learner *l)
{
    if (!l->left_in_pool)
        weigh(view, l);
    l->left_in_pool--;
    int best = -1;
    for (int i = 0; i < l->n_pool; i++)
        if ((best < 0 || l->score[i] > l->score[best]) && view->fresh(view, l->pool[i]))
            best = i;
    return best < 0 ? -1 : l->pool[best];
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* How far an estimate of costs has ordered two trials as they are: 1 always, 0 like a coin. */
static double right_estimates(const optune_search_view *view, const ot_learner *l)
{
    double said[TELLING_MOST];
    const int n = l->n < TELLING_MOST ? l->n : TELLING_MOST;
    int right = 0, wrong = 0;
    for (int i = 0; i < n; i++)
        said[i] = view->estimate(view, l->row[i].index);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (l->row[i].cost < l->row[k].cost) {
                right += said[i] < said[k];
                wrong += said[i] > said[k];
            }
    return right + wrong == 0 ? 0 : (double)(right - wrong) / (double)(right + wrong);
}

/* Of some draws the one that is estimated to cost least; -1: nothing is known of any. */
static int64_t cheapest_estimated(optune_search_view *view, ot_learner *l)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int i = 0; i < FAR_DRAWS; i++) {
        const int64_t index = optune_search_draw(view, &l->rng);
        if (index < 0)
            break;
        const double cost = view->estimate(view, index);
        if (cost < least) {
            least = cost;
            best = index;
        }
    }
    return best;
}

/* The best of elsewhere first, or what is estimated to be good, unless the first trials contradict;
 * every third one is far from all, to see whether that holds. */
static int64_t begin(optune_search_view *view, ot_learner *l, int known)
{
    lore *o = &l->lore;
    const bool first = o->prior && known % 3 < 2 && (l->n < TELLING || trust(l) > BELIEVED);
    while (first) {
        const int64_t index = ot_prior_best(o->prior, o->next++);
        if (index < 0)
            break;
        if (view->fresh(view, index))
            return index;
    }
    if (view->estimate && !o->prior && known % 3 < 2 &&
        (l->n < TELLING || right_estimates(view, l) > BELIEVED)) {
        const int64_t index = cheapest_estimated(view, l);
        if (index >= 0)
            return index;
    }
    /* Where so many failed, sizes like theirs are no better a guess than any. */
    return far_from_all(view, l, known < BEGIN_MOST);
}

static int64_t next(ot_learner *l, optune_search_view *view, int n_out)
{
    const int known = l->n + n_out;
    const double total = view->left > 0 ? known + view->left : INFINITY;
    if (l->good < 2 || known < fmin(BEGIN_MOST, BEGIN_LEAST + BEGIN_SHARE * total))
        return begin(view, l, known);
    if (optune_random_unit(&l->rng) < EXPLORING * fmin(1, l->since / (0.1 * total)))
        return far_from_all(view, l, false);
    if (!l->fits || l->n - l->fitted >= fmax(1, l->n / REFIT))
        fit(view, l);
    return best_proposal(view, l);
}

int64_t ot_learner_ask(ot_learner *l, optune_search_view *view, int n_out)
{
    const int64_t index = next(l, view, n_out);
    return index < 0 ? optune_search_draw(view, &l->rng) : index;
}
