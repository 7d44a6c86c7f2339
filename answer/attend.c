/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a graph's sites, attention and 1x1 convolutions in front of depthwise ones, are computed
 * as one call each or as the operators that the graph has.
 *
 * The one idea: both ways are workloads like any other, a run measures those of both, and whoever
 * opens a partition adds up what differs. Equal sites are decided together. Sums are of one
 * situation: of the graph's footprint, else of the handle's policy. Where neither way was measured
 * as a whole, attention is one call: its scores then never leave the caches, however many there
 * are; convolutions are where a core's cache does not hold what is between them. Where one way was
 * measured, that one stays.
 *
 * Costs are of different minutes, and a sum of parts is no word on the whole: where turns of the
 * whole graph said which ways are faster (tuner/sites.c), these are used. That stands in a record
 * of the graph as it is untuned, as layouts do (layouts.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/graph.h"

enum { MOST_KINDS = 24 }; /* decided by themselves; the others together with the last one */

/* ---- costs of what differs --------------------------------------------------------------- */

static int times(const optune_partition *p, int k)
{
    int n = 0;
    for (int i = 0; i < p->groups.n; i++)
        n += p->row[i].workload == k;
    return n;
}

static int workload_of(const optune_partition *p, const char *text)
{
    for (int k = 0; k < p->n_workloads; k++)
        if (!strcmp(p->workloads[k], text))
            return k;
    return -1;
}

/* Seconds that `a` takes for what it has more of than `b`; false: some of it was not measured. */
static bool cost_of_more(const optune_partition *a, const optune_partition *b,
                         const char *policy, double *seconds)
{
    *seconds = 0;
    for (int i = 0; i < a->groups.n; i++) {
        const int k = a->row[i].workload;
        if (k < 0)
            continue;
        bool first = true;
        for (int j = 0; j < i && first; j++)
            first = a->row[j].workload != k;
        const int other = workload_of(b, a->workloads[k]);
        const int more = times(a, k) - (other < 0 ? 0 : times(b, other));
        if (!first || more <= 0)
            continue;
        const double cost = ot_context_cost(a->o, a->groups.group[i].call, policy);
        if (!isfinite(cost))
            return false;
        *seconds += more * cost;
    }
    return true;
}

/* Whether `called` is to be used, and what is known of both; `unmeasured` where nothing is. */
static bool is_better(const optune_partition *spelled, const optune_partition *called,
                      bool unmeasured, ot_attending *told)
{
    const char *const policy[] = {*spelled->policy ? spelled->policy : NULL,
                                  spelled->o->policy->name};
    bool better = true, nothing = true;
    for (int i = 0; i < OT_COUNT(policy); i++) {
        double own, other;
        if (!policy[i])
            continue;
        const bool own_known = cost_of_more(spelled, called, policy[i], &own);
        const bool other_known = cost_of_more(called, spelled, policy[i], &other);
        if (own_known && other_known) {
            told->spelled += own;
            told->called += other;
            return other <= own;
        }
        better = better && !own_known;
        nothing = nothing && !own_known && !other_known;
    }
    return nothing ? unmeasured : better;
}

/* ---- sites ------------------------------------------------------------------------------- */

typedef struct way { /* equal sites, and whether they are to be calls */
    bool chosen;
    bool unmeasured; /* where nothing is known */
    ot_site_kind kind;
} way;

typedef struct choice {
    ot_site *site;
    int *of; /* by site: its way */
    int n;
    way *way;
    int n_ways;
} choice;

/* What a core keeps near anyway is no reason for one call: a part of its second cache, where
 * inputs, outputs and weights lie, too. Between two calls of a team it keeps no more than what one
 * thread computes: threads find in each other's caches what the call before wrote. Where products
 * of 16-bit floats are made by tiles, one call also has what is between as these leave it, and two
 * turn it over, round it and widen it again. */
static bool is_worth(const optune *o, const ot_site *site, const optune_call *call)
{
    const bool by_tiles =
        call->output[0].dtype.bits == 16 && o->device.dots & OPTUNE_DOT_TILE_BF16;
    const int64_t near = o->device.threads > 1 || by_tiles ? o->device.l1 : o->device.l2 / 4;
    return site->kind == OT_SITE_ATTENTION || (near > 0 && site->as.chain.bytes > (double)near);
}

/* Those that a row computes here; equal ones go the same way. */
static void find_sites(const optune_partition *p, choice *c)
{
    const int all = ot_graph_sites(p->graph, &c->site);
    char **text = ot_alloc((size_t)(all + 1) * sizeof *text);
    optune_call *call = ot_alloc(sizeof *call);
    c->of = ot_alloc((size_t)(all + 1) * sizeof *c->of);
    c->way = ot_alloc((size_t)(all + 1) * sizeof *c->way);
    for (int i = 0; i < all; i++) {
        ot_text own = {0};
        int k = 0;
        if (ot_site_call(p->graph, &c->site[i], call, NULL) < 0)
            continue;
        ot_call_print(call, &own);
        while (k < c->n_ways && strcmp(text[k], ot_text_str(&own)))
            k++;
        const bool known = k < c->n_ways;
        if (known || ot_partition_accepts(p->o, call)) {
            if (!known) {
                text[k] = ot_strdup(ot_text_str(&own));
                c->way[c->n_ways++] =
                    (way){true, is_worth(p->o, &c->site[i], call), c->site[i].kind};
            }
            c->site[c->n] = c->site[i];
            c->of[c->n++] = k;
        }
        ot_text_release(&own);
    }
    for (int k = 0; k < c->n_ways; k++)
        free(text[k]);
    free(text);
    free(call);
}

/* Of one kind those behind the last that is decided by itself go with it. */
static void join_ways(choice *c)
{
    int n = 0, last[OT_SITE_KINDS], count[OT_SITE_KINDS] = {0};
    int *now = ot_alloc((size_t)(c->n_ways + 1) * sizeof *now);
    for (int k = 0; k < c->n_ways; k++) {
        const ot_site_kind kind = c->way[k].kind;
        if (count[kind]++ >= MOST_KINDS) {
            now[k] = last[kind];
            continue;
        }
        c->way[n] = c->way[k];
        now[k] = last[kind] = n++;
    }
    c->n_ways = n;
    for (int i = 0; i < c->n; i++)
        c->of[i] = now[c->of[i]];
    free(now);
}

static void release_choice(choice *c)
{
    free(c->site);
    free(c->of);
    free(c->way);
}

/* Those whose way is chosen; `only`: of this way alone, -1: of all. */
static int open_chosen(const optune_partition *plain, const choice *c, int only,
                       optune_partition **partition, optune_err *err)
{
    ot_site *some = ot_alloc((size_t)(c->n + 1) * sizeof *some);
    int taken = 0;
    for (int i = 0; i < c->n; i++)
        if (only < 0 ? c->way[c->of[i]].chosen : c->of[i] == only)
            some[taken++] = c->site[i];
    const int status = ot_partition_open_attended(plain, some, taken, partition, err);
    free(some);
    return status;
}

/* Distinct workloads of the other way go behind the partition's own. */
static void add_workloads(optune_partition *p, const optune_partition *other)
{
    int n = 0;
    while (p->workloads[n])
        n++;
    const char **all =
        ot_arena_alloc(&p->arena, (size_t)(n + other->n_workloads + 1) * sizeof *all);
    for (int k = 0; k < n; k++)
        all[k] = p->workloads[k];
    for (int k = 0; k < other->n_workloads; k++) {
        int at = 0;
        while (at < n && strcmp(all[at], other->workloads[k]))
            at++;
        if (at == n)
            all[n++] = ot_arena_copy(&p->arena, other->workloads[k]);
    }
    all[n] = NULL;
    p->workloads = all;
}

/* Each way alone against the graph as it is. */
static int choose(const optune_partition *plain, const optune_partition *whole, choice *c,
                  ot_attending *told, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int k = 0; k < c->n_ways && status >= 0; k++) {
        way *w = &c->way[k];
        optune_partition *one = NULL;
        if (c->n_ways > 1)
            status = open_chosen(plain, c, k, &one, err);
        if (status >= 0)
            w->chosen = is_better(plain, one ? one : whole, w->unmeasured, &told[w->kind]);
        optune_partition_close(one);
    }
    return status;
}

