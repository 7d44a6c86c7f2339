/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs made node by node. A node can only use nodes that exist, so the order of numbers is an
 * order of evaluation. Everything a graph owns lives in its arena. Types are not looked at here:
 * inference does that.
 */
#include <ctype.h>
#include <string.h>

#include "graph/graph.h"

/* ---- following values -------------------------------------------------------------------- */

/* The node behind `get`s of tuples; *output is set when it is one output of a call. */
static int resolve(const optune_graph *g, int id, int *output)
{
    *output = -1;
    while (g->node[id].kind == OT_NODE_GET) {
        int inner;
        const int tuple = resolve(g, g->node[id].field[0], &inner);
        if (g->node[tuple].kind == OT_NODE_CALL) {
            *output = g->node[id].index;
            return tuple;
        }
        id = g->node[tuple].field[g->node[id].index];
    }
    return id;
}

int ot_graph_tensors(const optune_graph *g, int node, ot_value *value, int most)
{
    int output;
    const int id = resolve(g, node, &output);
    const ot_node *at = &g->node[id];
    if (output >= 0 || at->n_out == 1) {
        if (most > 0)
            value[0] = (ot_value){id, output < 0 ? 0 : output};
        return 1;
    }
    int n = 0;
    if (at->kind == OT_NODE_CALL) {
        for (; n < at->n_out; n++)
            if (n < most)
                value[n] = (ot_value){id, n};
        return n;
    }
    for (int i = 0; i < at->n_fields; i++)
        n += ot_graph_tensors(g, at->field[i], n < most ? value + n : value,
                              n < most ? most - n : 0);
    return n;
}

bool ot_graph_tensor(const optune_graph *g, int node, ot_value *value)
{
    int output;
    const int id = resolve(g, node, &output);
    if (output < 0 && g->node[id].n_out != 1)
        return false;
    *value = (ot_value){id, output < 0 ? 0 : output};
    return true;
}

optune_tensor *ot_graph_type_of(const optune_graph *g, ot_value value)
{
    return &g->node[value.node].out[value.output];
}

bool ot_value_constant(const optune_graph *g, ot_value value)
{
    return g->node[value.node].kind == OT_NODE_CONST;
}

int ot_graph_output_values(const optune_graph *g, ot_value *value, int most)
{
    int n = 0;
    for (int i = 0; i < g->n_outputs; i++)
        n += ot_graph_tensors(g, g->output[i], n < most ? value + n : value,
                              n < most ? most - n : 0);
    return n;
}

void ot_graph_call_of(const optune_graph *g, int node, optune_call *call)
{
    const ot_node *at = &g->node[node];
    *call = *at->call;
    call->n_inputs = at->n_in;
    for (int i = 0; i < at->n_in; i++)
        call->input[i] = (optune_input){.type = *ot_graph_type_of(g, at->in[i]),
                                        .is_const = ot_value_constant(g, at->in[i])};
    for (int i = 0; i < at->n_out; i++)
        call->output[i] = at->out[i];
}

ot_spot ot_graph_place(const optune_graph *g, int node, int argument)
{
    const ot_node *at = &g->node[node];
    return argument >= 0 && argument < at->n_in && at->in_place ? at->in_place[argument]
                                                                : at->place;
}

/* ---- making nodes ------------------------------------------------------------------------ */

optune_graph *ot_graph_new(void)
{
    return ot_alloc(sizeof(optune_graph));
}

int optune_graph_open(optune_graph **graph, optune_err *err)
{
    (void)err;
    *graph = ot_graph_new();
    return OPTUNE_OK;
}

void optune_graph_close(optune_graph *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n; i++)
        free(g->node[i].call);
    free(g->node);
    free(g->output);
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

static int check_name(const optune_graph *g, const char *name, optune_err *err)
{
    static const char *const words[] = {"var", "const", "tuple", "output"};
    if (!is_name(name))
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "'%.80s' is no name: letters, digits and '_', no digit first, at "
                           "most %d",
                           name, OPTUNE_NAME_SIZE - 1);
    for (int i = 0; i < OT_COUNT(words); i++)
        if (!strcmp(words[i], name))
            return optune_fail(err, OPTUNE_ESYNTAX, "'%s' is a word of the language", name);
    if (optune_graph_find(g, name) >= 0)
        return optune_fail(err, OPTUNE_ECONFLICT, "'%s' exists already", name);
    return OPTUNE_OK;
}

/* `stem`, or stem_2, stem_3 ...: readable, and the same for the same graph. */
static const char *fresh_name(optune_graph *g, const char *stem)
{
    char name[OPTUNE_NAME_SIZE];
    snprintf(name, sizeof name, "%.40s", stem);
    for (int i = 2; check_name(g, name, NULL) < 0; i++)
        snprintf(name, sizeof name, "%.40s_%d", stem, i);
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
    for (int i = 0; i < g->n; i++) {
        char stem[OPTUNE_NAME_SIZE];
        if (!*g->node[i].name)
            g->node[i].name = fresh_name(g, stem_of(g, &g->node[i], stem, sizeof stem));
    }
}

