/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model as a graph: its inputs are variables, its initializers constants, and each node is read
 * by the row of its operator, in the file's order, which must be one of evaluation. A node that
 * cannot be read does not end it: what depends on it is passed over, the others are read, and the
 * failure names all that is in the way.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

static int in_tensor(const ot_onnx *m, const char *what, const char *name, int status,
                     const optune_err *why, optune_err *err)
{
    return optune_fail(err, status, "%.200s: %s '%.100s': %s", m->path, what, name, why->text);
}

/* ---- what the model is given ------------------------------------------------------------ */

static bool named_here(const ot_onnx *m, const char *name)
{
    return ot_names_find(&m->at->names, name);
}

/* What the graph cannot have: what reads it is left out, too. */
static void leave_out(ot_onnx *m, const char *what, const char *name, const optune_err *why)
{
    ot_onnx_value *value = ot_onnx_new(m);
    value->failed = true;
    ot_onnx_name(m, name, value);
    ot_onnx_note_tensor(m, what, name, why);
}

/* One of them, dense or sparse. */
static int take_initializer(ot_onnx *m, const char *name, ot_onnx_tensor *dense,
                            const ot_onnx_sparse *sparse, optune_err *err)
{
    optune_err inner = {0};
    ot_onnx_value *value = NULL;
    int status = OPTUNE_OK;
    if (named_here(m, name))
        status = optune_fail(&inner, OPTUNE_EDAMAGED, "there are two of this name");
    else
        status = sparse ? ot_onnx_take_sparse(m, sparse, &value, &inner)
                        : ot_onnx_take(m, dense, &value, &inner);
    if (status == OPTUNE_EUNSUPPORTED && !ot_names_find(&m->at->used, name))
        return OPTUNE_OK; /* words that nothing reads, say */
    if (status == OPTUNE_EUNSUPPORTED && m->partial) {
        leave_out(m, "initializer", name, &inner);
        return OPTUNE_OK;
    }
    if (status < 0)
        return in_tensor(m, "initializer", name, status, &inner, err);
    ot_onnx_name(m, name, value);
    return OPTUNE_OK;
}

static int take_initializers(ot_onnx *m, optune_err *err)
{
    const ot_onnx_graph *g = m->at->graph;
    int status = OPTUNE_OK;
    for (size_t i = 0; i < g->n_initializer && status >= 0; i++)
        status = take_initializer(m, ot_onnx_text_of(g->initializer[i]->name),
                                  g->initializer[i], NULL, err);
    for (size_t i = 0; i < g->n_sparse_initializer && status >= 0; i++) {
        const ot_onnx_sparse *sparse =
            g->sparse_initializer[i]; /* its elements are called so */
        const char *name = sparse->values ? ot_onnx_text_of(sparse->values->name) : "";
        status = take_initializer(m, name, NULL, sparse, err);
    }
    return status;
}

/* An input that a binding names has its value once and for all. */
static int take_number(ot_onnx *m, const char *name, const optune_tensor *type, int64_t number,
                       optune_err *err)
{
    ot_onnx_value *value = NULL;
    const double as_double = (double)number;
    const int code = type->dtype.code;
    if ((code != OPTUNE_DTYPE_INT && code != OPTUNE_DTYPE_UINT) ||
        optune_tensor_elements(type) != 1)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "it is not one integer, which alone can be bound");
    const int status = ot_onnx_room(m, type, &value, err);
    if (status < 0)
        return status;
    ot_elements_set(type->dtype, value->data, 0, 1, &as_double);
    ot_onnx_name(m, name, value);
    return OPTUNE_OK;
}

static int take_input(ot_onnx *m, const ot_onnx_info *info, optune_err *err)
{
    const char *name = ot_onnx_text_of(info->name);
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !info->type->tensor_type->shape)
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "it is no tensor of a known rank");
    optune_tensor type = {0};
    int status = ot_onnx_dtype(info->type->tensor_type->elem_type, &type.dtype, err);
    if (status >= 0)
        status = ot_onnx_shape(m, info->type->tensor_type->shape, name, &type, err);
    if (status < 0)
        return status;
    const optune_binding *bound = ot_onnx_bound(m, name);
    if (bound)
        return take_number(m, name, &type, bound->value, err);
    ot_text text = {0};
    ot_tensor_print(&type, &text);
    ot_onnx_value *value = ot_onnx_new(m);
    status = value->node = optune_graph_variable(
        m->g, ot_graph_fresh_name(m->g, ot_onnx_stem(m, name)), ot_text_str(&text), err);
    ot_text_release(&text);
    if (status >= 0)
        ot_onnx_name(m, name, value);
    return status;
}

