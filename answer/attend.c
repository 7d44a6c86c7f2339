/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a graph's attention is computed as one call or as the products that the graph has.
 *
 * The one idea: both ways are workloads like any other, a run measures those of both, and whoever
 * opens a partition adds up what differs. Equal sites are decided together. Sums are of one
 * situation: of the graph's footprint, else of the handle's policy. Where neither way was measured
 * as a whole, attention is one call: its scores then never leave the caches, however many there
 * are. Where one was, that one stays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/graph.h"

enum { MOST_KINDS = 8 }; /* decided by themselves; the others together with the last one */

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
        const double cost = ot_context_cost(a->o, &a->groups.group[i].call, policy);
        if (!isfinite(cost))
            return false;
        *seconds += more * cost;
    }
    return true;
}

/* Whether `called` is to be used, and what is known of both. */
static bool is_better(const optune_partition *spelled, const optune_partition *called,
                      ot_attending *told)
{
    const char *const policy[] = {*spelled->policy ? spelled->policy : NULL,
                                  spelled->o->policy->name};
    bool better = true;
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
    }
    return better;
}

/* ---- sites ------------------------------------------------------------------------------- */

/* Those that a row computes here; *kind: equal ones have the same. */
static int usable_sites(const optune_partition *p, ot_attend **sites, int **kind, int *n_kinds)
{
    const int all = ot_graph_attends(p->graph, sites);
    char **text = ot_alloc((size_t)(all + 1) * sizeof *text);
    optune_call *call = ot_alloc(sizeof *call);
    int n = 0;
    *kind = ot_alloc((size_t)(all + 1) * sizeof **kind);
    *n_kinds = 0;
    for (int i = 0; i < all; i++) {
        ot_text own = {0};
        int k = 0;
        if (ot_attend_call(&(*sites)[i], call, NULL) < 0)
            continue;
        ot_call_print(call, &own);
        while (k < *n_kinds && strcmp(text[k], ot_text_str(&own)))
            k++;
        const bool known = k < *n_kinds;
        if (known || ot_partition_accepts(p->o, call)) {
            if (!known)
                text[(*n_kinds)++] = ot_strdup(ot_text_str(&own));
            (*sites)[n] = (*sites)[i];
            (*kind)[n++] = k;
        }
        ot_text_release(&own);
    }
    for (int k = 0; k < *n_kinds; k++)
        free(text[k]);
    free(text);
    free(call);
    return n;
}

static int open_kinds(const optune_partition *plain, const ot_attend *sites, const int *kind,
                      int n, const bool *chosen, optune_partition **partition, optune_err *err)
{
    ot_attend *some = ot_alloc((size_t)(n + 1) * sizeof *some);
    int taken = 0;
    for (int i = 0; i < n; i++)
        if (chosen[kind[i]])
            some[taken++] = sites[i];
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

/* All kinds as calls, or one kind alone: each against the graph as it is. */
static int choose(const optune_partition *plain, const ot_attend *sites, const int *kind, int n,
                  int n_kinds, bool *chosen, ot_attending *told, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int k = 0; k < n_kinds && status >= 0; k++) {
        optune_partition *one = NULL;
        bool *own = ot_alloc((size_t)n_kinds * sizeof *own);
        own[k] = true;
        status = open_kinds(plain, sites, kind, n, own, &one, err);
        if (status >= 0)
            chosen[k] = is_better(plain, one, told);
        optune_partition_close(one);
        free(own);
    }
    return status;
}

/* Instead of a graph as it is the one with attention as calls, where that is faster as far as is
 * known. */
static int attend(optune_partition **partition, optune_err *err)
{
    optune_partition *plain = *partition, *whole = NULL, *best = NULL;
    ot_attend *sites = NULL;
    int *kind = NULL, n_kinds = 0;
    int n = usable_sites(plain, &sites, &kind, &n_kinds);
    for (int i = 0; i < n; i++)
        kind[i] = kind[i] < MOST_KINDS ? kind[i] : MOST_KINDS - 1;
    n_kinds = n_kinds < MOST_KINDS ? n_kinds : MOST_KINDS;
    bool *chosen = ot_alloc((size_t)(n_kinds + 1) * sizeof *chosen);
    ot_attending told = {.sites = n};
    int status = OPTUNE_OK, taken = 0;
    for (int k = 0; k < n_kinds; k++)
        chosen[k] = true;
    if (n)
        status = open_kinds(plain, sites, kind, n, chosen, &whole, err);
    if (n_kinds == 1 && status >= 0)
        chosen[0] = is_better(plain, whole, &told);
    else if (status >= 0)
        status = choose(plain, sites, kind, n, n_kinds, chosen, &told, err);
    for (int i = 0; i < n; i++)
        told.fused += chosen[kind[i]];
    for (int k = 0; k < n_kinds; k++)
        taken += chosen[k];
    if (status >= 0 && n && taken && taken < n_kinds)
        status = open_kinds(plain, sites, kind, n, chosen, &best, err);
    if (status >= 0 && n) {
        optune_partition *const way[] = {plain, whole, best};
        const int used = !taken ? 0 : taken == n_kinds ? 1 : 2;
        way[used]->attending = told;
        for (int i = 0; i < 2; i++)
            if (i != used)
                add_workloads(way[used], way[i]);
        for (int i = 0; i < 3; i++)
            if (i != used)
                optune_partition_close(way[i]);
        *partition = way[used];
    } else if (status < 0) {
        optune_partition_close(whole);
        optune_partition_close(best);
        optune_partition_close(plain);
        *partition = NULL;
    }
    free(sites);
    free(kind);
    free(chosen);
    return status;
}

int ot_partition_open_plain(optune *o, optune_graph *graph, optune_partition **partition,
                            optune_err *err)
{
    const int status = ot_partition_open_given(o, graph, partition, err);
    return status < 0 ? status : attend(partition, err);
}

bool ot_partition_outdated(const optune_partition *p)
{
    optune_partition *now = NULL;
    if (!p || !p->attending.sites || ot_partition_open_plain(p->o, p->given, &now, NULL) < 0)
        return false;
    const bool other = now->attending.fused != p->attending.fused;
    optune_partition_close(now);
    return other;
}
