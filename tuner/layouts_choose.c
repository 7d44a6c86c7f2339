/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups of a graph are to be in blocks of channels, by what was measured: each group has its
 * forms as states, and a group and the one that makes what it reads pay for a transform where they
 * do not agree. A value that several read is a variable of its own, with the layouts that there are
 * of it as states, so that one transform serves them all.
 */
#include <math.h>
#include <string.h>

#include "tuner/layouts.h"

typedef struct problem {
    ot_assignment is;
    ot_pair *pair;
    double (*cost)[OT_STATES];
    int *states, *form; /* of a group, by state: which form */
    int *shared;        /* by node: the variable of a value with several readers, or -1 */
} problem;

enum { HAVE_PLAIN, HAVE_BLOCKS, HAVE_BOTH, HAVE };

static double turned(const ot_laying *l, ot_value value, int from, int to)
{
    if (from == to)
        return 0;
    optune_call *call = ot_alloc(sizeof *call);
    double cost = ot_value_flat(l->plain->graph, value) ? 0 : INFINITY;
    if (ot_value_turned(l->plain->graph, value, from, to, call)) {
        ot_text text = {0};
        ot_call_print(call, &text);
        for (int i = 0; i < l->n_items; i++)
            if (!strcmp(l->item[i].text, ot_text_str(&text)))
                cost = l->item[i].cost;
        ot_text_release(&text);
    }
    free(call);
    return cost;
}

static const ot_blocks *form_in(const ot_laying *l, const problem *p, int group, int state)
{
    return &l->form[p->form[group * OT_STATES + state]];
}

/* What a value in a set of layouts costs, by how it is made. */
static double having(const ot_laying *l, ot_value value, int made, int have)
{
    if (have == (made ? HAVE_BLOCKS : HAVE_PLAIN))
        return 0;
    return have == HAVE_BOTH ? turned(l, value, made, made ? 0 : l->block) : INFINITY;
}

static bool is_had(int have, int want)
{
    return have == HAVE_BOTH || have == (want ? HAVE_BLOCKS : HAVE_PLAIN);
}

/* The variable of a value that several read; the first time, with what its maker has to do with. */
static int share(const ot_laying *l, problem *p, ot_value value)
{
    int *shared = &p->shared[value.node];
    if (*shared >= 0)
        return *shared;
    const int id = *shared = p->is.n++, maker = l->maker[value.node];
    p->states[id] = HAVE;
    for (int have = 0; have < HAVE; have++)
        p->cost[id][have] = (maker < 0 ? having(l, value, 0, have) : 0) +
                            (l->given[value.node] && !is_had(have, 0) ? INFINITY : 0);
    if (maker < 0)
        return id;
    ot_pair *pair = &p->pair[p->is.n_pairs++];
    *pair = (ot_pair){.a = maker, .b = id};
    for (int s = 0; s < p->states[maker]; s++)
        for (int have = 0; have < HAVE; have++)
            pair->cost[s][have] = having(l, value, form_in(l, p, maker, s)->out, have);
    return id;
}

static void read_value(const ot_laying *l, problem *p, int i, int k)
{
    const ot_group *group = &l->plain->groups.group[i];
    const ot_value value = group->in[k];
    const int maker = l->maker[value.node];
    if (ot_value_constant(l->plain->graph, value) || ot_value_flat(l->plain->graph, value))
        return;
    const bool alone = l->readers[value.node] == 1 && !l->given[value.node];
    const int other = alone ? maker : share(l, p, value);
    if (other < 0) {
        for (int s = 0; s < p->states[i]; s++)
            p->cost[i][s] += turned(
                l, value, 0, ot_group_wants(l->plain->graph, group, k, *form_in(l, p, i, s)));
        return;
    }
    ot_pair *pair = &p->pair[p->is.n_pairs++];
    *pair = (ot_pair){.a = i, .b = other};
    for (int s = 0; s < p->states[i]; s++) {
        const int want = ot_group_wants(l->plain->graph, group, k, *form_in(l, p, i, s));
        for (int t = 0; t < p->states[other]; t++)
            pair->cost[s][t] = alone ? turned(l, value, form_in(l, p, maker, t)->out, want)
                               : is_had(t, want) ? 0
                                                 : INFINITY;
    }
}

static void add_states(const ot_laying *l, problem *p, bool hopeful)
{
    for (int i = 0; i < l->n; i++)
        for (int which = 0; which < OT_FORMS; which++) {
            const ot_form_cost *own = &l->cost[i][which];
            double cost = which == 0      ? l->alone[i]
                          : own->item < 0 ? 0
                                          : l->item[own->item].cost;
            if (!own->takes || !isfinite(cost))
                continue;
            if (hopeful)
                cost = fmin(cost, l->alone[i]);
            p->form[i * OT_STATES + p->states[i]] = which;
            p->cost[i][p->states[i]++] = cost;
        }
}

double ot_layouts_choose(const ot_laying *l, bool hopeful, ot_blocks *form)
{
    const optune_graph *g = l->plain->graph;
    int reads = 0;
    for (int i = 0; i < l->n; i++)
        reads += l->plain->groups.group[i].n_in;
    const size_t most = (size_t)l->n + (size_t)g->n + 1;
    problem p = {.is = {.n = l->n}};
    p.pair = ot_alloc(((size_t)reads + most) * sizeof *p.pair);
    p.cost = ot_alloc(most * sizeof *p.cost);
    p.states = ot_alloc(most * sizeof *p.states);
    p.form = ot_alloc((size_t)(l->n + 1) * OT_STATES * sizeof *p.form);
    p.shared = ot_alloc((size_t)(g->n + 1) * sizeof *p.shared);
    int *state = ot_alloc(most * sizeof *state);
    for (int id = 0; id < g->n; id++)
        p.shared[id] = -1;
    add_states(l, &p, hopeful);
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->plain->groups.group[i].n_in; k++)
            read_value(l, &p, i, k);
    for (int id = 0; id < g->n; id++) /* outputs that nobody reads but the caller */
        if (l->given[id] && l->maker[id] >= 0 && !l->readers[id])
            for (int s = 0; s < p.states[l->maker[id]]; s++)
                p.cost[l->maker[id]][s] +=
                    turned(l, (ot_value){id, 0}, form_in(l, &p, l->maker[id], s)->out, 0);
    p.is.pair = p.pair;
    p.is.cost = p.cost;
    p.is.states = p.states;
    bool exact;
    double saved = -ot_assign(&p.is, state, &exact);
    for (int i = 0; i < l->n; i++) {
        form[i] = *form_in(l, &p, i, state[i]);
        saved += l->alone[i];
    }
    free(p.pair);
    free(p.cost);
    free(p.states);
    free(p.form);
    free(p.shared);
    free(state);
    return saved;
}
