/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the values of a program live. Variables, constants and outputs of the graph have
 * buffers of their own; any other value takes one whose last user has run, if one fits, so that
 * memory grows with what is alive at once and stays in the caches.
 */
#include <limits.h>

#include "answer/graph.h"

typedef struct pool {
    optune_program *p;
    int *last_use; /* by node: the last group that reads it; INT_MAX: to be kept */
    int n;
    struct slot {
        void *buffer;
        int64_t bytes;
        int node; /* who has it */
    } * slot;     /* what may be shared */
} pool;

void *ot_program_buffer(const optune_program *p, ot_value value)
{
    return p->buffer[value.node][value.output];
}

int64_t ot_program_bytes(const optune_program *p, ot_value value)
{
    return optune_tensor_bytes(ot_graph_type_of(p->partition->graph, value));
}

static int make(optune_program *p, int64_t bytes, void **buffer, optune_err *err)
{
    const int status = p->machine.row->alloc(p->machine.state, bytes, false, buffer, err);
    if (status < 0)
        return status;
    void **own = ot_alloc((size_t)(p->n_own + 1) * sizeof *own);
    for (int i = 0; i < p->n_own; i++)
        own[i] = p->own[i];
    own[p->n_own++] = *buffer;
    free(p->own);
    p->own = own;
    return OPTUNE_OK;
}

/* The smallest free one that is large enough and at most twice as large as needed. */
static struct slot *find_free(pool *of, int group, int64_t bytes)
{
    struct slot *best = NULL;
    for (int i = 0; i < of->n; i++) {
        struct slot *slot = &of->slot[i];
        if (of->last_use[slot->node] < group && slot->bytes >= bytes &&
            slot->bytes <= 2 * bytes && (!best || slot->bytes < best->bytes))
            best = slot;
    }
    return best;
}

static int take(pool *of, int group, ot_value value, optune_err *err)
{
    optune_program *p = of->p;
    void **buffer = &p->buffer[value.node][value.output];
    const int64_t bytes = ot_program_bytes(p, value);
    struct slot *slot = find_free(of, group, bytes);
    if (slot) {
        *buffer = slot->buffer;
        slot->node = value.node;
        return OPTUNE_OK;
    }
    const int status = make(p, bytes, buffer, err);
    if (status < 0)
        return status;
    of->slot[of->n++] = (struct slot){*buffer, bytes, value.node};
    return OPTUNE_OK;
}

static void find_last_uses(pool *of)
{
    const optune_program *p = of->p;
    const ot_groups *groups = &p->partition->groups;
    of->last_use = ot_alloc((size_t)(p->partition->graph->n + 1) * sizeof *of->last_use);
    for (int i = 0; i < groups->n; i++) {
        const ot_group *group = &groups->group[i];
        of->last_use[group->node[group->n_nodes - 1]] =
            i; /* unread, it lives while it is written */
        for (int k = 0; k < group->n_in; k++)
            of->last_use[group->in[k].node] = i;
    }
    for (int i = 0; i < p->n_outputs; i++)
        of->last_use[p->output[i].node] = INT_MAX;
}

/* What is there before any group runs. */
static int make_leaf(optune_program *p, int id, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    const ot_node *node = &g->node[id];
    p->buffer[id] = ot_alloc((size_t)(node->n_out + 1) * sizeof **p->buffer);
    for (int o = 0; o < node->n_out; o++)
        if (!optune_tensor_known(&node->out[o]))
            return ot_graph_fail(g, id, -1, OPTUNE_ETYPE,
                                 "its type is not known: give dims values with --bind", err);
    if (node->kind != OT_NODE_VAR && node->kind != OT_NODE_CONST)
        return OPTUNE_OK;
    if (node->kind == OT_NODE_CONST && !node->data)
        return ot_graph_fail(g, id, -1, OPTUNE_EUSAGE, "the constant has no elements", err);
    if (p->origin && node->kind == OT_NODE_CONST) {
        p->buffer[id][0] = p->origin->buffer[id][0];
        return OPTUNE_OK;
    }
    const int64_t bytes = ot_program_bytes(p, (ot_value){id, 0});
    const int status = make(p, bytes, &p->buffer[id][0], err);
    return status < 0 || !node->data
               ? status
               : p->machine.row->write(p->machine.state, p->buffer[id][0], node->data, bytes);
}

int ot_program_make_buffers(optune_program *p, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    const ot_groups *groups = &p->partition->groups;
    int status = OPTUNE_OK;
    p->buffer = ot_alloc((size_t)(g->n + 1) * sizeof *p->buffer);
    for (int id = 0; id < g->n && status >= 0; id++)
        status = make_leaf(p, id, err);
    pool of = {.p = p};
    of.slot = ot_alloc(((size_t)groups->n * OPTUNE_MAX_OUTPUTS + 1) * sizeof *of.slot);
    find_last_uses(&of);
    for (int i = 0; i < groups->n && status >= 0; i++) {
        const int last = groups->group[i].node[groups->group[i].n_nodes - 1];
        for (int o = 0; o < g->node[last].n_out && status >= 0; o++)
            status = take(&of, i, (ot_value){last, o}, err);
    }
    free(of.last_use);
    free(of.slot);
    return status;
}

void ot_program_free_buffers(optune_program *p)
{
    for (int i = 0; i < p->n_own; i++)
        p->machine.row->free(p->machine.state, p->own[i]);
    for (int id = 0; id < p->partition->graph->n && p->buffer; id++)
        free(p->buffer[id]);
    free(p->own);
    free(p->buffer);
}
