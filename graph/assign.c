/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state for each of many variables, so that what they cost by themselves and in pairs is least:
 * the partitioned boolean quadratic problem.
 *
 * A variable without pairs takes its cheapest state; one with one pair or two is taken out and what
 * it would cost at best, by its neighbours' states, is added to them: nothing is lost, so chains,
 * trees and residual blocks are solved exactly. Where every variable left has more pairs, the one
 * with most is settled as seems best; at the end each is looked at once more, among settled ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/layout.h"

typedef struct link {
    int to;
    double cost[OT_STATES][OT_STATES]; /* by one's own state, then by the other's */
} link;

typedef struct variable {
    double cost[OT_STATES];
    link *link;
    int n, capacity;
    bool out;
} variable;

static link *find(variable *v, int to)
{
    for (int i = 0; i < v->n; i++)
        if (v->link[i].to == to)
            return &v->link[i];
    return NULL;
}

static void add_half(variable *v, int to, const double cost[OT_STATES][OT_STATES], bool turned)
{
    link *l = find(v, to);
    if (!l) {
        v->link = ot_room(v->link, v->n, &v->capacity, sizeof *v->link);
        l = &v->link[v->n++];
        *l = (link){.to = to};
    }
    for (int i = 0; i < OT_STATES; i++)
        for (int k = 0; k < OT_STATES; k++)
            l->cost[i][k] += turned ? cost[k][i] : cost[i][k];
}

static void join(variable *all, int a, int b, const double cost[OT_STATES][OT_STATES])
{
    add_half(&all[a], b, cost, false);
    add_half(&all[b], a, cost, true);
}

static void forget(variable *v, int to)
{
    link *l = find(v, to);
    if (l)
        *l = v->link[--v->n];
}

/* Out of what is left; its own links stay, for the way back. */
static void take_out(variable *all, int id)
{
    variable *v = &all[id];
    v->out = true;
    for (int i = 0; i < v->n; i++)
        forget(&all[v->link[i].to], id);
}

static void reduce(variable *all, const int *states, int id)
{
    variable *v = &all[id];
    take_out(all, id);
    if (v->n == 1) {
        variable *other = &all[v->link[0].to];
        for (int t = 0; t < states[v->link[0].to]; t++) {
            double least = INFINITY;
            for (int s = 0; s < states[id]; s++)
                least = fmin(least, v->cost[s] + v->link[0].cost[s][t]);
            other->cost[t] += least;
        }
    } else if (v->n == 2) {
        const int a = v->link[0].to, b = v->link[1].to;
        double cost[OT_STATES][OT_STATES] = {{0}};
        for (int t = 0; t < states[a]; t++)
            for (int u = 0; u < states[b]; u++) {
                cost[t][u] = INFINITY;
                for (int s = 0; s < states[id]; s++)
                    cost[t][u] = fmin(cost[t][u], v->cost[s] + v->link[0].cost[s][t] +
                                                      v->link[1].cost[s][u]);
            }
        join(all, a, b, cost);
    }
}

/* The best state of one, its neighbours' being known (state >= 0) or at their best. */
static int best_state(const variable *all, const int *states, int id, const int *state)
{
    const variable *v = &all[id];
    double least = INFINITY;
    int best = 0;
    for (int s = 0; s < states[id]; s++) {
        double sum = v->cost[s];
        for (int i = 0; i < v->n; i++) {
            const link *l = &v->link[i];
            double other = INFINITY;
            for (int t = 0; t < states[l->to]; t++)
                other = fmin(other, l->cost[s][t] + all[l->to].cost[t]);
            sum += state[l->to] >= 0 ? l->cost[s][state[l->to]] : other;
        }
        if (sum < least) {
            least = sum;
            best = s;
        }
    }
    return best;
}

/* Settled: what its state costs with others is theirs from now on. */
static void settle(variable *all, const int *states, int id, int *state)
{
    variable *v = &all[id];
    state[id] = best_state(all, states, id, state);
    take_out(all, id);
    for (int i = 0; i < v->n; i++)
        for (int t = 0; t < states[v->link[i].to]; t++)
            all[v->link[i].to].cost[t] += v->link[i].cost[state[id]][t];
}

/* The one with the fewest links, if that is at most two; else the one with most. */
static int next(const variable *all, int n, bool *few)
{
    int least = -1, most = -1;
    for (int i = 0; i < n; i++) {
        if (all[i].out)
            continue;
        least = least < 0 || all[i].n < all[least].n ? i : least;
        most = most < 0 || all[i].n > all[most].n ? i : most;
    }
    *few = least >= 0 && all[least].n <= 2;
    return *few ? least : most;
}

static double sum_of(const ot_assignment *p, const int *state)
{
    double sum = 0;
    for (int i = 0; i < p->n; i++)
        sum += p->cost[i][state[i]];
    for (int i = 0; i < p->n_pairs; i++)
        sum += p->pair[i].cost[state[p->pair[i].a]][state[p->pair[i].b]];
    return sum;
}

static variable *variables(const ot_assignment *p)
{
    variable *all = ot_alloc((size_t)(p->n + 1) * sizeof *all);
    for (int i = 0; i < p->n; i++)
        memcpy(all[i].cost, p->cost[i], sizeof all[i].cost);
    for (int i = 0; i < p->n_pairs; i++)
        join(all, p->pair[i].a, p->pair[i].b, p->pair[i].cost);
    return all;
}

static void drop(variable *all, int n)
{
    for (int i = 0; i < n; i++)
        free(all[i].link);
    free(all);
}

/* Each in turn to its best among the others as they are, until none moves. */
static void look_again(const ot_assignment *p, int *state)
{
    variable *all = variables(p);
    bool moved = true;
    for (int round = 0; moved && round < p->n + 2; round++) {
        moved = false;
        for (int i = 0; i < p->n; i++) {
            const int was = state[i];
            const double before = sum_of(p, state);
            state[i] = best_state(all, p->states, i, state);
            if (state[i] != was && sum_of(p, state) < before)
                moved = true;
            else
                state[i] = was;
        }
    }
    drop(all, p->n);
}

double ot_assign(const ot_assignment *p, int *state, bool *exact)
{
    variable *all = variables(p);
    int *order = ot_alloc((size_t)(p->n + 1) * sizeof *order);
    int n = 0;
    *exact = true;
    for (int i = 0; i < p->n; i++)
        state[i] = -1;
    for (int left = p->n; left > 0; left--) {
        bool few;
        const int id = next(all, p->n, &few);
        if (few) {
            reduce(all, p->states, id);
            order[n++] = id;
        } else {
            settle(all, p->states, id, state);
            *exact = false;
        }
    }
    while (n-- > 0) /* its neighbours left later, so they are known by now */
        state[order[n]] = best_state(all, p->states, order[n], state);
    free(order);
    drop(all, p->n);
    if (!*exact)
        look_again(p, state);
    return sum_of(p, state);
}
