/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs made node by node. A node can only use nodes that exist, so the order of numbers is an
 * order of evaluation. Everything a graph owns lives in its arena. Types are not looked at here:
 * inference does that.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/graph.h"

/* ---- making nodes ------------------------------------------------------------------------ */

optune_graph *ot_graph_new(void)
{
    return ot_alloc(sizeof(optune_graph));
}

int optune_graph_open(optune_graph **graph, optune_err *err)
{
    OT_ENTER(err, {"graph", graph});
    (void)err;
    *graph = ot_graph_new();
    return OPTUNE_OK;
}

void optune_graph_close(optune_graph *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n; i++)
        ot_graph_drop_data(&g->node[i]);
    ot_graph_drop_calls(g);
    free(g->node);
    free(g->output);
    ot_names_release(&g->names);
    ot_names_release(&g->stems);
    ot_arena_release(&g->arena);
    ot_text_release(&g->text);
    free(g);
}

static bool is_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    size_t n = 1;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return !s[n] && n < OPTUNE_NAME_SIZE;
}

static bool is_word(const char *name)
{
    static const char *const words[] = {"var", "const", "tuple", "output"};
    for (int i = 0; i < OT_COUNT(words); i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

static int check_name(const optune_graph *g, const char *name, optune_err *err)
{
    if (!is_name(name))
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "'%.80s' is no name: letters, digits and '_', no digit first, at "
                           "most %d",
                           name, OPTUNE_NAME_SIZE - 1);
    if (is_word(name))
        return optune_fail(err, OPTUNE_ESYNTAX, "'%s' is a word of the language", name);
    if (optune_graph_find(g, name) >= 0)
        return optune_fail(err, OPTUNE_ECONFLICT, "'%s' exists already", name);
    return OPTUNE_OK;
}

/* `stem`, or stem_2, stem_3 ...: readable, and the same for the same graph. The stem remembers
 * the next number, so that thousands of nodes of one operator do not try all of them again. */
const char *ot_graph_fresh_name(optune_graph *g, const char *stem)
{
    char name[OPTUNE_NAME_SIZE];
    snprintf(name, sizeof name, "%.40s", stem);
    int *next = ot_names_find(&g->stems, name);
    if (!next)
        next = ot_names_add(&g->stems, ot_arena_copy(&g->arena, name), 1);
    do {
        if (*next > 1)
            snprintf(name, sizeof name, "%.40s_%d", stem, *next);
        ++*next;
    } while (is_word(name) || optune_graph_find(g, name) >= 0);
    return ot_arena_copy(&g->arena, name);
}

/* What a node without a name is called after. */
static const char *stem_of(const optune_graph *g, const ot_node *node, char *to, size_t size)
{
    switch (node->kind) {
    case OT_NODE_VAR:
        return "x";
    case OT_NODE_CONST:
        return "c";
    case OT_NODE_CALL:
        return node->call->op->name;
    case OT_NODE_TUPLE:
        return "tuple";
    case OT_NODE_GET:
        break;
    }
    snprintf(to, size, "%.40s_%d", g->node[node->field[0]].name, node->index);
    return to;
}

void ot_graph_name_all(optune_graph *g)
{
    for (; g->n_named < g->n; g->n_named++) {
        ot_node *node = &g->node[g->n_named];
        char stem[OPTUNE_NAME_SIZE];
        if (*node->name)
            continue;
        node->name = ot_graph_fresh_name(g, stem_of(g, node, stem, sizeof stem));
        ot_names_add(&g->names, node->name, g->n_named);
    }
}

static int add(optune_graph *g, const char *name, const ot_node *like, optune_err *err)
{
    const int status = name ? check_name(g, name, err) : OPTUNE_OK;
    if (status < 0)
        return status;
    g->node = ot_room(g->node, g->n, &g->capacity, sizeof *g->node);
    ot_node *node = &g->node[g->n];
    *node = *like;
    node->name = name ? ot_arena_copy(&g->arena, name) : "";
    if (name)
        ot_names_add(&g->names, node->name, g->n);
    g->n++;
    if (!g->reading)
        ot_graph_name_all(g);
    return g->n - 1;
}

static int check_node(const optune_graph *g, int node, optune_err *err)
{
    if (node >= 0 && node < g->n)
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EUSAGE, "the graph has no node %d", node);
}

static optune_tensor *types(optune_graph *g, int n)
{
    optune_tensor *out = ot_arena_alloc(&g->arena, (size_t)(n + 1) * sizeof *out);
    for (int i = 0; i < n; i++)
        out[i].rank = -1;
    return out;
}

