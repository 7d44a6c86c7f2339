/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that only lay bytes where others have them need not run: a reshape's output is its input's
 * place, and what is concatenated can be written behind one another in the first place.
 *
 * Every value begins in a home of its own. A group that only lays runs of bytes behind one another
 * says where its inputs would be, seen from its output; if every home can be shifted so, and
 * nothing that groups write would come to lie over something else that they write, the homes become
 * one. What is written is written once in a run, so it is there from its group on, whoever reads it
 * as a part of what. Values are met in the order of evaluation: what was joined stays joined.
 */
#include "answer/program/places.h"

#include <stdlib.h>

typedef struct member { /* a value that is in memory */
    ot_value value;
    int home;
    int64_t at, bytes;
    bool written; /* by its group; else it consists of others */
    int next;     /* of the same home; -1: none */
} member;

typedef struct plan {
    const optune_graph *g;
    const ot_groups *groups;
    ot_places *to;
    int n;
    member *member;
    int *first; /* by home: its first member */
    int **of;   /* by node, then by output: the member; -1: inside a group */
} plan;

const char *ot_idle_name(ot_idle idle)
{
    static const char *const name[] = {
        [OT_RUNS] = NULL, [OT_VIEW] = "view", [OT_IN_PLACE] = "in place"};
    return name[idle];
}

ot_located ot_places_at(const ot_places *places, ot_value value)
{
    return places->value[value.node][value.output];
}

/* ---- members and homes -------------------------------------------------------------------- */

static member *member_of(const plan *p, ot_value value)
{
    return &p->member[p->of[value.node][value.output]];
}

static void add(plan *p, ot_value value, int leaf)
{
    const optune_tensor *type = ot_graph_type_of(p->g, value);
    const int64_t most = ot_tensor_most_bytes(type), bytes = most > 0 ? most : 0;
    const int i = p->n++;
    p->member[i] = (member){.value = value, .home = i, .bytes = bytes, .next = -1};
    p->member[i].written = leaf < 0;
    p->first[i] = i;
    p->to->home[i] = (ot_home){.leaf = leaf, .bytes = bytes};
    p->of[value.node][value.output] = i;
}

/* All members of a home come to another one, `shift` bytes behind where they were. */
static void move_home(plan *p, int from, int to, int64_t shift)
{
    int last = -1;
    for (int i = p->first[from]; i >= 0; i = p->member[i].next) {
        p->member[i].home = to;
        p->member[i].at += shift;
        last = i;
    }
    if (from == to || last < 0)
        return;
    p->member[last].next = p->first[to];
    p->first[to] = p->first[from];
    p->first[from] = -1;
    const int64_t end = p->to->home[from].bytes + shift;
    if (end > p->to->home[to].bytes)
        p->to->home[to].bytes = end;
    p->to->home[from].bytes = 0;
}

/* ---- joining ------------------------------------------------------------------------------ */

typedef struct shifted {
    int home;
    int64_t by; /* from where the output begins to where the home does */
} shifted;

static bool overlap(const plan *p, shifted a, shifted b)
{
    for (int i = p->first[a.home]; i >= 0; i = p->member[i].next)
        for (int k = p->first[b.home]; k >= 0 && p->member[i].written; k = p->member[k].next) {
            const int64_t x = p->member[i].at + a.by, y = p->member[k].at + b.by;
            if (p->member[k].written && x < y + p->member[k].bytes &&
                y < x + p->member[i].bytes)
                return true;
        }
    return false;
}

/* Where the homes of all slices would be; returns how many homes, -1: not all can be there. */
static int shift_all(const plan *p, const ot_group *group, const ot_slice *slice, int n,
                     shifted *at)
{
    int n_homes = 0;
    for (int i = 0; i < n; i++) {
        const member *in = member_of(p, group->in[slice[i].input]);
        const int64_t by = slice[i].to - slice[i].from - in->at;
        int k = 0;
        while (k < n_homes && at[k].home != in->home)
            k++;
        if (by % OT_HOME_ALIGNMENT || (k < n_homes && at[k].by != by))
            return -1;
        at[k] = (shifted){in->home, by};
        n_homes += k == n_homes;
    }
    for (int i = 0; i < n_homes; i++)
        for (int k = 0; k < i; k++)
            if (overlap(p, at[i], at[k]))
                return -1;
    return n_homes;
}

/* All homes come to the output's. */
static void gather(plan *p, member *out, const shifted *at, int n)
{
    int64_t least = 0;
    for (int i = 0; i < n; i++)
        least = at[i].by < least ? at[i].by : least;
    out->written = false;
    move_home(p, out->home, out->home, -least);
    for (int i = 0; i < n; i++)
        move_home(p, at[i].home, out->home, at[i].by - least);
}