static int take_inputs(ot_onnx *m, optune_err *err)
{
    const ot_onnx_graph *g = m->model->graph;
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = ot_onnx_text_of(g->input[i]->name);
        const ot_onnx_value *there = ot_onnx_named(m, name);
        if (there && there->data) /* old files list initializers as inputs, too */
            continue;
        optune_err inner = {0};
        const int status =
            there ? optune_fail(&inner, OPTUNE_EDAMAGED, "there are two of this name")
                  : take_input(m, g->input[i], &inner);
        if (status == OPTUNE_EUNSUPPORTED && m->partial)
            leave_out(m, "input", name, &inner);
        else if (status < 0)
            return in_tensor(m, "input", name, status, &inner, err);
    }
    return OPTUNE_OK;
}

/* ---- nodes ------------------------------------------------------------------------------ */

static const ot_onnx_op *row_of(const char *name)
{
    for (const ot_onnx_family *const *family = ot_family_table; *family; family++)
        for (const ot_onnx_op *op = (*family)->ops; op->name; op++)
            if (!strcmp(op->name, name))
                return op;
    return NULL;
}

static bool own_domain(const char *domain)
{
    return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

/* What the innermost graph that has this name has it for. NULL: it is not there, and `*maker` is
 * to make it; or NULL: nobody does. */
static ot_onnx_value *find(const ot_onnx *m, const char *name, const ot_onnx_proto **maker)
{
    *maker = NULL;
    for (const ot_onnx_scope *at = m->at; at; at = at->outer) {
        const int *number = ot_names_find(&at->names, name);
        const int *node = ot_names_find(&at->makers, name);
        if (number)
            return (ot_onnx_value *)(uintptr_t)m->values.row[*number];
        if (node) {
            *maker = at->nodes.row[*node];
            break;
        }
    }
    return NULL;
}

/* Nodes are read behind those that make their inputs, but where they form a cycle, which may lead
 * through bodies. */
static int say_missing(const ot_onnx *m, const char *what, const char *name,
                       const ot_onnx_proto *maker, optune_err *err)
{
    return maker ? optune_fail(err, OPTUNE_EDAMAGED,
                               "%s '%.100s' is made by '%.60s', which depends on this node%s: "
                               "nodes form a cycle; export the model again",
                               what, name, ot_onnx_node_name(maker),
                               m->depth ? " or one around it" : "")
                 : optune_fail(err, OPTUNE_EDAMAGED,
                               "%s '%.100s' is missing: no initializer, no input of the model "
                               "and no node's output has this name",
                               what, name);
}

/* Whether all inputs are there: OK; 1: one was made by a node that failed; else a failure. */
static int check_inputs(const ot_onnx_node *n)
{
    bool failed = false;
    for (size_t i = 0; i < n->proto->n_input; i++) {
        const char *name = n->proto->input[i];
        const ot_onnx_proto *maker;
        const ot_onnx_value *value = *name ? find(n->m, name, &maker) : NULL;
        if (*name && !value)
            return say_missing(n->m, "input", name, maker, n->err);
        failed = failed || (value && value->failed);
    }
    return failed;
}

static int check_output(const ot_onnx_node *n, int i, ot_names *before)
{
    const char *name = n->proto->output[i];
    const int *twin = ot_names_find(before, name);
    if (twin)
        return optune_fail(n->err, OPTUNE_EDAMAGED, "its outputs %d and %d are both '%.100s'",
                           *twin + 1, i + 1, name);
    ot_names_add(before, name, i);
    if (!named_here(n->m, name))
        return OPTUNE_OK;
    const int *maker = ot_names_find(&n->m->at->makers, name);
    const bool other = maker && *maker != n->index;
    return optune_fail(n->err, OPTUNE_EDAMAGED, "its output '%.100s' exists already%s%.60s%s",
                       name, other ? ": '" : "",
                       other ? ot_onnx_node_name(ot_onnx_proto_at(n->m, *maker)) : "",
                       other ? "' makes it, too" : "");
}

static int check_outputs(const ot_onnx_node *n)
{
    ot_names before = {0};
    int status = OPTUNE_OK;
    if (!n->proto->n_output)
        return optune_fail(n->err, OPTUNE_EDAMAGED, "it has no output");
    for (size_t i = 0; i < n->proto->n_output && status >= 0; i++)
        if (*n->proto->output[i])
            status = check_output(n, (int)i, &before);
    ot_names_release(&before);
    return status;
}

/* The row of a node; NULL: its operator is not known. */
static const ot_onnx_op *row_of_node(const ot_onnx_node *n)
{
    const char *name = ot_onnx_text_of(n->proto->op_type), *domain = n->proto->domain;
    return row_of(own_domain(domain)
                      ? name
                      : ot_arena_printf(&n->m->arena, "%.60s::%.60s", domain, name));
}

/* Elements of 4 bits lie here as bytes, which few operators know. */
static bool reads_nibbles(const ot_onnx_op *op)
{
    return !strcmp(op->name, "DequantizeLinear") ||
           !strcmp(op->name, "com.microsoft::GatherBlockQuantized");
}

/* Sequences mean something to few, too. */
static int check_kinds(ot_onnx_node *n)
{
    for (size_t i = 0; i < n->proto->n_input; i++) {
        const ot_onnx_value *value = ot_onnx_in(n, (int)i);
        if (value && value->nibbles && !reads_nibbles(n->op))
            return ot_onnx_refuse(n, "elements of 4 bits, which DequantizeLinear and "
                                     "GatherBlockQuantized alone read");
        if (value && value->sequence && !ot_onnx_takes_sequences(n->op))
            return ot_onnx_refuse(n, "input %zu is a sequence", i + 1);
    }
    return OPTUNE_OK;
}

/* Of what nodes can do with integers only. */
static int settle_inputs(ot_onnx_node *n)
{
    int status = OPTUNE_OK;
    for (size_t i = 0; i < n->proto->n_input && status >= 0; i++)
        status = ot_onnx_settle(n->m, ot_onnx_in(n, (int)i), n->err);
    return status;
}

static void take_node(ot_onnx *m, int i);

/* Node i before those in front of it; its inputs must be there. */
static void read_ahead(ot_onnx *m, int i)
{
    take_node(m, i);
    m->at->done[i] = true;
}

static int make(ot_onnx_node *n)
{
    n->op = row_of_node(n);
    if (!n->op && !own_domain(n->proto->domain))
        return ot_onnx_refuse(
            n, "domain '%.60s' is not ONNX's own%s", n->proto->domain,
            strcmp(n->proto->domain, "com.microsoft.nchwc") != 0
                ? ""
                : ": its weights are laid out for one machine; save the model "
                  "with ORT_ENABLE_EXTENDED, not _ALL");
    if (!n->op)
        return ot_onnx_refuse(n, "this operator is not supported");
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (*ot_onnx_text_of(n->proto->attribute[i]->ref_attr_name))
            return ot_onnx_refuse(n, "its attribute '%.60s' is a function's, and it is in none",
                                  ot_onnx_text_of(n->proto->attribute[i]->name));
    int status = check_kinds(n);
    if (status >= 0 && ot_onnx_as_integers(n))
        return OPTUNE_OK;
    if (status >= 0)
        status = n->err->status < 0 ? n->err->status : settle_inputs(n);
    if (status < 0)
        return status;
    if (ot_onnx_has_sizes(n))
        return ot_onnx_make_sized(n);
    return ot_onnx_curve(n, read_ahead) ? OPTUNE_OK
           : n->err->status < 0         ? n->err->status
                                        : n->op->make(n);
}

/* The type that a file tells of a value, or NULL. */
static const ot_onnx_info *info_of(const ot_onnx *m, const char *name)
{
    const ot_onnx_graph *g = m->at->graph;
    for (size_t i = 0; i < g->n_value_info; i++)
        if (g->value_info[i]->name && !strcmp(g->value_info[i]->name, name))
            return g->value_info[i];
    return NULL;
}

/* What a node that is left out would give, as a variable, where its type is told and read. */
static bool cut(const ot_onnx_node *n, const char *name)
{
    optune_err why = {0};
    const ot_onnx_info *info = n->m->partial ? info_of(n->m, name) : NULL;
    return info && ot_names_find(&n->m->at->used, name) && take_input(n->m, info, &why) >= 0;
}

/* What no row gave a value: it failed, or nothing may read it. */
static void fail_outputs(const ot_onnx_node *n)
{
    for (size_t i = 0; i < n->proto->n_output; i++) {
        const char *name = n->proto->output[i];
        if (!*name || named_here(n->m, name) || cut(n, name))
            continue;
        ot_onnx_value *value = ot_onnx_new(n->m);
        value->failed = true;
        ot_onnx_name(n->m, name, value);
    }
}

/* Its one reader was read together with its maker. */
static bool read_already(const ot_onnx *m, const char *name)
{
    const ot_onnx_use use = m->at->use[*ot_names_find(&m->at->used, name)];
    return use.node >= 0 && m->at->done[use.node];
}

/* It cannot be read; what it would have read is there all the same for who takes a part. */
static void pass_over(ot_onnx_node *n)
{
    ot_onnx_note(n->m, n->proto, n->err);
    *n->err = (optune_err){0};
    if (n->m->partial)
        settle_inputs(n);
}

static void take_node(ot_onnx *m, int i)
{
    optune_err why = {0};
    ot_onnx_node n = {.m = m, .proto = ot_onnx_proto_at(m, i), .index = i, .err = &why};
    if (m->at->done[i])
        return;
    int status = check_outputs(&n);
    if (status >= 0)
        status = check_inputs(&n);
    if (status == 1 && row_of_node(&n)) {
        if (m->partial) {
            ot_onnx_refuse(&n, "it depends on what is left out");
            pass_over(&n);
        }
        fail_outputs(&n); /* the node before it is what is named */
        return;
    }
    if (status >= 0)
        status = make(&n);
    for (size_t k = 0; k < n.proto->n_output && status == OPTUNE_OK; k++)
        if (ot_onnx_wants(&n, (int)k) && !named_here(m, n.proto->output[k]) &&
            !read_already(m, n.proto->output[k]))
            status = ot_onnx_refuse(&n, "its output %zu is not supported", k + 1);
    if (status < 0)
        pass_over(&n);
    fail_outputs(&n);
}

static bool has_calls(const optune_graph *g)
{
    bool some = false;
    for (int i = 0; i < g->n; i++)
        some = some || g->node[i].kind == OT_NODE_CALL;
    return some;
}

static int take_nodes(ot_onnx *m, optune_err *err)
{
    for (int i = 0; i < m->at->nodes.n; i++)
        take_node(m, i);
    if (m->failures.n && m->partial && has_calls(m->g))
        m->g->left_out = ot_onnx_lines(m);
    return m->failures.n && !m->g->left_out ? ot_onnx_report(m, err) : OPTUNE_OK;
}

/* ---- what it gives ---------------------------------------------------------------------- */

/* Outputs are buffers of their own: what is given or known is copied into one. */
static int output_node(ot_onnx *m, ot_onnx_value *value, const char *name, optune_err *err)
{
    const char *stem = ot_onnx_stem(m, name);
    const int node = ot_onnx_put(m, value, stem, err);
    if (node < 0)
        return node;
    int output;
    const ot_node_kind kind = m->g->node[ot_graph_behind(m->g, node, &output)].kind;
    return kind == OT_NODE_CALL ? node
                                : optune_graph_call(m->g, ot_graph_fresh_name(m->g, stem),
                                                    "copy", &node, 1, NULL, err);
}

/* Calls that only what is left out would have read become outputs. */
static int take_ends(ot_onnx *m, optune_err *err)
{
    optune_graph *g = m->g;
    bool *used = ot_arena_alloc(&m->arena, (size_t)g->n + 1);
    int status = OPTUNE_OK;
    for (int i = 0; i < g->n; i++) {
        for (int k = 0; k < g->node[i].n_in; k++)
            used[g->node[i].in[k].node] = true;
        for (int k = 0; k < g->node[i].n_fields; k++)
            used[g->node[i].field[k]] = true;
    }
    for (int i = 0; i < g->n_outputs; i++)
        used[g->output[i]] = true;
    for (int i = 0; i < g->n && status >= 0; i++)
        if (g->node[i].kind == OT_NODE_CALL && !used[i])
            status = optune_graph_output(g, i, err);
    return status;
}

/* Whether an output of the model is something that is computed. */
static bool is_there(const ot_onnx *m, const ot_onnx_value *value)
{
    int output;
    return value && !value->failed && !value->data && value->node >= 0 &&
           m->g->node[ot_graph_behind(m->g, value->node, &output)].kind == OT_NODE_CALL;
}

static int take_outputs(ot_onnx *m, optune_err *err)
{
    const ot_onnx_graph *g = m->model->graph;
    if (!g->n_output)
        return optune_fail(err, OPTUNE_EDAMAGED, "%.200s: it has no output", m->path);
    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = ot_onnx_text_of(g->output[i]->name);
        ot_onnx_value *value = ot_onnx_named(m, name);
        int status = ot_onnx_settle(m, value, err);
        if (status < 0)
            return status;
        if (m->g->left_out && !is_there(m, value))
            continue;
        if (!value)
            return optune_fail(err, OPTUNE_EDAMAGED,
                               "%.200s: output '%.100s' is made by no node", m->path, name);
        status = output_node(m, value, name, err);
        if (status >= 0)
            status = optune_graph_output(m->g, status, err);
        if (status < 0)
            return status;
    }
    return m->g->left_out ? take_ends(m, err) : OPTUNE_OK;
}