static void choose_untuned(choice *c)
{
    for (int k = 0; k < c->n_ways; k++)
        c->way[k].chosen = c->way[k].unmeasured;
}

/* The partition of the ways that are chosen: one of the two, or *own. */
static int open_ways(optune_partition *plain, optune_partition *whole, const choice *c,
                     optune_partition **own, optune_partition **used, optune_err *err)
{
    int taken = 0;
    for (int k = 0; k < c->n_ways; k++)
        taken += c->way[k].chosen;
    *own = NULL;
    *used = taken ? whole : plain;
    if (!taken || taken == c->n_ways)
        return OPTUNE_OK;
    const int status = open_chosen(plain, c, -1, own, err);
    *used = *own;
    return status;
}

/* As many ways as there are, each told. */
static bool read_ways(const char *text, choice *c)
{
    bool good = strlen(text) == (size_t)c->n_ways;
    for (int k = 0; k < c->n_ways && good; k++)
        good = text[k] == '0' || text[k] == '1';
    for (int k = 0; k < c->n_ways && good; k++)
        c->way[k].chosen = text[k] == '1';
    return good;
}

/* What turns of the whole said last; false: nothing. */
static bool recall(optune_partition *plain, optune_partition *whole, choice *c)
{
    optune_partition *own, *untuned;
    char text[OPTUNE_NAME_SIZE], *lines = NULL;
    choose_untuned(c);
    if (open_ways(plain, whole, c, &own, &untuned, NULL) >= 0)
        lines = ot_anchor_lines(untuned, OT_SITES);
    const bool turned =
        lines && ot_lines_get(lines, OT_SITES, text, sizeof text) && read_ways(text, c);
    free(lines);
    optune_partition_close(own);
    return turned;
}

