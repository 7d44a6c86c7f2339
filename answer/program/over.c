/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is added in place: a group that ends in adding a value nobody else needs any more, as a
 * residual block does, may write the sum over it. One array less is fetched and there is less
 * memory in all. Whether the kernel can is its plan's to say, so this is asked once kernels are
 * known, and again when others take their place.
 */
#include "answer/program/places.h"
#include "strategy/strategy.h"

typedef struct search {
    const optune_graph *g;
    const ot_groups *groups;
    const ot_places *places;
} search;

/* The home that is this value and nothing else, made by groups; -1: there is none. */
static int own_home(const search *s, ot_value value)
{
    const ot_located at = ot_places_at(s->places, value);
    if (at.home < 0 || at.offset)
        return -1;
    const ot_home *home = &s->places->home[at.home];
    return home->leaf < 0 && home->bytes > 0 &&
                   home->bytes == ot_tensor_most_bytes(ot_graph_type_of(s->g, value))
               ? at.home
               : -1;
}

/* Whether input `k` is the only one of the group that lies in this home. */
static bool read_once(const search *s, const ot_group *group, int k, int home)
{
    for (int i = 0; i < group->n_in; i++)
        if (i != k && ot_places_at(s->places, group->in[i]).home == home)
            return false;
    return true;
}

/* The home of an operand that the group's output may lie over; -1: none. */
static int operand_under(const search *s, int number, int out)
{
    const ot_group *group = &s->groups->group[number];
    const optune_call *call = group->call;
    for (int k = call->n_inputs; k < group->n_in; k++) {
        const int h = own_home(s, group->in[k]);
        if (h >= 0 && h != out && s->places->home[h].last == number &&
            s->places->home[h].first < number &&
            s->places->home[h].bytes == s->places->home[out].bytes &&
            ot_tensor_same(&call->input[k].type, &call->output[0]) && read_once(s, group, k, h))
            return h;
    }
    return -1;
}

int ot_places_over(const optune_graph *g, const ot_groups *groups, const ot_places *places,
                   ot_plan_of *plan, void *arg, int *over, int *lasts)
{
    const search s = {g, groups, places};
    int n = 0;
    for (int h = 0; h < places->n; h++) {
        over[h] = h;
        lasts[h] = places->home[h].last;
    }
    for (int i = 0; i < groups->n && plan; i++) {
        const ot_group *group = &groups->group[i];
        if (places->idle[i] != OT_RUNS || group->call->n_outputs != 1 ||
            !ot_call_static(group->call))
            continue;
        const int out = own_home(&s, (ot_value){group->node[group->n_nodes - 1], 0});
        if (out < 0 || places->home[out].first != i)
            continue;
        const optune_plan *by = plan(arg, i);
        const int under = by && by->in_place ? operand_under(&s, i, out) : -1;
        if (under < 0)
            continue;
        over[out] = over[under];
        if (lasts[out] > lasts[over[out]])
            lasts[over[out]] = lasts[out];
        n++;
    }
    return n;
}
