/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of graphs, node for node: as they are, so that one can be bound or extended, or wide:
 * every floating type doubled to f64, so that evaluating it shows what exact arithmetic would.
 */
#include <string.h>

#include "base/fenv.h"
#include "graph/graph.h"

static bool is_narrow(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_BFLOAT ||
           (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits < 64);
}

static optune_dtype wide_of(optune_dtype dtype)
{
    return is_narrow(dtype) ? (optune_dtype){OPTUNE_DTYPE_FLOAT, 64, dtype.lanes} : dtype;
}

static void *copy_data(const ot_node *from, const void *elements, bool wide)
{
    const optune_tensor *type = &from->out[0];
    const bool convert = wide && is_narrow(type->dtype);
    const int64_t n = optune_tensor_elements(type) * type->dtype.lanes;
    const size_t bytes =
        convert ? (size_t)n * sizeof(double) : (size_t)optune_tensor_bytes(type);
    void *data = ot_alloc(bytes + 1);
    if (convert)
        ot_elements(type->dtype, elements, 0, n, data);
    else
        memcpy(data, elements, bytes);
    return data;
}

static void *copy_list(optune_graph *to, const void *list, size_t bytes)
{
    void *copy = ot_arena_alloc(&to->arena, bytes + 1);
    if (bytes)
        memcpy(copy, list, bytes);
    return copy;
}

/* Elements that can be had again are shared; what is doubled is a copy. */
static int copy_elements(const optune_graph *g, int id, bool wide, ot_node *node,
                         optune_err *err)
{
    const ot_node *from = &g->node[id];
    const void *elements;
    if (!from->data)
        return OPTUNE_OK;
    if (from->backing && !wide) {
        node->backing = ot_backing_share(from->backing);
        node->data = from->data;
        return OPTUNE_OK;
    }
    const int status = ot_graph_hold(g, id, &elements, err);
    if (status < 0)
        return status;
    node->data = copy_data(from, elements, wide);
    ot_graph_let_go(g, id);
    return OPTUNE_OK;
}

static void copy_node(optune_graph *to, const ot_node *from, bool wide, ot_node *node)
{
    *node = *from;
    node->data = NULL;
    node->backing = NULL;
    node->borrowed = false;
    node->name = ot_arena_copy(&to->arena, from->name);
    node->in = copy_list(to, from->in, (size_t)from->n_in * sizeof *node->in);
    node->in_place = from->in_place ? copy_list(to, from->in_place,
                                                (size_t)from->n_in * sizeof *node->in_place)
                                    : NULL;
    node->field = copy_list(to, from->field, (size_t)from->n_fields * sizeof *node->field);
    node->out = copy_list(to, from->out, (size_t)from->n_out * sizeof *node->out);
    for (int i = 0; i < from->n_out && wide; i++)
        node->out[i].dtype = wide_of(node->out[i].dtype);
    if (!from->call)
        return;
    optune_call *call = ot_alloc(sizeof *call);
    *call = *from->call;
    for (int i = 0; i < call->n_attrs && wide; i++)
        if (call->attr[i].kind == OPTUNE_ATTR_DTYPE)
            call->attr[i].dtype = wide_of(call->attr[i].dtype);
    node->call = ot_graph_shared_call(to, call, call->n_outputs);
    free(call);
}

/* What dims are called in the file, and which became numbers. */
static void copy_names(const optune_graph *g, optune_graph *to)
{
    ot_dim_called **called = &to->called;
    for (const ot_dim_called *c = g->called; c; c = c->next, called = &(*called)->next) {
        *called = copy_list(to, c, sizeof *c);
        (*called)->whole = ot_arena_copy(&to->arena, c->whole);
        (*called)->next = NULL;
    }
    ot_dim_given **given = &to->given;
    for (const ot_dim_given *d = g->given; d; d = d->next, given = &(*given)->next) {
        *given = copy_list(to, d, sizeof *d);
        (*given)->name = ot_arena_copy(&to->arena, d->name);
        (*given)->next = NULL;
    }
}

optune_graph *ot_graph_copy(const optune_graph *g, bool wide, optune_err *err)
{
    optune_graph *to = ot_graph_new();
    to->file = ot_arena_copy(&to->arena, g->file);
    to->source = ot_arena_copy(&to->arena, g->source);
    to->left_out = ot_arena_copy(&to->arena, g->left_out);
    copy_names(g, to);
    to->capacity = g->n + 1;
    to->node = ot_alloc((size_t)to->capacity * sizeof *to->node);
    for (int id = 0; id < g->n; id++) {
        ot_node *node = &to->node[to->n++];
        copy_node(to, &g->node[id], wide, node);
        if (copy_elements(g, id, wide, node, err) < 0) {
            optune_graph_close(to);
            return NULL;
        }
    }
    to->n_named = g->n;
    for (int i = 0; i < g->n; i++)
        ot_names_add(&to->names, to->node[i].name, i);
    to->n_output_tensors = g->n_output_tensors;
    to->outputs_capacity = g->n_outputs + 1;
    to->output = ot_alloc((size_t)to->outputs_capacity * sizeof *to->output);
    for (; to->n_outputs < g->n_outputs; to->n_outputs++)
        to->output[to->n_outputs] = g->output[to->n_outputs];
    return to;
}

int optune_graph_copy(const optune_graph *g, bool wide, optune_graph **copy, optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"copy", copy});
    *copy = ot_graph_copy(g, wide, err);
    return *copy ? OPTUNE_OK : err ? err->status : OPTUNE_EDAMAGED;
}
