/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search that learns. Where nothing is known elsewhere, one learner asks for all. With trials
 * elsewhere there are two: one is taught by them; the other knows only what it asked for itself, as
 * if there were none, and takes turns where the first one is stuck: what that was led to keeps
 * neighbours and crossings where they are.
 */
#include <math.h>

#include "tuner/search_forest.h"

enum { STUCK = 16 }; /* trials without progress, or a share of all, after which both ask */
#define STUCK_SHARE 0.25
#define RIGHT 0.3 /* less, and what was taught is wrong */

static int start(optune_search_view *view)
{
    ot_forest_search *s = view->state;
    s->taught = ot_learner_open(view, view->seed);
    return OPTUNE_OK;
}

static void stop(optune_search_view *view)
{
    ot_forest_search *s = view->state;
    ot_learner_close(s->taught);
    ot_learner_close(s->untaught);
}

/* Whether it is one that the untaught one asked for, which it then is no more. */
static bool was_out(ot_forest_search *s, int64_t index)
{
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i] == index) {
            s->out[i] = s->out[--s->n_out];
            return true;
        }
    return false;
}

static void tell(optune_search_view *view, const optune_told *told)
{
    ot_forest_search *s = view->state;
    const bool own = was_out(s, told->index);
    if (told->cost < ot_learner_progress(s->taught).best && !own)
        s->stuck = false;
    ot_learner_hear(s->taught, told->index, told->cost);
    if (own)
        ot_learner_hear(s->untaught, told->index, told->cost);
}

/* As if nothing were known elsewhere: what was told before is of this question. */
static ot_learner *open_untaught(const optune_search_view *view, const ot_forest_search *s)
{
    /* With the taught one's draws it would ask what was asked already. */
    ot_learner *l = ot_learner_open(view, ~view->seed);
    const ot_heard *heard = ot_learner_progress(s->taught).heard;
    for (int i = 0; i < s->known; i++)
        ot_learner_hear(l, heard[i].index, heard[i].cost);
    return l;
}

/* Whether the untaught one asks: never while the other gets on; then every other time, two of three
 * where what that was taught is wrong. */
static bool is_its_turn(ot_forest_search *s)
{
    const ot_progress p = ot_learner_progress(s->taught);
    if (!p.taught || !p.fitted)
        return false;
    s->stuck = s->stuck || p.since >= fmax(STUCK, STUCK_SHARE * p.n);
    return s->stuck && s->turn++ % (p.right < RIGHT ? 3 : 2) != 0 && s->n_out < OT_LEARNER_OUT;
}

static int64_t ask(optune_search_view *view)
{
    ot_forest_search *s = view->state;
    const ot_progress p = ot_learner_progress(s->taught);
    if (view->n_sources && !p.taught && !p.fitted) {
        s->known = p.n;
        ot_learner_teach(s->taught, view);
    }
    if (!is_its_turn(s))
        return ot_learner_ask(s->taught, view, view->n_pending);
    if (!s->untaught)
        s->untaught = open_untaught(view, s);
    const int64_t index = ot_learner_ask(s->untaught, view, s->n_out);
    if (index >= 0)
        s->out[s->n_out++] = index;
    return index;
}

OPTUNE_SEARCH(forest) = {
    .name = "forest",
    .summary =
        "learns which knobs matter from every trial; the best for most spaces and budgets",
    .state_size = sizeof(ot_forest_search),
    .start = start,
    .ask = ask,
    .tell = tell,
    .stop = stop,
};
