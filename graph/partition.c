/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph taken apart into groups that are computed as one: an operator, and the elementwise and
 * broadcast ones behind it, while each value has no other use and somebody can compute the whole.
 * The patterns decide what may join; whether it can be computed is asked of the caller. Views in
 * between that only add or drop dims of 1 in front, as a MatMul of one batch has them around its
 * product, join with what is behind them.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

typedef struct use {
    int count;          /* how often a value is used, outputs of the graph included */
    int node, argument; /* the last user */
} use;

/* Of the first output of every node: what has several outputs is never fused behind. */
static use *find_uses(const optune_graph *g)
{
    use *uses = ot_alloc((size_t)(g->n + 1) * sizeof *uses);
    for (int id = 0; id < g->n; id++)
        for (int i = 0; i < g->node[id].n_in; i++) {
            use *of = &uses[g->node[id].in[i].node];
            *of = (use){.count = of->count + 1, .node = id, .argument = i};
        }
    const int n = ot_graph_output_values(g, NULL, 0);
    ot_value *out = ot_alloc((size_t)(n + 1) * sizeof *out);
    ot_graph_output_values(g, out, n);
    for (int i = 0; i < n; i++)
        uses[out[i].node].count += 2; /* it must exist by itself */
    free(out);
    return uses;
}

static int start(const optune_graph *g, int id, ot_group *group, optune_call *call,
                 optune_err *err)
{
    const ot_node *node = &g->node[id];
    *group = (ot_group){.n_nodes = 1, .node = {id}, .n_in = node->n_in};
    for (int i = 0; i < node->n_in; i++)
        group->in[i] = node->in[i];
    ot_graph_call_of(g, id, call);
    optune_err inner = {0};
    const int status = ot_call_settle(call, NULL, &inner);
    return status < 0 ? ot_graph_fail(g, id, -1, status, inner.text, err) : OPTUNE_OK;
}

static int ones(const optune_tensor *type)
{
    int n = 0;
    while (n < type->rank && optune_dim_known(&type->dim[n]) && type->dim[n].min == 1)
        n++;
    return n;
}

/* The same but for dims of 1 in front. */
static bool same_rows(const optune_tensor *a, const optune_tensor *b)
{
    const int x = ones(a), y = ones(b);
    bool same = optune_dtype_equal(a->dtype, b->dtype) && a->rank - x == b->rank - y;
    for (int d = 0; same && d < a->rank - x; d++)
        same = ot_dim_same(&a->dim[x + d], &b->dim[y + d]);
    return same;
}

static bool is_view(const optune_call *call)
{
    ot_slice slice[OPTUNE_MAX_PIECES];
    return ot_call_slices(call, slice) == 1 &&
           same_rows(&call->input[slice->input].type, &call->output[0]);
}

/* The use behind views of the group's value, which go to `view`. */
static const use *behind_views(const optune_graph *g, const use *uses, const int *taken,
                               const ot_group *group, int view[OT_GROUP_NODES], int *n)
{
    const use *of = &uses[group->node[group->n_nodes - 1]];
    optune_call call;
    *n = 0;
    while (of->count == 1 && taken[of->node] < 0 && group->n_nodes + *n + 1 < OT_GROUP_NODES) {
        ot_graph_call_of(g, of->node, &call);
        if (!is_view(&call))
            break;
        view[(*n)++] = of->node;
        of = &uses[of->node];
    }
    return of;
}

/* Without the dims of 1 that the group's value has not, its other operands mean the same. */
static void trim(optune_call *next, int rank)
{
    for (int i = 0; i < next->n_inputs; i++) {
        optune_tensor *type = &next->input[i].type;
        const int more = type->rank - rank;
        if (rank < 0 || more <= 0 || more > ones(type))
            continue;
        for (int d = 0; d < rank; d++)
            type->dim[d] = type->dim[d + more];
        type->rank = rank;
    }
}

/* A dim that only a run knows is no other one, and no number, though a run may find them equal. */
static bool may_differ(const optune_tensor *a, const optune_tensor *b)
{
    for (int d = 0; d < a->rank && d < b->rank; d++) {
        const optune_dim *x = &a->dim[a->rank - 1 - d], *y = &b->dim[b->rank - 1 - d];
        if (optune_dim_known(x) != optune_dim_known(y) ||
            (*x->name && *y->name && strcmp(x->name, y->name)))
            return true;
    }
    return false;
}

