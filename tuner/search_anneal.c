/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated annealing on the real costs: a few walkers, each proposing a config that differs
 * from its own in one knob (now and then two), accepted when better, or by the Metropolis rule on
 * the relative slowdown at a temperature that falls with every cost heard. Kirkpatrick,
 * Gelatt and Vecchi, "Optimization by Simulated Annealing", Science 220 (1983).
 */
#include <math.h>

#include "optune/define.h"

enum { WALKERS = 4, TRIES = 50 };
#define FIRST_TEMPERATURE 0.5 /* a config 1.5 times slower is accepted with probability 1/e */
#define COOLING 0.97

typedef struct walker {
    int64_t at; /* -1: nowhere yet */
    double cost;
    int64_t proposed; /* -1: nothing out */
} walker;

typedef struct state {
    uint64_t rng;
    double temperature;
    int turn;
    int64_t best;
    double best_cost;
    walker walker[WALKERS];
} state;

static int start(optune_search_view *view)
{
    state *s = view->state;
    s->rng = view->seed;
    s->temperature = FIRST_TEMPERATURE;
    s->best = -1;
    s->best_cost = INFINITY;
    for (int w = 0; w < WALKERS; w++)
        s->walker[w] = (walker){-1, INFINITY, -1};
    return OPTUNE_OK;
}

static int64_t step(const optune_search_view *view, state *s, int64_t from)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    const int knobs = optune_space_knobs(view->space);
    if (!knobs)
        return 0;
    optune_space_digits(view->space, from, digit);
    const int64_t changes = 1 + (optune_random_below(&s->rng, 4) == 0);
    for (int64_t c = 0; c < changes; c++) {
        const int64_t k = optune_random_below(&s->rng, knobs);
        const int64_t radix = optune_space_radix(view->space, (int)k);
        const int64_t near = 1 + radix / 8;
        if (optune_random_below(&s->rng, 2)) {
            const int64_t to = digit[k] + optune_random_below(&s->rng, 2 * near + 1) - near;
            digit[k] = to < 0 ? 0 : to >= radix ? radix - 1 : to;
        } else {
            digit[k] = optune_random_below(&s->rng, radix);
        }
    }
    return optune_space_index(view->space, digit);
}

static int64_t ask(optune_search_view *view)
{
    state *s = view->state;
    walker *w = &s->walker[s->turn++ % WALKERS];
    /* A walker that is nowhere starts beside the best known config, or anywhere. */
    const int64_t from = w->at >= 0 ? w->at : s->best;
    int64_t index = -1;
    for (int attempt = 0; from >= 0 && attempt < TRIES && index < 0; attempt++) {
        const int64_t near = step(view, s, from);
        index = view->fresh(view, near) ? near : -1;
    }
    w->proposed = index >= 0 ? index : optune_search_draw(view, &s->rng);
    return w->proposed;
}

static void tell(optune_search_view *view, const optune_told *told)
{
    state *s = view->state;
    const int64_t index = told->index;
    const double cost = told->cost;
    if (cost < s->best_cost) {
        s->best = index;
        s->best_cost = cost;
    }
    s->temperature *= COOLING;
    for (int k = 0; k < WALKERS; k++) {
        walker *w = &s->walker[k];
        if (w->proposed != index)
            continue;
        w->proposed = -1;
        if (!isfinite(cost))
            continue;
        const double worse = isfinite(w->cost) ? cost / w->cost - 1 : 0;
        if (worse <= 0 || optune_random_unit(&s->rng) < exp(-worse / s->temperature)) {
            w->at = index;
            w->cost = cost;
        }
    }
}

OPTUNE_SEARCH(anneal) = {
    .name = "anneal",
    .summary = "simulated annealing, four walkers; for spaces where neighbours cost alike",
    .state_size = sizeof(state),
    .start = start,
    .ask = ask,
    .tell = tell,
};
