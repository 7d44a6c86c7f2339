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

/* ---- failures --------------------------------------------------------------------------- */

/* Nodes of one operator with one reason are one line. */
typedef struct failure {
    const char *op, *reason, *node; /* node: the first */
    int count;
} failure;

typedef struct failures {
    int n, capacity, nodes;
    int status; /* of the first */
    failure *all;
} failures;

static const char *node_name(const ot_onnx_proto *proto)
{
    if (proto->name && *proto->name)
        return proto->name;
    return proto->n_output ? proto->output[0] : "without a name";
}

static void note(ot_onnx *m, failures *f, const ot_onnx_proto *proto, const optune_err *why)
{
    const char *op = proto->op_type ? proto->op_type : "";
    if (!f->nodes++)
        f->status = why->status;
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->all[i].op, op) && !strcmp(f->all[i].reason, why->text)) {
            f->all[i].count++;
            return;
        }
    if (f->n == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 16;
        failure *more = ot_arena_alloc(&m->arena, (size_t)f->capacity * sizeof *more);
        for (int i = 0; i < f->n; i++)
            more[i] = f->all[i];
        f->all = more;
    }
    f->all[f->n++] = (failure){op, ot_arena_copy(&m->arena, why->text), node_name(proto), 1};
}

static int report(const ot_onnx *m, const failures *f, optune_err *err)
{
    ot_text text = {0};
    ot_text_printf(&text, "%.200s: %d of %zu nodes cannot be read:", m->path, f->nodes,
                   m->model->graph->n_node);
    int told = 0;
    for (int i = 0; i < f->n && text.n < OPTUNE_ERR_SIZE - 200; i++) {
        const int room = (int)(OPTUNE_ERR_SIZE - text.n - 150) / (f->n == 1 ? 1 : 2);
        ot_text_printf(&text, "%s %.40s '%.60s'", told ? ";" : "", f->all[i].op,
                       f->all[i].node);
        if (f->all[i].count > 1)
            ot_text_printf(&text, " and %d more", f->all[i].count - 1);
        ot_text_printf(&text, ": %.*s", room, f->all[i].reason);
        told += f->all[i].count;
    }
    if (told < f->nodes)
        ot_text_printf(&text, "; and %d other nodes", f->nodes - told);
    const int status = optune_fail(err, f->status, "%s", ot_text_str(&text));
    ot_text_release(&text);
    return status;
}

static int in_tensor(const ot_onnx *m, const char *what, const char *name, int status,
                     const optune_err *why, optune_err *err)
{
    return optune_fail(err, status, "%.200s: %s '%.100s': %s", m->path, what, name, why->text);
}

/* ---- who reads and who makes ------------------------------------------------------------ */

static const char *text_or_none(const char *s)
{
    return s ? s : "";
}

static void want(ot_names *wanted, const char *name)
{
    if (*name && !ot_names_find(wanted, name))
        ot_names_add(wanted, name, 1);
}

static void count_use(ot_onnx *m, const char *name, int node, int *n)
{
    if (!*name)
        return;
    int *at = ot_names_find(&m->used, name);
    if (!at)
        at = ot_names_add(&m->used, name, (*n)++);
    m->use[*at].count++;
    m->use[*at].node = node;
}

/* Marks what nothing reads as done, so that exporters' left-overs are neither read nor readers. */
static void drop_unread(ot_onnx *m)
{
    const ot_onnx_graph *g = m->model->graph;
    ot_names wanted = {0};
    for (size_t i = 0; i < g->n_output; i++)
        want(&wanted, text_or_none(g->output[i]->name));
    for (size_t i = g->n_node; i-- > 0;) {
        const ot_onnx_proto *node = g->node[i];
        bool read = false;
        for (size_t k = 0; k < node->n_output; k++)
            read = read || ot_names_find(&wanted, node->output[k]);
        m->done[i] = !read && node->n_output;
        for (size_t k = 0; k < node->n_input && !m->done[i]; k++)
            want(&wanted, node->input[k]);
    }
    ot_names_release(&wanted);
}

