/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as the file it could have come from: one node a line, by name, attributes as in a
 * workload's text. With types, a call is annotated with what was inferred, and a variable is
 * printed with its inferred type. Reading it back gives the same graph.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/graph.h"

enum { MOST_ELEMENTS = 64 }; /* of a constant that is printed with its data */

const char *optune_graph_name(const optune_graph *g, int node)
{
    if (!g || node < 0 || node >= g->n)
        return NULL;
    return g->node[node].name;
}

int optune_graph_size(const optune_graph *g)
{
    if (!g)
        return 0;
    return g->n;
}

int optune_graph_find(const optune_graph *g, const char *name)
{
    if (!g || !name)
        return -1;
    const int *id = ot_names_find(&g->names, name);
    return id ? *id : -1;
}

int optune_graph_inputs(const optune_graph *g)
{
    if (!g)
        return 0;
    int n = 0;
    for (int i = 0; i < g->n; i++)
        n += g->node[i].kind == OT_NODE_VAR;
    return n;
}

int optune_graph_input_node(const optune_graph *g, int i)
{
    if (!g || i < 0)
        return -1;
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_VAR && i-- == 0)
            return id;
    return -1;
}

int optune_graph_outputs(const optune_graph *g)
{
    if (!g)
        return 0;
    return ot_graph_output_values(g, NULL, 0);
}

const optune_tensor *optune_graph_type(const optune_graph *g, int node)
{
    if (!g)
        return NULL;
    ot_value value;
    return node >= 0 && node < g->n && ot_graph_tensor(g, node, &value)
               ? ot_graph_type_of(g, value)
               : NULL;
}

const optune_tensor *optune_graph_input_type(const optune_graph *g, int i)
{
    if (!g)
        return NULL;
    return optune_graph_type(g, optune_graph_input_node(g, i));
}

const optune_tensor *optune_graph_output_type(const optune_graph *g, int i)
{
    if (!g)
        return NULL;
    const int n = ot_graph_output_values(g, NULL, 0);
    if (i < 0 || i >= n)
        return NULL;
    ot_value *value = ot_alloc((size_t)n * sizeof *value);
    ot_graph_output_values(g, value, n);
    const optune_tensor *type = ot_graph_type_of(g, value[i]);
    free(value);
    return type;
}

/* How a node is written where it is used. */
static void print_use(const optune_graph *g, int id, ot_text *to)
{
    const ot_node *node = &g->node[id];
    if (!node->nameless) {
        ot_text_add(to, node->name);
        return;
    }
    print_use(g, node->field[0], to);
    ot_text_printf(to, ".%d", node->index);
}

/* What can be had again is more than that, so it is never asked for here. */
static void print_data(const ot_node *node, ot_text *to)
{
    const optune_tensor *type = &node->out[0];
    const int64_t n = node->data ? optune_tensor_elements(type) : 0;
    if (!node->data || node->backing || n > MOST_ELEMENTS)
        return;
    ot_text_add(to, " {");
    for (int64_t i = 0; i < n; i++) {
        double value;
        ot_elements(type->dtype, node->data, i, 1, &value);
        ot_text_add(to, i ? ", " : "");
        if (isnan(value))
            ot_text_add(to, "nan");
        else if (isinf(value))
            ot_text_add(to, value < 0 ? "-inf" : "inf");
        else if (value == floor(value) && fabs(value) < 1e15)
            ot_text_printf(to, "%.0f", value);
        else
            ot_text_printf(to, type->dtype.bits == 64 ? "%.17g" : "%.9g", value);
    }
    ot_text_add(to, "}");
}

static void print_call(const optune_graph *g, const ot_node *node, ot_text *to)
{
    const char *between = "";
    ot_text_printf(to, "%s(", node->call->op->name);
    for (int i = 0; i < node->n_fields; i++, between = ", ") {
        ot_text_add(to, between);
        print_use(g, node->field[i], to);
    }
    for (int i = 0; i < node->call->n_attrs; i++) {
        if (!ot_attr_shown(ot_op_attr_at(node->call->op, i), &node->call->attr[i]))
            continue;
        ot_text_add(to, between);
        ot_attr_print(&node->call->attr[i], to);
        between = ", ";
    }
    ot_text_add(to, ")");
}

