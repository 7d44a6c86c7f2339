/* SPDX-License-Identifier: Apache-2.0 */
/* Every valid config in index order, first knob fastest. The seed does not matter. */
#include "optune/define.h"

typedef struct state {
    int64_t next;
} state;

static int64_t ask(optune_search_view *view)
{
    state *s = view->state;
    for (const int64_t size = optune_space_size(view->space); s->next < size; s->next++)
        if (view->fresh(view, s->next))
            return s->next++;
    return -1;
}

OPTUNE_SEARCH(grid) = {
    .name = "grid",
    .summary = "every config in index order; for spaces that are tried as a whole",
    .state_size = sizeof(state),
    .ask = ask,
};