static int read_type(const char *text, optune_tensor *type, optune_err *err)
{
    const char *end;
    const int status = ot_tensor_parse(text, type, &end, err);
    if (status < 0)
        return status;
    end += strspn(end, " \t");
    return *end ? optune_fail(err, OPTUNE_ESYNTAX, "nothing may follow the type: '%.80s'", end)
                : OPTUNE_OK;
}

int optune_graph_variable(optune_graph *g, const char *name, const char *type, optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"type", type});
    ot_node node = {.kind = OT_NODE_VAR, .n_out = 1, .n_tensors = 1, .out = types(g, 1)};
    const int status = read_type(type, node.out, err);
    return status < 0 ? status : add(g, name, &node, err);
}

static int copy_data(ot_node *node, const void *data, optune_err *err)
{
    const size_t bytes = (size_t)optune_tensor_bytes(&node->out[0]);
    node->data = ot_try_alloc(bytes + 1, "this constant", err);
    if (!node->data)
        return OPTUNE_ENOMEM;
    memcpy(node->data, data, bytes);
    return OPTUNE_OK;
}

int optune_graph_constant(optune_graph *g, const char *name, const char *type, const void *data,
                          optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"type", type});
    ot_node node = {.kind = OT_NODE_CONST, .n_out = 1, .n_tensors = 1, .out = types(g, 1)};
    const int status = read_type(type, node.out, err);
    if (status < 0)
        return status;
    if (data && !optune_tensor_known(node.out))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a constant with data needs a known type, not '%s'", type);
    const int copied = data ? copy_data(&node, data, err) : OPTUNE_OK;
    const int id = copied < 0 ? copied : add(g, name, &node, err);
    if (id < 0)
        free(node.data);
    return id;
}

int optune_graph_set_data(optune_graph *g, int node, const void *data, optune_err *err)
{
    OT_ENTER(err, {"graph", g});
    const int status = check_node(g, node, err);
    if (status < 0)
        return status;
    ot_node *at = &g->node[node];
    if (at->kind != OT_NODE_CONST || (data && !optune_tensor_known(&at->out[0])))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is no constant of a known type", at->name);
    ot_graph_drop_data(at);
    return data ? copy_data(at, data, err) : OPTUNE_OK;
}

/* A node that is this value. */
static int node_of(optune_graph *g, ot_value value, optune_err *err)
{
    return g->node[value.node].n_out == 1
               ? value.node
               : optune_graph_get(g, NULL, value.node, value.output, err);
}

/* More inputs than one call has: neighbours are joined, then what they give, so that an element
 * moves once for each level. */
static int join_many(optune_graph *g, const char *name, const optune_call *call, int *node,
                     int n, optune_err *err)
{
    const int most = ot_op_input_count(call->op);
    int id = 0;
    while (n > most && id >= 0) {
        int joined = 0;
        for (int i = 0; i < n && id >= 0; i += most) {
            const int some = n - i < most ? n - i : most;
            id = some == 1 ? node[i]
                           : optune_graph_call_like(g, NULL, call, node + i, some, err);
            node[joined++] = id;
        }
        n = joined;
    }
    return id < 0 ? id : optune_graph_call_like(g, name, call, node, n, err);
}

/* Calls for inputs that are more than the operator's. */
static int call_many(optune_graph *g, const char *name, const optune_call *call,
                     const int *inputs, int n, optune_err *err)
{
    int total = 0, id = 0, n_nodes = 0;
    for (int i = 0; i < n; i++)
        total += ot_graph_tensors(g, inputs[i], NULL, 0);
    ot_value *value = ot_alloc((size_t)total * sizeof *value);
    int *node = ot_alloc((size_t)total * sizeof *node);
    for (int i = 0, at = 0; i < n; i++)
        at += ot_graph_tensors(g, inputs[i], value + at, total - at);
    for (; n_nodes < total && id >= 0; n_nodes++)
        node[n_nodes] = id = node_of(g, value[n_nodes], err);
    if (id >= 0)
        id = join_many(g, name, call, node, total, err);
    free(value);
    free(node);
    return id;
}

