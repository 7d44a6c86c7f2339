/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes say of their calls: operator and attributes. A network has few that differ, and a call
 * is large, so nodes that say the same have one.
 */
#include <stdlib.h>

#include "graph/graph.h"

const optune_call *ot_graph_shared_call(optune_graph *g, const optune_call *call, int n_out)
{
    ot_text key = {0};
    ot_text_printf(&key, "%p %d", (const void *)call->op, n_out);
    for (int i = 0; i < call->n_attrs; i++) {
        ot_text_add(&key, "\n"); /* in no attribute */
        ot_attr_print(&call->attr[i], &key);
    }
    const int *known = ot_names_find(&g->call_names, ot_text_str(&key));
    const optune_call *is = known ? g->calls.row[*known] : NULL;
    if (!is) {
        optune_call *own = ot_alloc_sparse(sizeof *own);
        own->op = call->op;
        own->n_outputs = n_out;
        own->n_attrs = call->n_attrs;
        for (int i = 0; i < call->n_attrs; i++)
            own->attr[i] = call->attr[i];
        ot_names_add(&g->call_names, ot_arena_copy(&g->arena, ot_text_str(&key)), g->calls.n);
        ot_rows_push(&g->calls, is = own);
    }
    ot_text_release(&key);
    return is;
}

void ot_graph_drop_calls(optune_graph *g)
{
    for (int i = 0; i < g->calls.n; i++)
        free((void *)(uintptr_t)g->calls.row[i]);
    free(g->calls.row);
    ot_names_release(&g->call_names);
}