/* One call's attributes that its text would show, in a list. */
static json_t *attrs_json(const ot_node *node)
{
    json_t *attrs = json_array();
    for (int i = 0; i < node->call->n_attrs; i++) {
        if (!ot_attr_shown(ot_op_attr_at(node->call->op, i), &node->call->attr[i]))
            continue;
        ot_text text = {0};
        ot_attr_print(&node->call->attr[i], &text);
        json_array_append_new(attrs, json_string(ot_text_str(&text)));
        ot_text_release(&text);
    }
    return attrs;
}

static void print_types(const ot_node *node, ot_text *to)
{
    if (node->n_out > 1)
        ot_text_add(to, "(");
    for (int i = 0; i < node->n_out; i++) {
        ot_text_add(to, i ? ", " : "");
        ot_tensor_print(&node->out[i], to);
    }
    if (node->n_out > 1)
        ot_text_add(to, ")");
}

static void print_node(const optune_graph *g, const ot_node *node, bool types, ot_text *to)
{
    if (node->nameless)
        return;
    ot_text_add(to, node->name);
    if (types && node->kind == OT_NODE_CALL) {
        ot_text_add(to, " : ");
        print_types(node, to);
    }
    ot_text_add(to, " = ");
    switch (node->kind) {
    case OT_NODE_VAR:
    case OT_NODE_CONST:
        ot_text_add(to, node->kind == OT_NODE_VAR ? "var " : "const ");
        ot_tensor_print(&node->out[0], to);
        print_data(node, to);
        break;
    case OT_NODE_CALL:
        print_call(g, node, to);
        break;
    case OT_NODE_TUPLE:
        for (int i = 0; i < node->n_fields; i++) {
            ot_text_add(to, i ? ", " : "tuple(");
            print_use(g, node->field[i], to);
        }
        ot_text_add(to, ")");
        break;
    case OT_NODE_GET:
        print_use(g, node->field[0], to);
        ot_text_printf(to, ".%d", node->index);
        break;
    }
    ot_text_add(to, "\n");
}

const char *optune_graph_text(optune_graph *g, bool types)
{
    OT_DEFAULT_FENV;
    if (!g)
        return NULL;
    ot_text_clear(&g->text);
    for (int i = 0; i < g->n; i++)
        print_node(g, &g->node[i], types, &g->text);
    for (int i = 0; i < g->n_outputs; i++) {
        ot_text_add(&g->text, i ? ", " : "output ");
        print_use(g, g->output[i], &g->text);
    }
    if (g->n_outputs)
        ot_text_add(&g->text, "\n");
    return ot_text_str(&g->text);
}

static json_t *uses_json(const optune_graph *g, const int *id, int n)
{
    json_t *uses = json_array();
    for (int i = 0; i < n; i++) {
        ot_text text = {0};
        print_use(g, id[i], &text);
        json_array_append_new(uses, json_string(ot_text_str(&text)));
        ot_text_release(&text);
    }
    return uses;
}

static json_t *node_json(const optune_graph *g, const ot_node *node)
{
    static const char *const kinds[] = {"var", "const", "call", "tuple", "get"};
    json_t *json = json_object(), *types = json_array();
    for (int i = 0; i < node->n_out; i++) {
        ot_text text = {0};
        ot_tensor_print(&node->out[i], &text);
        json_array_append_new(types, json_string(ot_text_str(&text)));
        ot_text_release(&text);
    }
    json_object_set_new(json, "name", json_string(node->name));
    json_object_set_new(json, "kind", json_string(kinds[node->kind]));
    json_object_set_new(json, "op",
                        node->call ? json_string(node->call->op->name) : json_null());
    json_object_set_new(json, "inputs", uses_json(g, node->field, node->n_fields));
    json_object_set_new(json, "attrs", node->call ? attrs_json(node) : json_array());
    json_object_set_new(json, "types", types);
    return json;
}

static json_t *graph_json(const optune_graph *g)
{
    json_t *json = json_object(), *nodes = json_array();
    for (int i = 0; i < g->n; i++)
        if (!g->node[i].nameless)
            json_array_append_new(nodes, node_json(g, &g->node[i]));
    json_object_set_new(json, "nodes", nodes);
    json_object_set_new(json, "outputs", uses_json(g, g->output, g->n_outputs));
    return json;
}

const char *optune_graph_json(optune_graph *g)
{
    OT_DEFAULT_FENV;
    if (!g)
        return NULL;
    json_t *json = graph_json(g);
    char *text = json_dumps(json, JSON_INDENT(2));
    ot_text_clear(&g->text);
    ot_text_add(&g->text, text);
    free(text);
    json_decref(json);
    return ot_text_str(&g->text);
}
