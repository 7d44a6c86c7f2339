/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search that learns: a forest over the values of the knobs predicts what a config costs and
 * how little is known of it; of many proposals (neighbours and crossings of the best, random ones)
 * the one with the largest expected improvement is tried next. It starts with configs far from each
 * other, of sizes near powers of two, fewer of them the shorter the run is. Failures count as the
 * worst of all; what is out is taken to cost what the model expects, so that asking again before
 * being told leads elsewhere.
 * With trials elsewhere there are two of it. One is taught by them; the other knows only what it
 * asked for itself, as if there were none, and takes turns where the first one is stuck: what that
 * was led to keeps neighbours and crossings where they are.
 * Hutter, Hoos and Leyton-Brown, "Sequential model-based optimization for general algorithm
 * configuration", LION 5 (2011).
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tuner/prior.h"
#include "tuner/tune.h"

enum {
    MAX_ROWS = 400,   /* that the model is fitted to */
    MAX_PENDING = 64, /* that it takes into account */
    REFIT = 20,       /* when a 20th more is known */
    BEST = 8,         /* configs whose neighbours are proposed */
    PER_KNOB = 8,     /* neighbours by one knob */
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
    STUCK =
        16, /* trials without progress, or a share of all, after which the untaught asks, too */
};
#define STUCK_SHARE 0.25
#define BELIEVED 0.3 /* how far advice has to be right */
#define BEGIN_SHARE 0.04
#define DOUBT 0.5      /* of what the trees disagree by; all of it explores too long */
#define EXPLORING 0.05 /* share of far configs, after a tenth of all trials without progress */

typedef struct row {
    int64_t index;
    double cost; /* infinity: failed */
} row;

/* What trials elsewhere say, as the model sees it: it is fitted to what they leave unsaid. */
typedef struct lore {
    ot_prior *prior; /* NULL: there are none */
    double slope;    /* how much of it holds here: 0 .. 1 */
    double right;    /* how far it was right when the model was fitted last */
    int n;           /* what it says of the rows of the last fit, ascending: a rank's measure */
    float said[MAX_ROWS];
    int next; /* of its best, to propose at the beginning */
} lore;

typedef struct learner {
    const optune_space *space;
    bool untaught; /* knows only what it asked for: */
    int n_out;     /* what is not told yet */
    int64_t out[MAX_PENDING];
    lore lore;
    ot_feature_kind kind[OT_MAX_FEATURES];
    uint64_t rng;
    int n_features;
    int first[OPTUNE_MAX_KNOBS + 1]; /* feature of each knob */
    float *value[OPTUNE_MAX_KNOBS];  /* its features, of each digit */
    bool few;                        /* so few features that there is room for derived ones */
    bool derived[OT_MAX_FEATURES];   /* from another: the model's alone, no distance */
    bool counted[OT_MAX_FEATURES];   /* derived, and the knob counts */
    float low[OT_MAX_FEATURES], high[OT_MAX_FEATURES];
    ot_forest *forest[2]; /* of ranks, of logarithms */
    int model;            /* the one fitted last */
    int n_pool, left_in_pool;
    row *row; /* told, in the order of telling */
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
    float y[MAX_ROWS + MAX_PENDING], mean[POOL], deviation[POOL], said[POOL];
    double score[POOL];
} learner;

typedef struct state {
    learner *taught;   /* is told everything; the only one where nothing is known elsewhere */
    learner *untaught; /* NULL: not needed so far */
    int known;         /* trials that were there before the first ask */
    bool stuck;        /* the taught one has found nothing better for long */
    int turn;
} state;

/* ---- configs as features --------------------------------------------------------------------- */

/* What is left of a whole number when all factors of two are taken out; 0: it is none. */
static double odd_part(double number)
{
    int exponent;
    const double most = ldexp(1, DBL_MANT_DIG);
    if (number < 1 || number > most || number != floor(number))
        return 0;
    double odd = frexp(number, &exponent);
    while (odd != floor(odd))
        odd *= 2;
    return odd;
}

/* A part of a knob, or what it leaves without its factors of two. */
typedef struct column {
    int part;
    bool odd;
} column;

static double number_of(const optune_space *space, int knob, int64_t digit, column c)
{
    double number[OPTUNE_MAX_LIST];
    optune_space_numbers(space, knob, digit, number);
    return c.odd ? odd_part(number[c.part]) : number[c.part];
}

