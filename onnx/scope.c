/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads and who makes what in a model's graph or in a body of one of its nodes. */
#include <stdlib.h>

#include "onnx/onnx.h"

/* Every name that a node reads, those in its bodies among them, which may name what is around. */
typedef void reading(ot_onnx *m, const char *name, int node, int *n);

static void each_in_body(ot_onnx *m, const ot_onnx_graph *body, int node, reading *read,
                         int *n);

static void each_read(ot_onnx *m, const ot_onnx_proto *proto, int node, reading *read, int *n)
{
    for (size_t k = 0; k < proto->n_input; k++)
        read(m, proto->input[k], node, n);
    for (size_t k = 0; k < proto->n_attribute; k++)
        if (proto->attribute[k]->g)
            each_in_body(m, proto->attribute[k]->g, node, read, n);
}

static void each_in_body(ot_onnx *m, const ot_onnx_graph *body, int node, reading *read, int *n)
{
    for (size_t i = 0; i < body->n_node; i++)
        each_read(m, body->node[i], node, read, n);
    for (size_t i = 0; i < body->n_output; i++)
        read(m, ot_onnx_text_of(body->output[i]->name), node, n);
}

static void count_one(ot_onnx *m, const char *name, int node, int *n)
{
    (void)m;
    (void)name;
    (void)node;
    (*n)++;
}

static void want(ot_onnx *m, const char *name, int node, int *n)
{
    (void)node;
    (void)n;
    if (*name && !ot_names_find(&m->at->used, name))
        ot_names_add(&m->at->used, name, 1);
}

static void count_use(ot_onnx *m, const char *name, int node, int *n)
{
    ot_onnx_scope *at = m->at;
    if (!*name)
        return;
    int *place = ot_names_find(&at->used, name);
    if (!place)
        place = ot_names_add(&at->used, name, (*n)++);
    at->use[*place].count++;
    at->use[*place].node = node;
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
    ot_names_release(&at->used);
    at->used = (ot_names){0};
}

void ot_onnx_count_uses(ot_onnx *m)
{
    ot_onnx_scope *at = m->at;
    int n = 0, most = (int)at->graph->n_output;
    for (int i = 0; i < at->nodes.n; i++)
        each_read(m, ot_onnx_proto_at(m, i), i, count_one, &most);
    at->use = calloc((size_t)most + 1, sizeof *at->use);
    at->done = calloc((size_t)at->nodes.n + 1, 1);
    drop_unread(m);
    for (int i = 0; i < at->nodes.n; i++) {
        const ot_onnx_proto *node = ot_onnx_proto_at(m, i);
        if (!at->done[i])
            each_read(m, node, i, count_use, &n);
        for (size_t k = 0; k < node->n_output; k++)
            if (*node->output[k])
                ot_names_add(&at->makers, node->output[k], i);
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