static int choose_by(optune_partition *plain, optune_partition *whole, choice *c,
                     ot_sites_by by, ot_attending *told, optune_err *err)
{
    if (by == OT_SITES_UNTUNED) {
        choose_untuned(c);
        return OPTUNE_OK;
    }
    int status = OPTUNE_OK;
    const bool turned = by == OT_SITES_USED && recall(plain, whole, c);
    choice costs = *c;
    costs.way = ot_alloc((size_t)(c->n_ways + 1) * sizeof *costs.way);
    memcpy(costs.way, c->way, (size_t)c->n_ways * sizeof *c->way);
    status = choose(plain, whole, &costs, told, err);
    if (!turned)
        memcpy(c->way, costs.way, (size_t)c->n_ways * sizeof *c->way);
    for (int kind = 0; kind < OT_SITE_KINDS; kind++)
        told[kind].turned = turned;
    free(costs.way);
    return status;
}

static void tell(const choice *c, ot_attending *told, optune_partition *p)
{
    char *sites = ot_arena_alloc(&p->arena, (size_t)c->n_ways + 1);
    for (int i = 0; i < c->n; i++) {
        told[c->site[i].kind].sites++;
        told[c->site[i].kind].fused += c->way[c->of[i]].chosen;
    }
    for (int k = 0; k < c->n_ways; k++)
        sites[k] = c->way[k].chosen ? '1' : '0';
    sites[c->n_ways] = '\0';
    p->sites = sites;
    p->attending = told[OT_SITE_ATTENTION];
    p->chaining = told[OT_SITE_CHAIN];
}

/* Instead of a graph as it is the one with sites as calls, where that is faster as far as is
 * known. */
static int attend(optune_partition **partition, ot_sites_by by, optune_err *err)
{
    optune_partition *plain = *partition, *whole = NULL, *mixed = NULL, *used = NULL;
    choice c = {0};
    ot_attending told[OT_SITE_KINDS] = {0};
    int status = OPTUNE_OK;
    find_sites(plain, &c);
    join_ways(&c);
    if (c.n)
        status = open_chosen(plain, &c, -1, &whole, err);
    if (status >= 0 && c.n)
        status = choose_by(plain, whole, &c, by, told, err);
    if (status >= 0 && c.n)
        status = open_ways(plain, whole, &c, &mixed, &used, err);
    if (status >= 0 && c.n) {
        tell(&c, told, used);
        if (used != plain)
            add_workloads(used, plain);
        if (used != whole)
            add_workloads(used, whole);
        *partition = used;
    }
    optune_partition *const all[] = {plain, whole, mixed};
    for (int i = 0; i < OT_COUNT(all) && (c.n || status < 0); i++)
        if (all[i] != used || status < 0)
            optune_partition_close(all[i]);
    if (status < 0)
        *partition = NULL;
    release_choice(&c);
    return status;
}

int ot_partition_open_by(optune *o, optune_graph *graph, ot_sites_by by,
                         optune_partition **partition, optune_err *err)
{
    const int status = ot_partition_open_given(o, graph, partition, err);
    return status < 0 ? status : attend(partition, by, err);
}

int ot_partition_open_plain(optune *o, optune_graph *graph, optune_partition **partition,
                            optune_err *err)
{
    return ot_partition_open_by(o, graph, OT_SITES_USED, partition, err);
}

bool ot_partition_outdated(const optune_partition *p)
{
    optune_partition *now = NULL;
    if (!p || !(p->attending.sites + p->chaining.sites) ||
        ot_partition_open_plain(p->o, p->given, &now, NULL) < 0)
        return false;
    const bool other = strcmp(now->sites, p->sites) != 0;
    optune_partition_close(now);
    return other;
}