/* false: all entities have the same, or some have none. */
static bool differs(const optune_space *space, int knob, column c, double *least)
{
    double most = *least = number_of(space, knob, 0, c);
    for (int64_t d = 1; d < optune_space_radix(space, knob); d++) {
        const double number = number_of(space, knob, d, c);
        *least = fmin(*least, number);
        most = fmax(most, number);
    }
    return *least < most && (!c.odd || *least > 0);
}

/* Whether a knob counts: most of its numbers lie a step behind the one before. Nobody chose those
 * one by one, as the 7 among 1, 2, 4 and 7. */
static bool counts(const optune_space *space, int knob)
{
    enum { LEAST = 3 }; /* steps */
    const int64_t radix = optune_space_radix(space, knob);
    double number[OPTUNE_MAX_LIST], step = 0;
    int64_t votes = 0, alike = 0;
    if (optune_space_numbers(space, knob, 0, number) > 1)
        return false;
    /* The only step that can be most of them, then how many are. */
    for (int pass = 0; pass < 2; pass++)
        for (int64_t d = 1; d < radix; d++) {
            const column own = {0, false};
            const double to = number_of(space, knob, d, own);
            const double by = to - number_of(space, knob, d - 1, own);
            if (pass == 0 && votes == 0)
                step = by;
            votes += by == step ? 1 : -1;
            alike += pass == 1 && by == step;
        }
    return alike >= LEAST && 2 * alike > radix - 1;
}

static void add_knob(learner *l, const optune_space *space, int knob)
{
    const int64_t radix = optune_space_radix(space, knob);
    double least, number[OPTUNE_MAX_LIST];
    const int parts = optune_space_numbers(space, knob, 0, number);
    const bool ordered = optune_space_ordered(space, knob);
    column column_of[2 * OPTUNE_MAX_LIST];
    int n = 0;
    l->first[knob] = l->n_features;
    if (radix < 2)
        return;
    /* Of two entities each feature says as much as any other. */
    const bool counted = ordered && counts(space, knob);
    const int all = l->few && ordered && radix > 2 ? 2 * parts : parts;
    for (int i = 0; i < all && l->n_features + n < OT_MAX_FEATURES; i++) {
        const column c = {i % parts, i >= parts};
        if (!differs(space, knob, c, &least))
            continue;
        const int f = l->n_features + n;
        l->derived[f] = c.odd;
        l->counted[f] = c.odd && counted;
        l->kind[f] = !ordered                 ? OT_FEATURE_WORD
                     : least > 0 && radix > 2 ? OT_FEATURE_LOG
                                              : OT_FEATURE_ORDERED;
        column_of[n++] = c;
    }
    l->value[knob] = ot_alloc((size_t)(radix * n + 1) * sizeof(float));
    for (int64_t d = 0; d < radix; d++)
        for (int p = 0; p < n; p++) {
            const int f = l->n_features + p;
            const double own = number_of(space, knob, d, column_of[p]);
            const float v = (float)(l->kind[f] == OT_FEATURE_LOG ? log2(own) : own);
            l->value[knob][d * n + p] = v;
            l->low[f] = d ? fminf(l->low[f], v) : v;
            l->high[f] = d ? fmaxf(l->high[f], v) : v;
        }
    l->n_features += n;
}

static void features(const void *learner_, int64_t index, float *to)
{
    const learner *l = learner_;
    int64_t digit[OPTUNE_MAX_KNOBS];
    optune_space_digits(l->space, index, digit);
    for (int k = 0; k < optune_space_knobs(l->space); k++) {
        const int n = l->first[k + 1] - l->first[k];
        for (int p = 0; p < n; p++)
            *to++ = l->value[k][digit[k] * n + p];
    }
}

static learner *open_learner(const optune_search_view *view)
{
    learner *l = ot_alloc(sizeof *l);
    const int knobs = optune_space_knobs(view->space);
    double number[OPTUNE_MAX_LIST];
    l->space = view->space;
    l->rng = view->seed;
    l->best = INFINITY;
    int parts = 0;
    for (int k = 0; k < knobs; k++)
        parts += optune_space_numbers(view->space, k, 0, number);
    l->few = 2 * parts <= OT_MAX_FEATURES;
    for (int k = 0; k < knobs; k++)
        add_knob(l, view->space, k);
    l->first[knobs] = l->n_features;
    l->x = ot_alloc((size_t)(POOL * l->n_features + 1) * sizeof *l->x);
    for (int m = 0; m < 2; m++)
        l->forest[m] = ot_forest_open(l->n_features, l->kind);
    return l;
}

static int start(optune_search_view *view)
{
    ((state *)view->state)->taught = open_learner(view);
    return OPTUNE_OK;
}