static int add(optune_graph *g, const char *name, const ot_node *like, optune_err *err)
{
    const int status = name ? check_name(g, name, err) : OPTUNE_OK;
    if (status < 0)
        return status;
    if (g->n == g->capacity) {
        const int capacity = g->capacity ? 2 * g->capacity : 32;
        ot_node *node = ot_alloc((size_t)capacity * sizeof *node);
        for (int i = 0; i < g->n; i++)
            node[i] = g->node[i];
        free(g->node);
        g->node = node;
        g->capacity = capacity;
    }
    ot_node *node = &g->node[g->n];
    *node = *like;
    node->name = name ? ot_arena_copy(&g->arena, name) : "";
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
    ot_node node = {.kind = OT_NODE_VAR, .n_out = 1, .out = types(g, 1)};
    const int status = read_type(type, node.out, err);
    return status < 0 ? status : add(g, name, &node, err);
}

int optune_graph_constant(optune_graph *g, const char *name, const char *type, const void *data,
                          optune_err *err)
{
    ot_node node = {.kind = OT_NODE_CONST, .n_out = 1, .out = types(g, 1)};
    const int status = read_type(type, node.out, err);
    if (status < 0)
        return status;
    if (data && !optune_tensor_known(node.out))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a constant with data needs a known type, not '%s'", type);
    if (data) {
        const size_t bytes = (size_t)optune_tensor_bytes(node.out);
        node.data = ot_arena_alloc(&g->arena, bytes + 1);
        memcpy(node.data, data, bytes);
    }
    return add(g, name, &node, err);
}

int optune_graph_set_data(optune_graph *g, int node, const void *data, optune_err *err)
{
    const int status = check_node(g, node, err);
    if (status < 0)
        return status;
    ot_node *at = &g->node[node];
    if (at->kind != OT_NODE_CONST || (data && !optune_tensor_known(&at->out[0])))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is no constant of a known type", at->name);
    at->data = NULL;
    if (data) {
        const size_t bytes = (size_t)optune_tensor_bytes(&at->out[0]);
        at->data = ot_arena_alloc(&g->arena, bytes + 1);
        memcpy(at->data, data, bytes);
    }
    return OPTUNE_OK;
}

int optune_graph_call_like(optune_graph *g, const char *name, const optune_call *call,
                           const int *inputs, int n, optune_err *err)
{
    const optune_op *op = call->op;
    ot_value in[OPTUNE_MAX_INPUTS];
    int n_in = 0;
    for (int i = 0; i < n; i++) {
        const int status = check_node(g, inputs[i], err);
        if (status < 0)
            return status;
        n_in += ot_graph_tensors(g, inputs[i], n_in < OPTUNE_MAX_INPUTS ? in + n_in : in,
                                 n_in < OPTUNE_MAX_INPUTS ? OPTUNE_MAX_INPUTS - n_in : 0);
    }
    const int most = ot_op_input_count(op);
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
                    .out = types(g, n_out)};
    for (int i = 0; i < n_in; i++)
        node.in[i] = in[i];
    node.n_fields = n;
    node.field = ot_arena_alloc(&g->arena, (size_t)(n + 1) * sizeof *node.field);
    for (int i = 0; i < n; i++)
        node.field[i] = inputs[i];
    node.call = ot_alloc(sizeof *node.call);
    *node.call = *call;
    node.call->n_outputs = n_out;
    const int id = add(g, name, &node, err);
    if (id < 0)
        free(node.call);
    return id;
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
    for (int i = 0; i < n; i++) {
        const int status = check_node(g, fields[i], err);
        if (status < 0)
            return status;
    }
    if (n < 1)
        return optune_fail(err, OPTUNE_ESYNTAX, "a tuple has at least one field");
    ot_node node = {.kind = OT_NODE_TUPLE,
                    .n_fields = n,
                    .field = ot_arena_alloc(&g->arena, (size_t)n * sizeof *node.field)};
    for (int i = 0; i < n; i++)
        node.field[i] = fields[i];
    return add(g, name, &node, err);
}

int optune_graph_get(optune_graph *g, const char *name, int tuple, int index, optune_err *err)
{
    int status = check_node(g, tuple, err);
    if (status < 0)
        return status;
    int output;
    const int id = resolve(g, tuple, &output);
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
                    .nameless = !name};
    node.field[0] = tuple;
    return add(g, name, &node, err);
}

int optune_graph_output(optune_graph *g, int node, optune_err *err)
{
    const int status = check_node(g, node, err);
    if (status < 0)
        return status;
    if (g->n_outputs == g->outputs_capacity) {
        const int capacity = g->outputs_capacity ? 2 * g->outputs_capacity : 8;
        int *output = ot_alloc((size_t)capacity * sizeof *output);
        for (int i = 0; i < g->n_outputs; i++)
            output[i] = g->output[i];
        free(g->output);
        g->output = output;
        g->outputs_capacity = capacity;
    }
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
    const int status = check_node(g, node, err);
    ot_value value;
    if (status < 0)
        return status;
    if (!ot_graph_tensor(g, node, &value))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is a tuple: annotate its fields",
                           g->node[node].name);
    return ot_graph_annotate_value(g, value, g->node[node].name, text, err);
}