/* The one user of the group's value joins; false when it must not, or cannot be computed so. */
static bool extend(const optune_graph *g, const use *uses, const int *taken, ot_group *group,
                   optune_call *call, ot_accepts accepts, void *arg)
{
    int view[OT_GROUP_NODES], n_views;
    const use *of = behind_views(g, uses, taken, group, view, &n_views);
    if (of->count != 1 || group->n_nodes + n_views >= OT_GROUP_NODES || taken[of->node] >= 0)
        return false;
    const ot_node *node = &g->node[of->node];
    optune_call next, both = *call;
    ot_graph_call_of(g, of->node, &next);
    const optune_tensor *out = &call->output[0];
    const bool other_rank = n_views || next.output[0].rank != out->rank;
    if (next.op->pattern > OPTUNE_BROADCAST || may_differ(&next.output[0], out) ||
        (other_rank && !same_rows(&next.output[0], out)))
        return false;
    trim(&next, out->rank);
    if (optune_call_fuse(&both, &next, of->argument, NULL) < 0 || !accepts(arg, &both))
        return false;
    *call = both;
    for (int i = 0; i < n_views; i++)
        group->node[group->n_nodes++] = view[i];
    group->node[group->n_nodes++] = of->node;
    for (int i = 0; i < node->n_in; i++)
        if (i != of->argument)
            group->in[group->n_in++] = node->in[i];
    return true;
}

static int by_last(const void *a, const void *b)
{
    const ot_group *x = a, *y = b;
    return x->node[x->n_nodes - 1] - y->node[y->n_nodes - 1];
}

int ot_graph_partition(const optune_graph *g, ot_accepts accepts, void *arg, ot_groups *groups,
                       optune_err *err)
{
    int capacity = 0;
    *groups = (ot_groups){0};
    use *uses = find_uses(g);
    optune_call *call = ot_alloc(sizeof *call);
    int *taken = ot_alloc((size_t)(g->n + 1) * sizeof *taken);
    for (int id = 0; id < g->n; id++)
        taken[id] = -1;
    int status = OPTUNE_OK;
    for (int id = 0; id < g->n && status >= 0; id++) {
        if (g->node[id].kind != OT_NODE_CALL || taken[id] >= 0)
            continue;
        groups->group = ot_room(groups->group, groups->n, &capacity, sizeof(ot_group));
        ot_group *group = &groups->group[groups->n];
        status = start(g, id, group, call, err);
        if (status < 0)
            break;
        while (accepts && g->node[id].n_out == 1 && call->op->pattern < OPTUNE_TUPLE &&
               extend(g, uses, taken, group, call, accepts, arg))
            ;
        group->call = ot_calls_share(&groups->calls, call);
        for (int i = 0; i < group->n_nodes; i++)
            taken[group->node[i]] = groups->n;
        groups->n++;
    }
    /* A group runs when its last node would: then everything it needs is there. */
    if (groups->n)
        qsort(groups->group, (size_t)groups->n, sizeof(ot_group), by_last);
    ot_group *fitted = realloc(groups->group, (size_t)(groups->n + 1) * sizeof(ot_group));
    groups->group = fitted ? fitted : groups->group;
    free(taken);
    free(uses);
    free(call);
    if (status < 0)
        ot_groups_release(groups);
    return status;
}

void ot_groups_release(ot_groups *groups)
{
    free(groups->group);
    ot_calls_release(&groups->calls);
    *groups = (ot_groups){0};
}

optune_tensor ot_group_input_type(const ot_group *group, int k, const optune_tensor *is)
{
    optune_tensor type = *is;
    const int rank = group->call->input[k].type.rank, more = is->rank - rank;
    if (rank < 0 || more <= 0 || more > ones(is))
        return type;
    for (int d = 0; d < rank; d++)
        type.dim[d] = is->dim[d + more];
    type.rank = rank;
    return type;
}

optune_tensor ot_group_output_type(const optune_graph *g, const ot_group *group,
                                   const optune_call *call, int o)
{
    const optune_tensor *is = &call->output[o];
    optune_tensor type = g->node[group->node[group->n_nodes - 1]].out[o];
    const int front = type.rank - is->rank;
    if (front <= 0)
        return *is;
    for (int d = 0; d < type.rank; d++)
        type.dim[d] = d < front ? optune_dim_of(1) : is->dim[d - front];
    return type;
}

bool ot_group_is_open(const optune_graph *g, const ot_group *group)
{
    const ot_node *last = &g->node[group->node[group->n_nodes - 1]];
    for (int k = 0; k < group->n_in; k++)
        if (!optune_tensor_known(ot_graph_type_of(g, group->in[k])))
            return true;
    for (int o = 0; o < last->n_out; o++)
        if (!optune_tensor_known(&last->out[o]))
            return true;
    return group->call->op->shape != NULL;
}