static void close_learner(learner *l)
{
    if (!l)
        return;
    for (int k = 0; k < OPTUNE_MAX_KNOBS; k++)
        free(l->value[k]);
    for (int m = 0; m < 2; m++)
        ot_forest_close(l->forest[m]);
    ot_prior_close(l->lore.prior);
    free(l->x);
    free(l->row);
    free(l->order);
    free(l);
}

static void stop(optune_search_view *view)
{
    state *s = view->state;
    close_learner(s->taught);
    close_learner(s->untaught);
}

/* ---- hearing --------------------------------------------------------------------------------- */

static void hear(learner *l, int64_t index, double cost)
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
    l->row[l->n++] = (row){index, cost};
    l->since = cost < l->best ? 0 : l->since + 1;
    l->best = fmin(l->best, cost);
    if (isfinite(cost)) {
        l->good++;
        l->worst = fmax(l->worst, cost);
    }
}

/* Whether it is one that this learner asked for, which it then is no more. */
static bool was_out(learner *l, int64_t index)
{
    for (int i = 0; i < l->n_out; i++)
        if (l->out[i] == index) {
            l->out[i] = l->out[--l->n_out];
            return true;
        }
    return false;
}

static void tell(optune_search_view *view, const optune_told *told)
{
    state *s = view->state;
    const bool own = s->untaught && was_out(s->untaught, told->index);
    if (told->cost < s->taught->best && !own)
        s->stuck = false;
    hear(s->taught, told->index, told->cost);
    if (own)
        hear(s->untaught, told->index, told->cost);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static double distance(const learner *l, const float *a, const float *b)
{
    double sum = 0;
    for (int f = 0; f < l->n_features; f++)
        sum +=
            l->derived[f] ? 0 : fabs((double)(a[f] - b[f])) / (double)(l->high[f] - l->low[f]);
    return sum;
}

/* How far the numbers of knobs that count are from powers of two, in factors of two, beyond the
 * least of each knob. */
static double oddness(const learner *l, const float *x)
{
    double sum = 0;
    for (int f = 0; f < l->n_features; f++)
        sum += l->counted[f] ? (double)(x[f] - l->low[f]) : 0;
    return sum;
}

/* Of some draws the one farthest from all that was tried or is out, or from a sample of them. With
 * `even`, distance is worth the less the odder the numbers: hardware is made of powers of two, and
 * with nothing known yet that is the better guess. */
static int64_t far_from_all(optune_search_view *view, learner *l, bool even)
{
    enum { OTHERS = 64 };
    float other[OTHERS][OT_MAX_FEATURES], x[OT_MAX_FEATURES];
    const int all = l->n + view->n_pending, n = all < OTHERS ? all : OTHERS;
    for (int i = 0; i < n; i++) {
        const int64_t k = all > OTHERS ? optune_random_below(&l->rng, all) : i;
        features(l, k < l->n ? l->row[k].index : view->pending[k - l->n], other[i]);
    }
    int64_t best = -1;
    double most = -1;
    for (int i = 0; i < FAR_DRAWS; i++) {
        const int64_t index = optune_search_draw(view, &l->rng);
        if (index < 0)
            break;
        features(l, index, x);
        double nearest = n ? INFINITY : 1;
        for (int k = 0; k < n; k++)
            nearest = fmin(nearest, distance(l, x, other[k]));
        if (even)
            nearest /= 1 + oddness(l, x);
        if (nearest > most) {
            most = nearest;
            best = index;
        }
    }
    return best;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Rows for the model: all, or the best half and a sample of the others. */
static int choose_rows(learner *l, int64_t *index, bool rank)
{
    int n = 0;
    const int all = l->n;
    for (int i = 0; i < all && n < MAX_ROWS; i++) {
        const int left = all - i, room = MAX_ROWS - n;
        if (i >= MAX_ROWS / 2 && all > MAX_ROWS && optune_random_below(&l->rng, left) >= room)
            continue;
        const row *r = &l->row[l->order[i]];
        features(l, r->index, l->x + (size_t)n * (size_t)l->n_features);
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
static double trust(learner *l)
{
    enum { MOST = 48 };
    int64_t index[MOST];
    double cost[MOST];
    const int n = l->n < MOST ? l->n : MOST;
    for (int i = 0; i < n; i++) {
        const row *r = &l->row[l->order[(int64_t)i * l->n / n]];
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
static double in_unit(const learner *l, double said)
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
static void leave_unsaid(learner *l, const int64_t *index, int n)
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

static void fit(optune_search_view *view, learner *l)
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
        float *x = l->x + (size_t)n * (size_t)l->n_features;
        const int out = view->n_pending < MAX_PENDING ? view->n_pending : MAX_PENDING;
        for (int i = 0; i < out; i++)
            features(l, view->pending[i], x + (size_t)i * (size_t)l->n_features);
        ot_forest_predict(forest, x, out, l->y + n, l->deviation);
        n += out;
    }
    ot_forest_fit(forest, l->x, l->y, n, &l->rng);
    l->fitted = l->n;
    l->fits++;
    l->left_in_pool = 0;
}

/* ---- proposals ------------------------------------------------------------------------------- */

static void propose(optune_search_view *view, learner *l, int *n, int64_t index)
{
    if (*n == POOL || !view->fresh(view, index))
        return;
    for (int i = 0; i < *n; i++)
        if (l->pool[i] == index)
            return;
    l->pool[(*n)++] = index;
}

static void propose_neighbours(optune_search_view *view, learner *l, int *n, int64_t of)
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

static int64_t cross(const optune_search_view *view, learner *l, int parents)
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

static int propose_all(optune_search_view *view, learner *l)
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
static void say_hope(const optune_search_view *view, const learner *l)
{
    int best = 0;
    for (int i = 1; i < l->n_pool; i++)
        if (l->score[i] > l->score[best])
            best = i;
    if (l->model == 1 && l->n_pool)
        ot_arm_hope(view, exp((double)l->mean[best] - DOUBT * (double)l->deviation[best]));
}

/* Fills the pool with proposals and what each promises. */
static void weigh(optune_search_view *view, learner *l)
{
    const int n = l->n_pool = propose_all(view, l);
    for (int i = 0; i < n; i++)
        features(l, l->pool[i], l->x + (size_t)i * (size_t)l->n_features);
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

static int64_t best_proposal(optune_search_view *view, learner *l)
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
static double right_estimates(const optune_search_view *view, const learner *l)
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
static int64_t cheapest_estimated(optune_search_view *view, learner *l)
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
static int64_t begin(optune_search_view *view, learner *l, int known)
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

static int64_t next(optune_search_view *view, learner *l)
{
    const int known = l->n + (l->untaught ? l->n_out : view->n_pending);
    const double total = view->left > 0 ? known + view->left : INFINITY;
    if (l->good < 2 || known < fmin(BEGIN_MOST, BEGIN_LEAST + BEGIN_SHARE * total))
        return begin(view, l, known);
    if (optune_random_unit(&l->rng) < EXPLORING * fmin(1, l->since / (0.1 * total)))
        return far_from_all(view, l, false);
    if (!l->fits || l->n - l->fitted >= fmax(1, l->n / REFIT))
        fit(view, l);
    return best_proposal(view, l);
}

/* As if nothing were known elsewhere: what was told before is of this question. */
static learner *open_untaught(const optune_search_view *view, const state *s)
{
    learner *l = open_learner(view);
    l->untaught = true;
    l->rng = ~view->seed; /* with the taught one's draws it would ask what was asked already */
    for (int i = 0; i < s->known; i++)
        hear(l, s->taught->row[i].index, s->taught->row[i].cost);
    return l;
}

/* Who asks: the taught one while it gets on; then the other takes turns, two of three where what
 * was taught is wrong. */
static learner *whose_turn(const optune_search_view *view, state *s)
{
    const learner *t = s->taught;
    if (!t->lore.prior || !t->fits)
        return s->taught;
    s->stuck = s->stuck || t->since >= fmax(STUCK, STUCK_SHARE * t->n);
    if (!s->stuck || s->turn++ % (t->lore.right < BELIEVED ? 3 : 2) == 0)
        return s->taught;
    if (!s->untaught)
        s->untaught = open_untaught(view, s);
    return s->untaught->n_out < MAX_PENDING ? s->untaught : s->taught;
}

static int64_t ask(optune_search_view *view)
{
    state *s = view->state;
    learner *l = s->taught;
    if (view->n_sources && !l->lore.prior && !l->fits) {
        s->known = l->n;
        l->lore.prior = ot_prior_open(view, l->n_features, l->kind, features, l, &l->rng);
    }
    l = whose_turn(view, s);
    int64_t index = next(view, l);
    if (index < 0)
        index = optune_search_draw(view, &l->rng);
    if (l->untaught && index >= 0)
        l->out[l->n_out++] = index;
    return index;
}

OPTUNE_SEARCH(forest) = {
    .name = "forest",
    .summary =
        "learns which knobs matter from every trial; the best for most spaces and budgets",
    .state_size = sizeof(state),
    .start = start,
    .ask = ask,
    .tell = tell,
    .stop = stop,
};
