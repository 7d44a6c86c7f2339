/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a graph can be measured: workloads of constants, and those whose dims are ranges, for
 * which there are dispatch tables. A dim without a bound is named, with what to do.
 */
#include <string.h>

#include "answer/graph.h"
#include "call/dim_expr.h"

/* Nothing is left to be bound. */
static bool leaves_are_bounded(const optune_graph *g)
{
    for (int id = 0; id < g->n; id++)
        if ((g->node[id].kind == OT_NODE_VAR || g->node[id].kind == OT_NODE_CONST) &&
            ot_tensor_most_bytes(&g->node[id].out[0]) < 0)
            return false;
    return true;
}

/* "?n, ?h": those that somebody wrote and nobody gave a bound, each once. */
static void print_open(const optune_graph *g, ot_text *to)
{
    const char *before = "";
    ot_text met = {0};
    for (int id = 0; id < g->n; id++) {
        const ot_node *node = &g->node[id];
        if (node->kind != OT_NODE_VAR && node->kind != OT_NODE_CONST)
            continue;
        for (int d = 0; d < node->out[0].rank; d++) {
            const optune_dim *dim = &node->out[0].dim[d];
            ot_text one = {0};
            ot_dim_print(dim, &one);
            ot_text_add(&one, " ");
            if (dim->max == OPTUNE_DIM_MAX && !strstr(ot_text_str(&met), ot_text_str(&one))) {
                ot_text_add(&met, ot_text_str(&one));
                ot_text_printf(to, "%s%.*s", before, (int)one.n - 1, ot_text_str(&one));
                before = ", ";
            }
            ot_text_release(&one);
        }
    }
    ot_text_release(&met);
}

/* Its dims are known, or have bounds. */
static bool is_bounded(const optune_graph *g, const ot_group *group)
{
    for (int k = 0; k < group->n_in; k++) {
        const optune_tensor *type = ot_graph_type_of(g, group->in[k]);
        if (type->rank < 0 || ot_tensor_most_bytes(type) < 0)
            return false;
    }
    return true;
}

int optune_partition_workloads(const optune_partition *p, const char *const **workloads,
                               optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"partition", p}, {"workloads", workloads}));
    for (int i = 0; i < p->groups.n; i++)
        if (!ot_call_static(&p->groups.group[i].call) &&
            !is_bounded(p->graph, &p->groups.group[i])) {
            ot_text text = {0};
            const bool bounded = leaves_are_bounded(p->graph);
            ot_text_printf(&text,
                           bounded
                               ? "%s has dims that follow from values without a bound: end the "
                                 "graph in front of it"
                               : "%s has unknown dims: give them values or ranges with --bind (",
                           optune_partition_workload(p, i));
            if (!bounded) {
                print_open(p->graph, &text);
                ot_text_add(&text, ")");
            }
            const int status = ot_graph_fail(p->graph, p->groups.group[i].node[0], -1,
                                             OPTUNE_ETYPE, ot_text_str(&text), err);
            ot_text_release(&text);
            return status;
        }
    *workloads = (const char *const *)p->workloads;
    return OPTUNE_OK;
}

/* A table has named dims, few of them, and sizes from 1 on. Under other names dims are no longer
 * known to be equal where they are computed of each other: what only the last resort computes then
 * is better off without. */
static bool can_have_table(const optune_partition *p, const optune_call *call,
                           const optune_call *named)
{
    ot_symbols *dims = ot_alloc(sizeof *dims);
    bool can = ot_symbols_of(named, dims, NULL) >= 0 &&
               (ot_partition_accepts(p->o, named) || !ot_partition_accepts(p->o, call));
    for (int i = 0; can && i < dims->n; i++)
        can = dims->dim[i].min >= 1;
    free(dims);
    return can;
}

static bool is_new(char *const *workload, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(workload[i], text))
            return false;
    return true;
}

int ot_partition_ranges(const optune_partition *p, ot_arena *arena, char **workload)
{
    optune_call *named = ot_alloc(sizeof *named);
    ot_renamed *renamed = ot_alloc(sizeof *renamed);
    int n = 0;
    for (int i = 0; p && i < p->groups.n; i++) {
        const optune_call *call = &p->groups.group[i].call;
        ot_text text = {0};
        if (p->places.idle[i] != OT_RUNS || ot_call_static(call) ||
            ot_call_rename(call, named, renamed, NULL) < 0 || !can_have_table(p, call, named))
            continue;
        ot_call_print(named, &text);
        if (is_new(workload, n, ot_text_str(&text)))
            workload[n++] = ot_arena_copy(arena, ot_text_str(&text));
        ot_text_release(&text);
    }
    free(renamed);
    free(named);
    return n;
}
