/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a graph can be measured: workloads of constants, and those whose dims are ranges, for
 * which there are dispatch tables. A dim without a bound is named, with what to do.
 */
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"
#include "call/dim_expr.h"

/* Whether an input of a group has no bound: why, and the remedy. */
static bool is_unbounded(const optune_graph *g, const ot_group *group, ot_text *why)
{
    for (int k = 0; k < group->n_in; k++)
        if (ot_graph_unbounded(g, ot_graph_type_of(g, group->in[k]), why))
            return true;
    return false;
}

int optune_partition_workloads(const optune_partition *p, const char *const **workloads,
                               optune_err *err)
{
    OT_ENTER(err, {"partition", p}, {"workloads", workloads});
    for (int i = 0; i < p->groups.n; i++) {
        ot_text text = {0}, why = {0};
        if (ot_call_static(p->groups.group[i].call) ||
            !is_unbounded(p->graph, &p->groups.group[i], &why))
            continue;
        ot_text_printf(&text, "%s %s", optune_partition_workload(p, i), ot_text_str(&why));
        const int status = ot_graph_fail(p->graph, p->groups.group[i].node[0], -1, OPTUNE_ETYPE,
                                         ot_text_str(&text), err);
        ot_text_release(&text);
        ot_text_release(&why);
        return status;
    }
    *workloads = (const char *const *)p->workloads;
    return OPTUNE_OK;
}

static bool inputs_known(const optune_call *call)
{
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (!optune_tensor_known(&call->input[i].type))
            return false;
    return true;
}

/* What was renamed, as it was. */
static const optune_dim *given_dim(const ot_renamed *renamed, const optune_dim *dim)
{
    for (int i = 0; i < renamed->n; i++)
        if (!strcmp(renamed->name[i], dim->name))
            return &renamed->was[i];
    return dim;
}

/* Sizes are from 1 on. */
static bool has_empty(const ot_symbols *dims, const ot_renamed *renamed, ot_text *why)
{
    for (int i = 0; i < dims->n; i++) {
        const optune_dim *dim = &dims->dim[i];
        const optune_dim *given = given_dim(renamed, dim);
        const char *text = optune_dim_text(given);
        if (dim->min >= 1)
            continue;
        ot_text_printf(why, "dim '%s' is %lld to %lld, tables are of sizes from 1 on: ", text,
                       (long long)dim->min, (long long)dim->max);
        if (ot_dim_computed(given))
            ot_text_add(why, "bind what it is computed of so that it is 1 or more");
        else
            ot_text_printf(why, "bind %s=1..%lld", text,
                           (long long)(dim->max > 1 ? dim->max : 1));
        return true;
    }
    return false;
}

/* A table has named dims, few of them, and sizes from 1 on. Under other names dims are no longer
 * known to be equal where they are computed of each other: what only the last resort computes then
 * is better off without. Nothing in `why`: it can have one. */
static void why_no_table(const optune_partition *p, const optune_call *call, optune_call *named,
                         ot_renamed *renamed, ot_text *why)
{
    ot_symbols *dims = ot_alloc(sizeof *dims);
    optune_err err = {0};
    if (ot_call_rename(call, named, renamed, &err) < 0) {
        ot_text_printf(why,
                       "under one name for each computed dim its outputs are not known (%s): "
                       "bind dims to numbers",
                       err.text);
    } else if (ot_symbols_all(named, dims, &err) < 0) {
        ot_text_add(why, err.text);
    } else if (dims->n > OT_MAX_SYMBOLS) {
        ot_text_printf(why,
                       "%d dims are ranges, tables are of at most %d: bind '%s' or others to "
                       "numbers",
                       dims->n, OT_MAX_SYMBOLS,
                       optune_dim_text(given_dim(renamed, &dims->dim[dims->n - 1])));
    } else if (!has_empty(dims, renamed, why) && !ot_partition_accepts(p->o, named) &&
               ot_partition_accepts(p->o, call)) {
        ot_text_printf(why,
                       "with '%s' in place of what it is computed of only the last resort "
                       "computes it: bind dims to numbers",
                       optune_dim_text(given_dim(renamed, &dims->dim[0])));
    }
    free(dims);
}

static bool is_new(const ot_ranged *all, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].workload, text))
            return false;
    return true;
}

int ot_partition_ranges(const optune_partition *p, ot_arena *arena, ot_ranged *all)
{
    optune_call *named = ot_alloc(sizeof *named);
    ot_renamed *renamed = ot_alloc(sizeof *renamed);
    int n = 0;
    for (int i = 0; p && i < p->groups.n; i++) {
        const optune_call *call = p->groups.group[i].call;
        ot_text text = {0}, why = {0};
        if (p->places.idle[i] != OT_RUNS || inputs_known(call)) /* those are measured */
            continue;
        why_no_table(p, call, named, renamed, &why);
        ot_call_print(why.n ? call : named, &text);
        if (is_new(all, n, ot_text_str(&text)))
            all[n++] = (ot_ranged){ot_arena_copy(arena, ot_text_str(&text)),
                                   why.n ? ot_arena_copy(arena, ot_text_str(&why)) : NULL};
        ot_text_release(&text);
        ot_text_release(&why);
    }
    free(renamed);
    free(named);
    return n;
}