static void count_uses(ot_onnx *m)
{
    const ot_onnx_graph *g = m->model->graph;
    size_t most = g->n_output;
    int n = 0;
    for (size_t i = 0; i < g->n_node; i++)
        most += g->node[i]->n_input;
    m->use = ot_arena_alloc(&m->arena, (most + 1) * sizeof *m->use);
    m->done = ot_arena_alloc(&m->arena, g->n_node + 1);
    drop_unread(m);
    for (size_t i = 0; i < g->n_node; i++) {
        const ot_onnx_proto *node = g->node[i];
        for (size_t k = 0; k < node->n_input && !m->done[i]; k++)
            count_use(m, node->input[k], (int)i, &n);
        for (size_t k = 0; k < node->n_output; k++)
            if (*node->output[k])
                ot_names_add(&m->makers, node->output[k], (int)i);
    }
    for (size_t i = 0; i < g->n_output; i++) /* an output is a reader without a number */
        count_use(m, text_or_none(g->output[i]->name), -1, &n);
}

/* ---- what the model is given ------------------------------------------------------------ */

static int take_initializers(ot_onnx *m, optune_err *err)
{
    const ot_onnx_graph *g = m->model->graph;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const char *name = text_or_none(g->initializer[i]->name);
        optune_err inner = {0};
        ot_onnx_value *value = NULL;
        int status = OPTUNE_OK;
        if (ot_onnx_named(m, name))
            status = optune_fail(&inner, OPTUNE_EDAMAGED, "there are two of this name");
        if (status >= 0)
            status = ot_onnx_take(m, g->initializer[i], &value, &inner);
        if (status < 0)
            return in_tensor(m, "initializer", name, status, &inner, err);
        ot_onnx_name(m, name, value);
    }
    if (g->n_sparse_initializer)
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "%.200s: it has sparse initializers",
                           m->path);
    return OPTUNE_OK;
}

static int take_input(ot_onnx *m, const ot_onnx_info *info, optune_err *err)
{
    const char *name = text_or_none(info->name);
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !info->type->tensor_type->shape)
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "it is no tensor of a known rank");
    optune_tensor type = {0};
    int status = ot_onnx_dtype(info->type->tensor_type->elem_type, &type.dtype, err);
    if (status >= 0)
        status = ot_onnx_shape(m, info->type->tensor_type->shape, name, &type, err);
    if (status < 0)
        return status;
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
        const char *name = text_or_none(g->input[i]->name);
        const ot_onnx_value *there = ot_onnx_named(m, name);
        if (there && there->data) /* old files list initializers as inputs, too */
            continue;
        optune_err inner = {0};
        const int status =
            there ? optune_fail(&inner, OPTUNE_EDAMAGED, "there are two of this name")
                  : take_input(m, g->input[i], &inner);
        if (status < 0)
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

/* Whether all inputs are there: OK; 1: one was made by a node that failed; else a failure. */
static int check_inputs(const ot_onnx_node *n)
{
    bool failed = false;
    for (size_t i = 0; i < n->proto->n_input; i++) {
        const char *name = n->proto->input[i];
        const ot_onnx_value *value = *name ? ot_onnx_named(n->m, name) : NULL;
        if (!*name || (value && !value->failed))
            continue;
        failed = true;
        const int *maker = ot_names_find(&n->m->makers, name);
        if (!value && maker)
            return optune_fail(
                n->err, OPTUNE_EDAMAGED,
                "input '%.100s' is made by a node further on, '%.60s': nodes form "
                "a cycle or are out of order; export the model again",
                name, node_name(n->m->model->graph->node[*maker]));
        if (!value)
            return optune_fail(
                n->err, OPTUNE_EDAMAGED,
                "input '%.100s' is missing: no initializer, no input of the model "
                "and no node's output has this name",
                name);
    }
    return failed;
}

static int check_outputs(const ot_onnx_node *n)
{
    if (!n->proto->n_output)
        return optune_fail(n->err, OPTUNE_EDAMAGED, "it has no output");
    for (size_t i = 0; i < n->proto->n_output; i++)
        if (*n->proto->output[i] && ot_onnx_named(n->m, n->proto->output[i]))
            return optune_fail(n->err, OPTUNE_EDAMAGED, "its output '%.100s' exists already",
                               n->proto->output[i]);
    return OPTUNE_OK;
}