int optune_graph_call_like(optune_graph *g, const char *name, const optune_call *call,
                           const int *inputs, int n, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"graph", g});
    if (n < 0 || (n > 0 && !inputs))
        return optune_fail(err, OPTUNE_EUSAGE, "%d inputs are no list of nodes", n);
    const optune_op *op = call->op;
    ot_value in[OPTUNE_MAX_INPUTS];
    int n_in = 0;
    for (int i = 0; i < n; i++) {
        const int status = check_node(g, inputs[i], err);
        if (status < 0)
            return status;
        n_in += ot_graph_tensors(g, inputs[i], n_in < OPTUNE_MAX_INPUTS ? in + n_in : in,
                                 n_in < OPTUNE_MAX_INPUTS ? OPTUNE_MAX_INPUTS - n_in : 0);
        if (n_in > OPTUNE_MAX_INPUTS)
            break; /* too many, however many more there are */
    }
    const int most = ot_op_input_count(op);
    if (n_in > most && op->joins && !call->n_epilogues)
        return call_many(g, name, call, inputs, n, err);
    if (n_in > most)
        return optune_fail(err, OPTUNE_ESYNTAX, "too many inputs: '%s' takes %s%d, not %d",
                           op->name, most && op->inputs[most - 1].optional ? "at most " : "",
                           most, n_in);
    if (op->inputs[n_in].name && !op->inputs[n_in].optional)
        return optune_fail(err, OPTUNE_ESYNTAX, "input '%s' of '%s' is missing",
                           op->inputs[n_in].name, op->name);
    for (int i = 0; i < call->n_attrs; i++)
        if (call->attr[i].n == OT_ATTR_UNSET)
            return optune_fail(err, OPTUNE_ESYNTAX, "attribute '%s' of '%s' is missing",
                               call->attr[i].name, op->name);
    if (call->n_epilogues)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a fused call is no node: the graph fuses by itself");
    const int n_out = op->outputs ? op->outputs(call) : op->n_outputs;
    ot_node node = {.kind = OT_NODE_CALL,
                    .n_in = n_in,
                    .in = ot_arena_alloc(&g->arena, (size_t)(n_in + 1) * sizeof *node.in),
                    .n_out = n_out,
                    .n_tensors = n_out,
                    .out = types(g, n_out)};
    for (int i = 0; i < n_in; i++)
        node.in[i] = in[i];
    node.n_fields = n;
    node.field = ot_arena_alloc(&g->arena, (size_t)(n + 1) * sizeof *node.field);
    for (int i = 0; i < n; i++)
        node.field[i] = inputs[i];
    node.call = ot_graph_shared_call(g, call, n_out);
    return add(g, name, &node, err);
}

/* "a=1, b=[1,2]": cuts at commas that are not inside brackets. */
static int set_attrs(optune_call *call, const char *attrs, optune_err *err)
{
    while (attrs && *(attrs += strspn(attrs, " \t,"))) {
        char piece[OPTUNE_TEXT_SIZE];
        size_t n = 0;
        for (int depth = 0; attrs[n] && (depth > 0 || attrs[n] != ','); n++)
            depth += (attrs[n] == '[') - (attrs[n] == ']');
        if (n >= sizeof piece)
            return optune_fail(err, OPTUNE_ELIMIT, "an attribute of '%s' is too long",
                               call->op->name);
        memcpy(piece, attrs, n);
        piece[n] = '\0';
        attrs += n;
        char *value = strchr(piece, '=');
        if (!value)
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "'%.80s' is no attribute: name=value is expected", piece);
        *value++ = '\0';
        value += strspn(value, " \t");
        for (char *end = piece + strlen(piece); end > piece && isspace((unsigned char)end[-1]);)
            *--end = '\0';
        for (char *end = value + strlen(value); end > value && isspace((unsigned char)end[-1]);)
            *--end = '\0';
        const int status = optune_call_set(call, piece, value, err);
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

int optune_graph_call(optune_graph *g, const char *name, const char *op, const int *inputs,
                      int n, const char *attrs, optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"op", op});
    optune_call *call = ot_alloc(sizeof *call);
    int status = optune_call_start(call, op, err);
    if (status >= 0)
        status = set_attrs(call, attrs, err);
    if (status >= 0)
        status = optune_graph_call_like(g, name, call, inputs, n, err);
    free(call);
    return status;
}