/* ---- bodies of nodes -------------------------------------------------------------------- */

enum {
    MOST_BODIES = 32,         /* inside each other */
    MOST_IN_BODIES = 1 << 16, /* nodes and bodies in all, those that are read again each time */
};

static int take_body(ot_onnx_node *n, int n_in, ot_onnx_value *const *in, int n_out,
                     ot_onnx_value **out)
{
    ot_onnx *m = n->m;
    const ot_onnx_graph *body = m->at->graph;
    int status = ot_onnx_inline(m, n->err);
    if (status >= 0 && m->n_nodes + m->n_bodies > MOST_IN_BODIES)
        status = ot_onnx_refuse(n, "bodies that are read again and again pass %d nodes",
                                (int)MOST_IN_BODIES);
    if (status < 0)
        return status;
    ot_onnx_count_uses(m);
    status = take_initializers(m, n->err);
    for (int i = 0; i < n_in && status >= 0; i++) {
        const char *name = ot_onnx_text_of(body->input[i]->name);
        if (named_here(m, name))
            status = optune_fail(n->err, OPTUNE_EDAMAGED,
                                 "input '%.100s' of its body exists already", name);
        else
            ot_onnx_name(m, name, in[i]);
    }
    const int failures = m->failures.nodes;
    for (int i = 0; i < m->at->nodes.n && status >= 0; i++)
        take_node(m, i);
    if (status >= 0 && m->failures.nodes > failures)
        return 1;
    for (int i = 0; i < n_out && status >= 0; i++) {
        const char *name = ot_onnx_text_of(body->output[i]->name);
        const ot_onnx_proto *maker;
        out[i] = find(m, name, &maker);
        if (!out[i])
            status = say_missing(m, "its body's output", name, maker, n->err);
        else if (out[i]->failed)
            return 1;
        else
            status = ot_onnx_settle(m, out[i], n->err);
    }
    return status;
}

