/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads and who makes what in a model's graph or in a body of one of its nodes, and in which
 * order nodes are read. */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

/* Every name that a node reads, those in its bodies among them, which may name what is around. */
typedef void reading(ot_onnx *m, const char *name, int node, void *to);

void ot_onnx_each_own(const ot_onnx_graph *g, void (*use)(void *to, const char *name), void *to)
{
    for (size_t i = 0; i < g->n_input; i++)
        use(to, ot_onnx_text_of(g->input[i]->name));
    for (size_t i = 0; i < g->n_initializer; i++)
        use(to, ot_onnx_text_of(g->initializer[i]->name));
    for (size_t i = 0; i < g->n_sparse_initializer; i++)
        if (g->sparse_initializer[i]->values)
            use(to, ot_onnx_text_of(g->sparse_initializer[i]->values->name));
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            use(to, ot_onnx_text_of(g->node[i]->output[k]));
}

static void own(void *to, const char *name)
{
    if (*name && !ot_names_find(to, name))
        ot_names_add(to, name, 0);
}

void ot_onnx_shade_by(ot_onnx_shade *shade, const ot_onnx_graph *body)
{
    ot_onnx_each_own(body, own, &shade->own);
}

bool ot_onnx_shaded(const ot_onnx_shade *by, const char *name)
{
    for (; by; by = by->around)
        if (ot_names_find(&by->own, name))
            return true;
    return false;
}

static void each_in_body(ot_onnx *m, const ot_onnx_graph *body, const ot_onnx_shade *around,
                         int node, reading *read, void *to);

static void each_from(ot_onnx *m, const ot_onnx_proto *proto, const ot_onnx_shade *in, int node,
                      reading *read, void *to)
{
    for (size_t k = 0; k < proto->n_input; k++)
        if (!ot_onnx_shaded(in, proto->input[k]))
            read(m, proto->input[k], node, to);
    for (size_t k = 0; k < proto->n_attribute; k++)
        if (proto->attribute[k]->g)
            each_in_body(m, proto->attribute[k]->g, in, node, read, to);
}

static void each_in_body(ot_onnx *m, const ot_onnx_graph *body, const ot_onnx_shade *around,
                         int node, reading *read, void *to)
{
    ot_onnx_shade in = {.around = around};
    ot_onnx_shade_by(&in, body);
    for (size_t i = 0; i < body->n_node; i++)
        each_from(m, body->node[i], &in, node, read, to);
    for (size_t i = 0; i < body->n_output; i++) {
        const char *name = ot_onnx_text_of(body->output[i]->name);
        if (!ot_onnx_shaded(&in, name))
            read(m, name, node, to);
    }
    ot_names_release(&in.own);
}

static void each_read(ot_onnx *m, const ot_onnx_proto *proto, int node, reading *read, void *to)
{
    each_from(m, proto, NULL, node, read, to);
}

static void count_one(ot_onnx *m, const char *name, int node, void *to)
{
    (void)m;
    (void)name;
    (void)node;
    int *n = to;
    (*n)++;
}

/* ---- order ------------------------------------------------------------------------------ */

enum { UNSEEN, OPEN, PLACED }; /* OPEN: those that make what it reads are placed first */

typedef struct ordering {
    char *state; /* of each node */
    int *stack, n;
} ordering;

static void await(ot_onnx *m, const char *name, int node, void *to)
{
    (void)node;
    ordering *o = to;
    const int *maker = *name ? ot_names_find(&m->at->makers, name) : NULL;
    if (maker && o->state[*maker] == UNSEEN)
        o->stack[o->n++] = *maker;
}

static void find_makers(ot_onnx *m)
{
    ot_onnx_scope *at = m->at;
    ot_names_release(&at->makers);
    at->makers = (ot_names){0};
    for (int i = 0; i < at->nodes.n; i++) {
        const ot_onnx_proto *node = ot_onnx_proto_at(m, i);
        for (size_t k = 0; k < node->n_output; k++)
            if (*node->output[k])
                ot_names_add(&at->makers, node->output[k], i);
    }
}

/* Nodes stand behind those that make what they read, otherwise as in the file, which tools that
 * convert models leave out of order. Only a node of a cycle may read what one further on makes. */