int optune_graph_tuple(optune_graph *g, const char *name, const int *fields, int n,
                       optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"fields", fields});
    if (n < 1)
        return optune_fail(err, OPTUNE_ESYNTAX, "a tuple has at least one field");
    int depth = 0, tensors = 0;
    for (int i = 0; i < n; i++) {
        const int status = check_node(g, fields[i], err);
        if (status < 0)
            return status;
        int output;
        const ot_node *at = &g->node[ot_graph_behind(g, fields[i], &output)];
        const int own = output >= 0 || at->n_out == 1 ? 0
                        : at->kind == OT_NODE_CALL    ? 1
                                                      : at->depth;
        depth = own > depth ? own : depth;
        tensors += g->node[fields[i]].n_tensors;
        if (tensors > OT_TUPLE_TENSORS || depth >= OT_TUPLE_DEPTH)
            return optune_fail(err, OPTUNE_ELIMIT,
                               "a tuple holds at most %d tensors, and tuples in tuples at most "
                               "%d deep",
                               OT_TUPLE_TENSORS, OT_TUPLE_DEPTH);
    }
    ot_node node = {.kind = OT_NODE_TUPLE,
                    .n_fields = n,
                    .depth = depth + 1,
                    .n_tensors = tensors,
                    .field = ot_arena_alloc(&g->arena, (size_t)n * sizeof *node.field)};
    for (int i = 0; i < n; i++)
        node.field[i] = fields[i];
    return add(g, name, &node, err);
}

int optune_graph_get(optune_graph *g, const char *name, int tuple, int index, optune_err *err)
{
    OT_ENTER(err, {"graph", g});
    int status = check_node(g, tuple, err);
    if (status < 0)
        return status;
    int output;
    const int id = ot_graph_behind(g, tuple, &output);
    const ot_node *at = &g->node[id];
    const int fields = output >= 0 || at->n_out == 1 ? 0
                       : at->kind == OT_NODE_CALL    ? at->n_out
                                                     : at->n_fields;
    if (index < 0 || index >= fields)
        return fields ? optune_fail(err, OPTUNE_ETYPE,
                                    "'%s' has %d fields, counted from 0: there is no .%d",
                                    g->node[tuple].name, fields, index)
                      : optune_fail(err, OPTUNE_ETYPE,
                                    "'%s' is one tensor and no tuple: there is no .%d",
                                    g->node[tuple].name, index);
    ot_node node = {.kind = OT_NODE_GET,
                    .n_fields = 1,
                    .field = ot_arena_alloc(&g->arena, sizeof *node.field),
                    .index = index,
                    .nameless = !name,
                    .behind = id,
                    .behind_output = index,
                    .n_tensors = 1};
    node.field[0] = tuple;
    if (at->kind == OT_NODE_TUPLE) {
        node.behind = ot_graph_behind(g, at->field[index], &node.behind_output);
        node.n_tensors = g->node[at->field[index]].n_tensors;
    }
    return add(g, name, &node, err);
}

int optune_graph_output(optune_graph *g, int node, optune_err *err)
{
    OT_ENTER(err, {"graph", g});
    const int status = check_node(g, node, err);
    if (status < 0)
        return status;
    if (g->node[node].n_tensors > OT_GRAPH_OUTPUTS - g->n_output_tensors)
        return optune_fail(err, OPTUNE_ELIMIT, "a graph has at most %d tensors as its outputs",
                           OT_GRAPH_OUTPUTS);
    g->n_output_tensors += g->node[node].n_tensors;
    g->output = ot_room(g->output, g->n_outputs, &g->outputs_capacity, sizeof *g->output);
    g->output[g->n_outputs++] = node;
    return OPTUNE_OK;
}

/* Joins `type` into what is known; false, and nothing changed, on a conflict. */
static bool join(optune_tensor *known, optune_tensor type)
{
    optune_tensor both = *known;
    if (!optune_dtype_unify(&both.dtype, &type.dtype))
        return false;
    if (type.rank >= 0 && !optune_tensor_set_rank(&both, type.rank))
        return false;
    for (int i = 0; i < type.rank; i++)
        if (!optune_dim_unify(&both.dim[i], &type.dim[i]))
            return false;
    *known = both;
    return true;
}

int ot_graph_annotate_value(optune_graph *g, ot_value value, const char *name, const char *text,
                            optune_err *err)
{
    optune_tensor type, *known = ot_graph_type_of(g, value);
    int status = read_type(text, &type, err);
    if (status < 0)
        return status;
    if (join(known, type))
        return OPTUNE_OK;
    ot_text is = {0};
    ot_tensor_print(known, &is);
    status = optune_fail(err, OPTUNE_ETYPE, "'%s' is %s, which is not %s", name,
                         ot_text_str(&is), text);
    ot_text_release(&is);
    return status;
}

int optune_graph_annotate(optune_graph *g, int node, const char *text, optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"type", text});
    const int status = check_node(g, node, err);
    ot_value value;
    if (status < 0)
        return status;
    if (!ot_graph_tensor(g, node, &value))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is a tuple: annotate its fields",
                           g->node[node].name);
    return ot_graph_annotate_value(g, value, g->node[node].name, text, err);
}