int ot_onnx_body(ot_onnx_node *n, const ot_onnx_graph *body, int n_in, ot_onnx_value *const *in,
                 int n_out, ot_onnx_value **out)
{
    ot_onnx *m = n->m;
    if ((int)body->n_input != n_in || (int)body->n_output < n_out)
        return optune_fail(n->err, OPTUNE_EDAMAGED,
                           "its body has %zu inputs and %zu outputs, not %d and %d",
                           body->n_input, body->n_output, n_in, n_out);
    if (m->depth == MOST_BODIES)
        return ot_onnx_refuse(n, "bodies lie more than %d deep", (int)MOST_BODIES);
    ot_onnx_scope scope = {.outer = m->at, .graph = body};
    m->at = &scope;
    m->depth++;
    m->n_bodies++;
    const int status = take_body(n, n_in, in, n_out, out);
    m->depth--;
    m->at = (ot_onnx_scope *)(uintptr_t)scope.outer;
    ot_onnx_leave(&scope);
    return status;
}

/* ---- the whole -------------------------------------------------------------------------- */

/* A model of nothing but other domains' operators, trees and tables, say, imports no opset of
 * ONNX's own: its nodes are refused, each by its name, where there are any. */
static bool is_of_other_domains(const ot_onnx *m)
{
    const ot_onnx_graph *graph = m->model->graph;
    bool others = m->model->n_opset_import > 0 && graph;
    for (size_t i = 0; others && i < m->model->n_opset_import; i++)
        others = !own_domain(m->model->opset_import[i]->domain);
    for (size_t i = 0; others && i < graph->n_node; i++)
        others = !own_domain(graph->node[i]->domain);
    return others;
}

