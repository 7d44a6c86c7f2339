/* SPDX-License-Identifier: Apache-2.0 */
/* Uniform sampling without repetition: the yardstick of every other search. */
#include "optune/define.h"

typedef struct state {
    uint64_t rng;
} state;

static int start(optune_search_view *view)
{
    state *s = view->state;
    s->rng = view->seed;
    return OPTUNE_OK;
}

static int64_t ask(optune_search_view *view)
{
    state *s = view->state;
    return optune_search_draw(view, &s->rng);
}

OPTUNE_SEARCH(random) = {
    .name = "random",
    .summary = "uniform sampling without repetition; the yardstick of all others",
    .state_size = sizeof(state),
    .start = start,
    .ask = ask,
};
