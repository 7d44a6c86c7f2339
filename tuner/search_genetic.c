/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steady-state genetic search. The population is the best configs measured so far; children
 * come from tournament-selected parents by uniform crossover of knobs and mutation of some. One
 * child in eight is a fresh random draw, so the search cannot be trapped. Costs arrive one by
 * one, in any order, and those of earlier runs count like its own.
 */
#include <math.h>
#include <string.h>

#include "optune/define.h"

enum { POPULATION = 24, FIRST_RANDOM = 6, TRIES = 100 };

typedef struct member {
    int64_t index;
    double cost;
} member;

typedef struct state {
    uint64_t rng;
    int told; /* good costs heard of */
    int n;
    member best[POPULATION]; /* ascending cost */
} state;

static int start(optune_search_view *view)
{
    state *s = view->state;
    s->rng = view->seed;
    return OPTUNE_OK;
}

static void tell(optune_search_view *view, const optune_told *told)
{
    state *s = view->state;
    const int64_t index = told->index;
    const double cost = told->cost;
    if (!isfinite(cost))
        return;
    s->told++;
    for (int i = 0; i < s->n; i++)
        if (s->best[i].index == index)
            return;
    int at = s->n;
    while (at > 0 && s->best[at - 1].cost > cost)
        at--;
    if (at == POPULATION)
        return;
    const int last = s->n < POPULATION ? s->n++ : POPULATION - 1;
    memmove(&s->best[at + 1], &s->best[at], (size_t)(last - at) * sizeof s->best[0]);
    s->best[at] = (member){index, cost};
}

/* The better of two random members: their ranks decide. */
static int64_t parent(state *s)
{
    const int64_t a = optune_random_below(&s->rng, s->n);
    const int64_t b = optune_random_below(&s->rng, s->n);
    return s->best[a < b ? a : b].index;
}

static int64_t child(const optune_search_view *view, state *s)
{
    int64_t one[OPTUNE_MAX_KNOBS], two[OPTUNE_MAX_KNOBS];
    const int knobs = optune_space_knobs(view->space);
    optune_space_digits(view->space, parent(s), one);
    optune_space_digits(view->space, parent(s), two);
    for (int k = 0; k < knobs; k++) {
        if (optune_random_below(&s->rng, 2))
            one[k] = two[k];
        if (optune_random_below(&s->rng, knobs + 1) == 0)
            one[k] = optune_random_below(&s->rng, optune_space_radix(view->space, k));
    }
    return optune_space_index(view->space, one);
}

static int64_t ask(optune_search_view *view)
{
    state *s = view->state;
    const bool breed =
        s->told >= FIRST_RANDOM && s->n >= 2 && optune_random_below(&s->rng, 8) != 0;
    for (int attempt = 0; breed && attempt < TRIES; attempt++) {
        const int64_t index = child(view, s);
        if (view->fresh(view, index))
            return index;
    }
    return optune_search_draw(view, &s->rng);
}

OPTUNE_SEARCH(genetic) = {
    .name = "genetic",
    .summary = "crossover and mutation of the best configs so far; for long runs, costs next "
               "to no time",
    .state_size = sizeof(state),
    .start = start,
    .ask = ask,
    .tell = tell,
};