static int check_opset(ot_onnx *m, optune_err *err)
{
    for (size_t i = 0; i < m->model->n_opset_import; i++)
        if (own_domain(m->model->opset_import[i]->domain))
            m->opset = m->model->opset_import[i]->version;
    if ((m->opset >= 1 && m->opset <= OT_ONNX_OPSET) || is_of_other_domains(m))
        return OPTUNE_OK;
    if (m->opset == 0)
        return optune_fail(err, OPTUNE_EVERSION,
                           "%.200s: it has nodes of ONNX's own operators and does not say of "
                           "which opset: an entry of opset_import is missing, export it again",
                           m->path);
    return optune_fail(err, OPTUNE_EVERSION,
                       "%.200s: its opset is %lld, and 1 to %d are known: export the model for "
                       "one of them",
                       m->path, (long long)m->opset, (int)OT_ONNX_OPSET);
}

static int import(ot_onnx *m, optune_err *err)
{
    int status = check_opset(m, err);
    if (status >= 0)
        status = ot_onnx_name_dims(m, err);
    if (status >= 0)
        status = ot_onnx_inline(m, err);
    if (status < 0)
        return status;
    ot_onnx_count_uses(m);
    status = take_initializers(m, err);
    if (status >= 0)
        status = take_inputs(m, err);
    if (status >= 0)
        status = take_nodes(m, err);
    if (status >= 0)
        status = take_outputs(m, err);
    return status < 0 ? status : optune_graph_infer(m->g, err);
}

