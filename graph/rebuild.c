/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph made anew from another: the parts that every rewriting has. It never decides what becomes
 * of a call.
 */
#include <stdlib.h>

#include "graph/rebuild.h"

#define VIEW "reshape"

void ot_rebuild_start(ot_rebuild *r, const optune_graph *g, size_t most, ot_relaid *to,
                      optune_err *err)
{
    const size_t n = (size_t)g->n + 1;
    *to = (ot_relaid){.graph = ot_graph_new(), .origin = ot_alloc(most * sizeof(int))};
    *r = (ot_rebuild){.g = g, .home = ot_alloc(n * sizeof *r->home), .to = to, .err = err};
    for (size_t i = 0; i < n; i++)
        r->home[i] = -1;
    to->graph->left_out = ot_arena_copy(&to->graph->arena, g->left_out);
}

void ot_rebuild_end(ot_rebuild *r, int status)
{
    free(r->home);
    ot_names_release(&r->stems);
    if (status < 0)
        ot_relaid_release(r->to);
}

const char *ot_rebuild_name(ot_rebuild *r, const char *stem, const char *what, char *to)
{
    char whole[51];
    snprintf(whole, sizeof whole, "%.36s_%.12s", stem, what);
    int *last = ot_names_find(&r->stems, whole);
    if (!last)
        last = ot_names_add(&r->stems, ot_arena_copy(&r->to->graph->arena, whole), 0);
    for (int i = ++*last;; i = ++*last) {
        if (i == 1)
            snprintf(to, OPTUNE_NAME_SIZE, "%s", whole);
        else
            snprintf(to, OPTUNE_NAME_SIZE, "%.50s_%d", whole, i % 100000);
        if (optune_graph_find(r->g, to) < 0 && optune_graph_find(r->to->graph, to) < 0)
            return to;
    }
}

int ot_rebuild_note(ot_rebuild *r, int made, int origin)
{
    if (made >= 0)
        r->to->origin[made] = origin;
    return made;
}

int ot_rebuild_leaf(ot_rebuild *r, int origin, const char *name, const optune_tensor *type)
{
    ot_text text = {0};
    ot_tensor_print(type, &text);
    const int id =
        r->g->node[origin].kind == OT_NODE_CONST
            ? optune_graph_constant(r->to->graph, name, ot_text_str(&text), NULL, r->err)
            : optune_graph_variable(r->to->graph, name, ot_text_str(&text), r->err);
    ot_text_release(&text);
    return ot_rebuild_note(r, id, origin);
}

int ot_rebuild_home(ot_rebuild *r, ot_value value)
{
    const ot_node *node = &r->g->node[value.node];
    int *home = &r->home[value.node];
    if (node->kind == OT_NODE_CONST && *home < 0)
        *home = ot_rebuild_leaf(r, value.node, node->name, &node->out[0]);
    if (*home < 0 || node->n_out == 1)
        return *home;
    char name[OPTUNE_NAME_SIZE];
    ot_rebuild_name(r, node->name, "part", name);
    return ot_rebuild_note(r, optune_graph_get(r->to->graph, name, *home, value.output, r->err),
                           -1);
}

int ot_rebuild_view(ot_rebuild *r, int of, const optune_tensor *type, const char *name)
{
    ot_text attrs = {0};
    ot_text_add(&attrs, "newshape=[");
    for (int d = 0; d < type->rank; d++)
        ot_text_printf(&attrs, "%s%lld", d ? "," : "", (long long)type->dim[d].min);
    ot_text_add(&attrs, "]");
    const int id =
        optune_graph_call(r->to->graph, name, VIEW, &of, 1, ot_text_str(&attrs), r->err);
    ot_text_release(&attrs);
    return ot_rebuild_note(r, id, -1);
}

int ot_rebuild_same(ot_rebuild *r, int id, const int *in)
{
    const ot_node *node = &r->g->node[id];
    const int made =
        optune_graph_call_like(r->to->graph, node->name, node->call, in, node->n_in, r->err);
    if (made < 0)
        return made;
    for (int i = 0; i < node->n_out; i++)
        r->to->graph->node[made].out[i] = node->out[i];
    return r->home[id] = ot_rebuild_note(r, made, id);
}

void ot_relaid_share(const ot_relaid *relaid, const optune_graph *g)
{
    for (int id = 0; id < relaid->graph->n; id++) {
        ot_node *node = &relaid->graph->node[id];
        if (node->kind != OT_NODE_CONST || relaid->origin[id] < 0)
            continue;
        const ot_node *origin = &g->node[relaid->origin[id]];
        ot_graph_drop_data(node);
        node->data = origin->data;
        node->backing = origin->backing ? ot_backing_share(origin->backing) : NULL;
        node->borrowed = !origin->backing;
    }
}

void ot_relaid_release(ot_relaid *relaid)
{
    optune_graph_close(relaid->graph);
    free(relaid->origin);
    *relaid = (ot_relaid){0};
}
