/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uniform draws of fresh configs. Drawing until one is valid is uniform and needs no memory, and
 * where one in fifty is valid it is soon done. Where draws keep missing and constraints say how
 * many are valid, one of these is drawn by its number. Where most were tried already the valid ones
 * are listed once and drawn from the list; only a space that is too large for that is drawn from
 * for longer, and in the end one is found step by step, or none.
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

/* Of `valid` ones that constraints let through; a device may refuse more. */
static int64_t draw_counted(const optune_search_view *view, uint64_t *rng, int64_t valid,
                            int times)
{
    for (int i = 0; i < times && valid > 0; i++) {
        const int64_t index = ot_space_valid_nth(view->space, optune_random_below(rng, valid));
        if (view->fresh(view, index))
            return index;
    }
    return -1;
}

static void list(ot_arm *arm, int64_t valid)
{
    const int64_t size = valid < 0 ? optune_space_size(arm->space) : valid;
    int64_t capacity = 1024;
    arm->unseen = ot_alloc((size_t)capacity * sizeof *arm->unseen);
    for (int64_t i = 0; i < size; i++) {
        const int64_t index = valid < 0 ? i : ot_space_valid_nth(arm->space, i);
        if (!arm->view.fresh(&arm->view, index))
            continue;
        if (arm->n_unseen == capacity) {
            int64_t *more = ot_alloc(2 * (size_t)capacity * sizeof *more);
            for (int64_t k = 0; k < capacity; k++)
                more[k] = arm->unseen[k];
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

/* Where the first draws missed: what else can be done. */
static int64_t draw_rare(const optune_search_view *view, uint64_t *rng)
{
    ot_arm *arm = view->core;
    const int64_t valid = ot_space_counted(view->space);
    int64_t index = draw_counted(view, rng, valid, DRAWS);
    if (index >= 0)
        return index;
    if ((valid >= 0 ? valid : optune_space_size(view->space)) <= LISTED) {
        list(arm, valid);
        return draw_listed(arm, rng);
    }
    index = draw(view, rng, LONG_DRAWS);
    if (index < 0)
        index = ot_space_valid_some(view->space, rng);
    return view->fresh(view, index) ? index : -1;
}

int64_t optune_search_draw(const optune_search_view *view, uint64_t *rng)
{
    ot_arm *arm = view->core;
    if (arm->unseen)
        return draw_listed(arm, rng);
    const int64_t index = draw(view, rng, DRAWS);
    return index >= 0 ? index : draw_rare(view, rng);
}