static void release(ot_onnx *m)
{
    for (int i = 0; i < m->values.n; i++) {
        const ot_onnx_value *value = m->values.row[i];
        if (value->held)
            ot_backing_let_go(value->backing);
        if (!value->lent && value->backing)
            ot_backing_close(value->backing);
        else if (!value->lent)
            free(value->data);
    }
    for (int i = 0; i < m->files.n; i++)
        ot_onnx_file_close((ot_onnx_file *)(uintptr_t)m->files.row[i]);
    free(m->files.row);
    free(m->outside.row);
    ot_onnx_pieces_release(&m->pieces);
    free(m->values.row);
    ot_names_release(&m->dim_names);
    free(m->dims.row);
    ot_onnx_close(m->model);
    ot_arena_release(&m->arena);
}

int ot_onnx_read(const char *path, const optune_binding *bind, int n, bool partial,
                 optune_graph **graph, optune_err *err)
{
    ot_onnx m = {.path = path, .bind = bind, .n_bind = n, .partial = partial};
    *graph = NULL;
    int status = ot_onnx_open(path, &m.model, &m.pieces, err);
    if (status < 0) {
        ot_onnx_pieces_release(&m.pieces);
        return status;
    }
    ot_onnx_scope whole = {.graph = m.model->graph};
    m.at = &whole;
    m.g = ot_graph_new();
    status = import(&m, err);
    ot_onnx_leave(&whole);
    release(&m);
    if (status < 0)
        optune_graph_close(m.g);
    else
        *graph = m.g;
    return status < 0 ? status : OPTUNE_OK;
}
