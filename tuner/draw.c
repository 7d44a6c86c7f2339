/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uniform draws of fresh configs. Drawing until one is valid is uniform and needs no memory, and
 * where one in fifty is valid it is soon done. Where draws keep missing (few valid ones, or most
 * tried already), the valid configs are listed once and drawn from the list; only a space that is
 * too large for that is drawn from for longer, and in the end given up.
 */
#include <stdlib.h>

#include "tuner/tune.h"

enum { DRAWS = 2000, LONG_DRAWS = 1000000, LISTED = 1 << 22 };

static int64_t draw(const optune_search_view *view, uint64_t *rng, int times)
{
    const int64_t size = optune_space_size(view->space);
    for (int i = 0; i < times; i++) {
        const int64_t index = optune_random_below(rng, size);
        if (view->fresh(view, index))
            return index;
    }
    return -1;
}

static void list(ot_arm *arm)
{
    const int64_t size = optune_space_size(arm->space);
    int64_t capacity = 1024;
    arm->unseen = ot_alloc((size_t)capacity * sizeof *arm->unseen);
    for (int64_t index = 0; index < size; index++) {
        if (!arm->view.fresh(&arm->view, index))
            continue;
        if (arm->n_unseen == capacity) {
            int64_t *more = ot_alloc(2 * (size_t)capacity * sizeof *more);
            for (int64_t i = 0; i < capacity; i++)
                more[i] = arm->unseen[i];
            free(arm->unseen);
            arm->unseen = more;
            capacity *= 2;
        }
        arm->unseen[arm->n_unseen++] = index;
    }
}

/* What is no longer fresh leaves the list when it is drawn: each index does so once. */
static int64_t draw_listed(ot_arm *arm, uint64_t *rng)
{
    while (arm->n_unseen > 0) {
        const int64_t at = optune_random_below(rng, arm->n_unseen);
        const int64_t index = arm->unseen[at];
        if (arm->view.fresh(&arm->view, index))
            return index;
        arm->unseen[at] = arm->unseen[--arm->n_unseen];
    }
    return -1;
}

int64_t optune_search_draw(const optune_search_view *view, uint64_t *rng)
{
    ot_arm *arm = view->core;
    const bool small = optune_space_size(view->space) <= LISTED;
    if (!arm->unseen) {
        const int64_t index = draw(view, rng, small ? DRAWS : LONG_DRAWS);
        if (index >= 0 || !small)
            return index;
        list(arm);
    }
    return draw_listed(arm, rng);
}