/* In one home its output is a part of that; of several it makes one. */
static ot_idle join(plan *p, const ot_group *group, bool parts)
{
    ot_slice slice[OPTUNE_MAX_PIECES];
    shifted at[OPTUNE_MAX_PIECES];
    const int n = ot_call_slices(group->call, slice);
    const int homes = n > 0 ? shift_all(p, group, slice, n, at) : -1;
    bool may = homes > 0;
    for (int i = 0; i < homes; i++)
        may =
            may && (parts || at[i].by == 0) && (homes == 1 || p->to->home[at[i].home].leaf < 0);
    if (!may)
        return OT_RUNS;
    member *out = member_of(p, (ot_value){group->node[0], 0});
    if (homes > 1) {
        gather(p, out, at, homes);
        return OT_IN_PLACE;
    }
    out->written = false;
    move_home(p, out->home, at[0].home, -at[0].by);
    return OT_VIEW;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void open_plan(plan *p)
{
    const optune_graph *g = p->g;
    int most = 1;
    p->of = ot_alloc((size_t)(g->n + 1) * sizeof *p->of);
    p->to->value = ot_alloc((size_t)(g->n + 1) * sizeof *p->to->value);
    for (int id = 0; id < g->n; id++) {
        most += g->node[id].n_out;
        p->of[id] = ot_alloc((size_t)(g->node[id].n_out + 1) * sizeof **p->of);
        p->to->value[id] = ot_alloc((size_t)(g->node[id].n_out + 1) * sizeof **p->to->value);
        for (int o = 0; o < g->node[id].n_out; o++)
            p->of[id][o] = -1;
    }
    p->member = ot_alloc((size_t)most * sizeof *p->member);
    p->first = ot_alloc((size_t)most * sizeof *p->first);
    p->to->home = ot_alloc((size_t)most * sizeof *p->to->home);
    p->to->idle = ot_alloc((size_t)(p->groups->n + 1) * sizeof *p->to->idle);
    p->to->n_nodes = g->n;
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_VAR || g->node[id].kind == OT_NODE_CONST)
            add(p, (ot_value){id, 0}, id);
}

static void close_plan(plan *p)
{
    for (int id = 0; id < p->g->n; id++)
        free(p->of[id]);
    free(p->of);
    free(p->member);
    free(p->first);
}

/* Homes that are left get numbers without gaps, and values their spots. */
static void settle(plan *p)
{
    ot_places *to = p->to;
    for (int h = 0; h < p->n; h++) {
        if (p->first[h] < 0)
            continue;
        for (int i = p->first[h]; i >= 0; i = p->member[i].next)
            p->member[i].home = to->n;
        to->home[to->n] = to->home[h];
        to->home[to->n].first = to->home[h].leaf < 0 ? p->groups->n : -1;
        to->home[to->n++].last = -1;
    }
    for (int id = 0; id < p->g->n; id++)
        for (int o = 0; o < p->g->node[id].n_out; o++) {
            const int i = p->of[id][o];
            to->value[id][o] = i < 0 ? (ot_located){.home = -1}
                                     : (ot_located){p->member[i].home, p->member[i].at};
        }
}

static void use(ot_places *to, ot_value value, int group, bool writes)
{
    ot_home *home = &to->home[ot_places_at(to, value).home];
    if (writes && group < home->first)
        home->first = group;
    if (group > home->last)
        home->last = group;
}

static void find_lifetimes(plan *p)
{
    ot_places *to = p->to;
    for (int i = 0; i < p->groups->n; i++) {
        const ot_group *group = &p->groups->group[i];
        const int last = group->node[group->n_nodes - 1];
        if (to->idle[i] != OT_RUNS)
            continue;
        to->n_run++;
        for (int k = 0; k < group->n_in; k++)
            use(to, group->in[k], i, false);
        for (int o = 0; o < p->g->node[last].n_out; o++)
            use(to, (ot_value){last, o}, i, true); /* unread, it lives while it is written */
    }
    const int n = ot_graph_output_values(p->g, NULL, 0);
    ot_value *output = ot_alloc((size_t)(n + 1) * sizeof *output);
    ot_graph_output_values(p->g, output, n);
    for (int i = 0; i < n; i++)
        use(to, output[i], p->groups->n, false);
    free(output);
}

void ot_places_find(const optune_graph *g, const ot_groups *groups, bool parts, ot_places *to)
{
    *to = (ot_places){0};
    plan p = {.g = g, .groups = groups, .to = to};
    open_plan(&p);
    for (int i = 0; i < groups->n; i++) {
        const ot_group *group = &groups->group[i];
        const int last = group->node[group->n_nodes - 1];
        for (int o = 0; o < g->node[last].n_out; o++)
            add(&p, (ot_value){last, o}, -1);
        to->idle[i] = join(&p, group, parts);
    }
    settle(&p);
    find_lifetimes(&p);
    close_plan(&p);
}

void ot_places_release(ot_places *places)
{
    for (int id = 0; id < places->n_nodes; id++)
        free(places->value[id]);
    free(places->value);
    free(places->home);
    free(places->idle);
    *places = (ot_places){0};
}