static void order_nodes(ot_onnx *m)
{
    ot_onnx_scope *at = m->at;
    const size_t n = (size_t)at->nodes.n;
    int most = at->nodes.n, placed = 0;
    for (int i = 0; i < at->nodes.n; i++)
        each_read(m, ot_onnx_proto_at(m, i), i, count_one, &most);
    ordering o = {.state = calloc(n + 1, 1),
                  .stack = calloc((size_t)most + 1, sizeof *o.stack)};
    const void **order = calloc(n + 1, sizeof *order);
    for (int i = 0; i < at->nodes.n; i++) {
        o.stack[o.n++] = i;
        while (o.n > 0) {
            const int top = o.stack[o.n - 1];
            if (o.state[top] == UNSEEN) {
                o.state[top] = OPEN;
                each_read(m, ot_onnx_proto_at(m, top), top, await, &o);
                continue;
            }
            if (o.state[top] == OPEN)
                order[placed++] = at->nodes.row[top];
            o.state[top] = PLACED;
            o.n--;
        }
    }
    if (n > 0 && memcmp(order, at->nodes.row, n * sizeof *order) != 0) {
        memcpy(at->nodes.row, order, n * sizeof *order);
        find_makers(m);
    }
    free(order);
    free(o.stack);
    free(o.state);
}

/* ---- uses ------------------------------------------------------------------------------- */

static void want(ot_onnx *m, const char *name, int node, void *to)
{
    (void)node;
    (void)to;
    if (*name && !ot_names_find(&m->at->used, name))
        ot_names_add(&m->at->used, name, 1);
}

static void count_use(ot_onnx *m, const char *name, int node, void *to)
{
    ot_onnx_scope *at = m->at;
    int *n = to;
    if (!*name)
        return;
    int *place = ot_names_find(&at->used, name);
    if (!place)
        place = ot_names_add(&at->used, name, (*n)++);
    at->use[*place].count++;
    at->use[*place].node = node;
}

/* Whether a node makes what is read and another makes, too: either may be meant. */
static bool is_second(ot_onnx *m, int i)
{
    const ot_onnx_proto *node = ot_onnx_proto_at(m, i);
    bool second = false;
    for (size_t k = 0; k < node->n_output; k++) {
        const int *maker = ot_names_find(&m->at->makers, node->output[k]);
        second =
            second || (maker && *maker != i && ot_names_find(&m->at->used, node->output[k]));
    }
    return second;
}

/* Marks what nothing reads as done, so that exporters' left-overs are neither read nor readers. */
static void drop_unread(ot_onnx *m)
{
    ot_onnx_scope *at = m->at;
    for (size_t i = 0; i < at->graph->n_output; i++)
        want(m, ot_onnx_text_of(at->graph->output[i]->name), 0, NULL);
    for (int i = at->nodes.n; i-- > 0;) {
        const ot_onnx_proto *node = ot_onnx_proto_at(m, i);
        bool read = false;
        for (size_t k = 0; k < node->n_output; k++)
            read = read || ot_names_find(&at->used, node->output[k]);
        at->done[i] = !read && node->n_output;
        if (!at->done[i])
            each_read(m, node, i, want, NULL);
    }
    for (int i = 0; i < at->nodes.n; i++)
        at->done[i] = at->done[i] && !is_second(m, i);
    ot_names_release(&at->used);
    at->used = (ot_names){0};
}

void ot_onnx_count_uses(ot_onnx *m)
{
    ot_onnx_scope *at = m->at;
    int n = 0, most = (int)at->graph->n_output;
    find_makers(m);
    order_nodes(m);
    for (int i = 0; i < at->nodes.n; i++)
        each_read(m, ot_onnx_proto_at(m, i), i, count_one, &most);
    at->use = calloc((size_t)most + 1, sizeof *at->use);
    at->done = calloc((size_t)at->nodes.n + 1, 1);
    drop_unread(m);
    for (int i = 0; i < at->nodes.n; i++) {
        const ot_onnx_proto *node = ot_onnx_proto_at(m, i);
        if (!at->done[i])
            each_read(m, node, i, count_use, &n);
    }
    for (size_t i = 0; i < at->graph->n_output;
         i++) /* an output is a reader without a number */
        count_use(m, ot_onnx_text_of(at->graph->output[i]->name), -1, &n);
}

void ot_onnx_leave(ot_onnx_scope *scope)
{
    free(scope->nodes.row);
    free(scope->use);
    free(scope->done);
    ot_names_release(&scope->names);
    ot_names_release(&scope->used);
    ot_names_release(&scope->makers);
}