static int make(ot_onnx_node *n)
{
    const char *name = text_or_none(n->proto->op_type);
    if (!own_domain(n->proto->domain))
        return ot_onnx_refuse(n, "domain '%.60s' is not ONNX's own", n->proto->domain);
    n->op = row_of(name);
    if (!n->op)
        return ot_onnx_refuse(n, "this operator is not supported");
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (n->proto->attribute[i]->ref_attr_name && *n->proto->attribute[i]->ref_attr_name)
            return ot_onnx_refuse(n, "attributes of functions are not supported");
    return n->op->make(n);
}

/* What no row gave a value: it failed, or nothing may read it. */
static void fail_outputs(const ot_onnx_node *n)
{
    for (size_t i = 0; i < n->proto->n_output; i++) {
        const char *name = n->proto->output[i];
        if (!*name || ot_onnx_named(n->m, name))
            continue;
        ot_onnx_value *value = ot_onnx_new(n->m);
        value->failed = true;
        ot_onnx_name(n->m, name, value);
    }
}

/* Its one reader was read together with its maker. */
static bool read_already(const ot_onnx *m, const char *name)
{
    const ot_onnx_use use = m->use[*ot_names_find(&m->used, name)];
    return use.node >= 0 && m->done[use.node];
}

static void take_node(ot_onnx *m, int i, failures *f)
{
    optune_err why = {0};
    ot_onnx_node n = {.m = m, .proto = m->model->graph->node[i], .index = i, .err = &why};
    if (m->done[i])
        return;
    int status = check_outputs(&n);
    if (status >= 0)
        status = check_inputs(&n);
    if (status == 1 && own_domain(n.proto->domain) && row_of(text_or_none(n.proto->op_type))) {
        fail_outputs(&n); /* the node before it is what is named */
        return;
    }
    if (status >= 0)
        status = make(&n);
    for (size_t k = 0; k < n.proto->n_output && status >= 0; k++)
        if (ot_onnx_wants(&n, (int)k) && !ot_onnx_named(m, n.proto->output[k]) &&
            !read_already(m, n.proto->output[k]))
            status = ot_onnx_refuse(&n, "its output %zu is not supported", k + 1);
    if (status < 0)
        note(m, f, n.proto, &why);
    fail_outputs(&n);
}

static int take_nodes(ot_onnx *m, optune_err *err)
{
    failures f = {0};
    for (size_t i = 0; i < m->model->graph->n_node; i++)
        take_node(m, (int)i, &f);
    return f.nodes ? report(m, &f, err) : OPTUNE_OK;
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

static int take_outputs(ot_onnx *m, optune_err *err)
{
    const ot_onnx_graph *g = m->model->graph;
    if (!g->n_output)
        return optune_fail(err, OPTUNE_EDAMAGED, "%.200s: it has no output", m->path);
    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = text_or_none(g->output[i]->name);
        ot_onnx_value *value = ot_onnx_named(m, name);
        if (!value)
            return optune_fail(err, OPTUNE_EDAMAGED,
                               "%.200s: output '%.100s' is made by no node", m->path, name);
        int status = output_node(m, value, name, err);
        if (status >= 0)
            status = optune_graph_output(m->g, status, err);
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

/* ---- the whole -------------------------------------------------------------------------- */

static int check_opset(ot_onnx *m, optune_err *err)
{
    for (size_t i = 0; i < m->model->n_opset_import; i++)
        if (own_domain(m->model->opset_import[i]->domain))
            m->opset = m->model->opset_import[i]->version;
    if (m->opset >= 1 && m->opset <= OT_ONNX_OPSET)
        return OPTUNE_OK;
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
    if (status < 0)
        return status;
    count_uses(m);
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
        if (!value->lent)
            free(value->data);
    }
    free(m->values.row);
    ot_names_release(&m->names);
    ot_names_release(&m->used);
    ot_names_release(&m->dim_names);
    free(m->dims.row);
    ot_names_release(&m->makers);
    ot_onnx_close(m->model);
    ot_arena_release(&m->arena);
}

int ot_onnx_read(const char *path, const optune_binding *bind, int n, optune_graph **graph,
                 optune_err *err)
{
    ot_onnx m = {.path = path, .bind = bind, .n_bind = n};
    *graph = NULL;
    int status = ot_onnx_open(path, &m.model, err);
    if (status < 0)
        return status;
    m.g = ot_graph_new();
    status = import(&m, err);
    release(&m);
    if (status < 0)
        optune_graph_close(m.g);
    else
        *graph = m.g;
    return status < 0 ? status : OPTUNE_OK;
}
