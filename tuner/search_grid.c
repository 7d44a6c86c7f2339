/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every valid config in index order, first knob fastest; the seed does not matter. Where a million
 * steps meet none that is valid, the others come as draws do, which know where constraints leave
 * any.
 */
#include "optune/define.h"

enum { STEPS = 1 << 20 }; /* of one ask */

typedef struct state {
    int64_t next;
    bool lost; /* too few are valid to be met by walking */
    uint64_t rng;
} state;

static int64_t ask(optune_search_view *view)
{
    state *s = view->state;
    const int64_t size = optune_space_size(view->space);
    for (int i = 0; !s->lost && s->next < size; i++) {
        if (view->fresh(view, s->next))
            return s->next++;
        s->next++;
        s->lost = i == STEPS;
    }
    return s->lost ? optune_search_draw(view, &s->rng) : -1;
}

OPTUNE_SEARCH(grid) = {
    .name = "grid",
    .summary = "every config in index order; for spaces that are tried as a whole",
    .state_size = sizeof(state),
    .ask = ask,
};
