/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse mode over a graph. The graph is copied and goes on growing: walking its calls backwards,
 * each operator's rule adds nodes that compute what its inputs receive from what its outputs
 * have. Nothing here knows an operator but add, ones_like, zeros_like and collapse_sum_like.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/graph.h"

struct optune_grad {
    optune_graph *g;
    int n;          /* nodes of the graph itself; those behind are gradients */
    int **adjoint;  /* by node of the graph, by output: the node of the sum so far, or -1 */
    bool *needed;   /* by node: some adjoint that is asked for depends on its own */
    int node;       /* whose rule runs */
    int status;     /* the first failure */
    optune_err err; /* and its text */
};

/* ---- what rules use ---------------------------------------------------------------------- */

static int note(optune_grad *grad, int status, const char *text)
{
    if (grad->status >= 0) {
        grad->status = status;
        optune_fail(&grad->err, status, "%s", text);
    }
    return -1;
}

/* The node that stands for a value; a field of a call is made a node. */
static int node_of(optune_grad *grad, ot_value value)
{
    if (grad->g->node[value.node].n_out == 1)
        return value.node;
    optune_err inner = {0};
    const int id = optune_graph_get(grad->g, NULL, value.node, value.output, &inner);
    return id < 0 ? note(grad, id, inner.text) : id;
}

int optune_grad_input(optune_grad *grad, int i)
{
    if (i < 0 || i >= grad->g->node[grad->node].n_in)
        return note(grad, OPTUNE_EUSAGE, "the rule asks for an input that the call has not");
    return node_of(grad, grad->g->node[grad->node].in[i]);
}

int optune_grad_output(optune_grad *grad, int i)
{
    if (i < 0 || i >= grad->g->node[grad->node].n_out)
        return note(grad, OPTUNE_EUSAGE, "the rule asks for an output that the call has not");
    return node_of(grad, (ot_value){grad->node, i});
}

int optune_grad_adjoint(optune_grad *grad, int i)
{
    if (i < 0 || i >= grad->g->node[grad->node].n_out)
        return note(grad, OPTUNE_EUSAGE, "the rule asks for an output that the call has not");
    int *adjoint = &grad->adjoint[grad->node][i];
    if (*adjoint < 0)
        *adjoint = optune_grad_unary(grad, "zeros_like", optune_grad_output(grad, i));
    return *adjoint;
}

int optune_grad_call(optune_grad *grad, const char *op, int n, const int *inputs,
                     const char *format, ...)
{
    char attrs[OPTUNE_TEXT_SIZE] = "";
    if (format) {
        va_list list;
        va_start(list, format);
        const int length = ot_format_list(attrs, sizeof attrs, format, list);
        va_end(list);
        if (length < 0 || (size_t)length >= sizeof attrs)
            return note(grad, OPTUNE_ELIMIT, "attributes of a gradient are too long");
    }
    for (int i = 0; i < n; i++)
        if (inputs[i] < 0)
            return -1;
    optune_err inner = {0};
    int id = optune_graph_call(grad->g, NULL, op, inputs, n, attrs, &inner);
    if (id >= 0) {
        const int status = ot_graph_infer_call(grad->g, id, &inner);
        id = status < 0 ? status : id;
    }
    return id < 0 ? note(grad, id, inner.text) : id;
}

/* `name=` begins an attribute of the list. */
static bool given(const char *attrs, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = attrs; (at = strstr(at, name)); at++)
        if (at[n] == '=' && (at == attrs || at[-1] == ' ' || at[-1] == ','))
            return true;
    return false;
}

/* A word that the other operator does not know, a layout of kernels, stays at its default there. */
static void add_attr(const optune_op_attr *row, const optune_attr *attr, ot_text *to)
{
    ot_text text = {0};
    optune_attr taken;
    ot_attr_print(attr, &text);
    const char *value = strchr(ot_text_str(&text), '=') + 1;
    if (ot_attr_parse(row, value, &taken, NULL) >= 0) {
        ot_text_add(to, to->n ? ", " : "");
        ot_text_add(to, ot_text_str(&text));
    }
    ot_text_release(&text);
}

int optune_grad_same(optune_grad *grad, const char *op, int n, const int *inputs,
                     const char *format, ...)
{
    char own[OPTUNE_TEXT_SIZE] = "";
    if (format) {
        va_list list;
        va_start(list, format);
        ot_format_list(own, sizeof own, format, list);
        va_end(list);
    }
    ot_text attrs = {0};
    ot_text_add(&attrs, own);
    const optune_op *other = ot_op_find(op);
    const optune_call *call = grad->g->node[grad->node].call;
    for (int i = 0; i < call->n_attrs; i++) {
        const char *name = call->attr[i].name;
        for (int k = 0; other && k < ot_op_attr_count(other); k++)
            if (!strcmp(name, ot_op_attr_at(other, k)->name) && !given(own, name))
                add_attr(ot_op_attr_at(other, k), &call->attr[i], &attrs);
    }
    const int id = optune_grad_call(grad, op, n, inputs, "%s", ot_text_str(&attrs));
    ot_text_release(&attrs);
    return id;
}

int optune_grad_unary(optune_grad *grad, const char *op, int a)
{
    return optune_grad_call(grad, op, 1, &a, NULL);
}

int optune_grad_binary(optune_grad *grad, const char *op, int a, int b)
{
    return optune_grad_call(grad, op, 2, (const int[]){a, b}, NULL);
}

int optune_grad_get(optune_grad *grad, int value, int i)
{
    return value < 0 ? value : node_of(grad, (ot_value){value, i});
}

const optune_tensor *optune_grad_type(const optune_grad *grad, int value)
{
    static const optune_tensor unknown = {.rank = -1};
    const optune_tensor *type = value < 0 ? NULL : optune_graph_type(grad->g, value);
    return type ? type : &unknown;
}

int optune_grad_scalar(optune_grad *grad, int like, double number)
{
    const optune_dtype dtype = optune_grad_type(grad, like)->dtype;
    char name[OPTUNE_WORD_SIZE], type[OPTUNE_WORD_SIZE + 2];
    char data[16] = {0};
    optune_err inner = {0};
    if (like < 0)
        return like;
    ot_print_dtype(dtype, name, sizeof name);
    snprintf(type, sizeof type, "%s[]", name);
    ot_elements_set(dtype, data, 0, 1, &number);
    const int id = optune_graph_constant(grad->g, NULL, type, data, &inner);
    return id < 0 ? note(grad, id, inner.text) : id;
}

static bool same_shape(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->dim[d].min == b->dim[d].min && a->dim[d].max == b->dim[d].max &&
               (optune_dim_known(&a->dim[d]) ||
                (a->dim[d].name[0] && !strcmp(a->dim[d].name, b->dim[d].name)));
    return same;
}

int optune_grad_reshape(optune_grad *grad, int value, const optune_tensor *shape)
{
    if (value < 0 || same_shape(optune_grad_type(grad, value), shape))
        return value;
    ot_text dims = {0};
    for (int d = 0; d < shape->rank; d++) {
        if (!optune_dim_known(&shape->dim[d]))
            return note(grad, OPTUNE_ETYPE, "this gradient needs constant dims");
        ot_text_printf(&dims, "%s%lld", d ? "," : "", (long long)shape->dim[d].min);
    }
    const int id =
        optune_grad_call(grad, "reshape", 1, &value, "newshape=[%s]", ot_text_str(&dims));
    ot_text_release(&dims);
    return id;
}

bool optune_grad_wants(const optune_grad *grad, int i)
{
    const ot_node *node = &grad->g->node[grad->node];
    return i >= 0 && i < node->n_in && grad->needed[node->in[i].node];
}

/* One may be left out of a call; what its operator has not is a slip. */
static bool has_input(const ot_node *node, int i)
{
    int n = 0;
    for (const optune_op_input *in = node->call->op->inputs; in && in->name; in++)
        n++;
    return i >= 0 && (i < n || i < node->n_in);
}

void optune_grad_add(optune_grad *grad, int i, int value)
{
    if (value >= 0 && !has_input(&grad->g->node[grad->node], i))
        note(grad, OPTUNE_EUSAGE, "the rule adds to an input that the operator has not");
    if (value < 0 || !optune_grad_wants(grad, i))
        return;
    const ot_value to = grad->g->node[grad->node].in[i];
    const int input = optune_grad_input(grad, i);
    if (input < 0)
        return;
    if (!same_shape(optune_grad_type(grad, value), ot_graph_type_of(grad->g, to)))
        value = optune_grad_binary(grad, "collapse_sum_like", value, input);
    int *adjoint = &grad->adjoint[to.node][to.output];
    *adjoint = *adjoint < 0 ? value : optune_grad_binary(grad, "add", *adjoint, value);
}

/* ---- the walk ---------------------------------------------------------------------------- */

static bool is_float(const optune_tensor *type)
{
    return type->dtype.code == OPTUNE_DTYPE_FLOAT || type->dtype.code == OPTUNE_DTYPE_BFLOAT;
}

/* Forwards: what depends on a node that is asked for. */
static void find_needed(optune_grad *grad, const int *wrt, int n)
{
    const optune_graph *g = grad->g;
    for (int i = 0; i < n; i++)
        grad->needed[wrt[i]] = true;
    for (int id = 0; id < grad->n; id++)
        for (int i = 0; i < g->node[id].n_in; i++)
            if (grad->needed[g->node[id].in[i].node] &&
                is_float(ot_graph_type_of(g, g->node[id].in[i])))
                grad->needed[id] = true;
}

/* The adjoint of every output of the whole is ones; one that is given twice counts twice. */
static void seed(optune_grad *grad)
{
    const int n = ot_graph_output_values(grad->g, NULL, 0);
    ot_value *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    ot_graph_output_values(grad->g, value, n);
    for (int i = 0; i < n; i++) {
        int *adjoint = &grad->adjoint[value[i].node][value[i].output];
        if (!grad->needed[value[i].node] || !is_float(ot_graph_type_of(grad->g, value[i])))
            continue;
        const int ones = optune_grad_unary(grad, "ones_like", node_of(grad, value[i]));
        *adjoint = *adjoint < 0 ? ones : optune_grad_binary(grad, "add", *adjoint, ones);
    }
    free(value);
}

static bool has_adjoint(const optune_grad *grad, int id)
{
    for (int o = 0; o < grad->g->node[id].n_out; o++)
        if (grad->adjoint[id][o] >= 0)
            return true;
    return false;
}

static bool wants_any(optune_grad *grad, int id)
{
    grad->node = id;
    for (int i = 0; i < grad->g->node[id].n_in; i++)
        if (optune_grad_wants(grad, i))
            return true;
    return false;
}

static int run_rule(optune_grad *grad, int id, optune_err *err)
{
    const optune_op *op = grad->g->node[id].call->op;
    if (!op->gradient) {
        char text[OPTUNE_WHY_SIZE];
        snprintf(text, sizeof text, "operator '%s' has no gradient rule", op->name);
        return ot_graph_fail(grad->g, id, -1, OPTUNE_EUNSUPPORTED, text, err);
    }
    optune_call *call = ot_alloc(sizeof *call);
    ot_graph_call_of(grad->g, id, call);
    grad->node = id;
    optune_err inner = {0};
    int status = op->gradient(grad, call, &inner);
    if (status >= 0 && grad->status < 0) {
        status = grad->status;
        inner = grad->err;
    }
    free(call);
    if (status >= 0)
        return OPTUNE_OK;
    char text[OPTUNE_ERR_SIZE];
    snprintf(text, sizeof text, "the gradient of '%s': %.800s", op->name,
             *inner.text ? inner.text : "its rule does not say why it fails");
    return ot_graph_fail(grad->g, id, -1, status, text, err);
}

/* What nothing reaches has a gradient of zeros. */
static int give(optune_grad *grad, const int *wrt, int n, optune_err *err)
{
    for (int i = 0; i < n; i++) {
        grad->node = wrt[i];
        const int id = optune_grad_adjoint(grad, 0);
        if (id < 0) {
            optune_fail(err, grad->status, "%s", grad->err.text);
            return grad->status;
        }
        const int status = optune_graph_output(grad->g, id, err);
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

static int start(optune_grad *grad, const int *wrt, int n, optune_err *err)
{
    const optune_graph *g = grad->g;
    for (int i = 0; i < n; i++) {
        const optune_tensor *type = optune_graph_type(g, wrt[i]);
        if (wrt[i] < 0 || wrt[i] >= g->n || !type || g->node[wrt[i]].n_out != 1)
            return optune_fail(err, OPTUNE_EUSAGE, "no gradient for node %d: it is no tensor",
                               wrt[i]);
        if (!is_float(type))
            return ot_graph_fail(g, wrt[i], -1, OPTUNE_ETYPE,
                                 "no gradient for what is not of a floating type", err);
    }
    grad->adjoint = ot_alloc((size_t)(grad->n + 1) * sizeof *grad->adjoint);
    grad->needed = ot_alloc((size_t)(grad->n + 1) * sizeof *grad->needed);
    for (int id = 0; id < grad->n; id++) {
        grad->adjoint[id] = ot_alloc((size_t)(g->node[id].n_out + 1) * sizeof(int));
        for (int o = 0; o < g->node[id].n_out; o++)
            grad->adjoint[id][o] = -1;
    }
    find_needed(grad, wrt, n);
    seed(grad);
    if (grad->status < 0)
        return optune_fail(err, grad->status, "%s", grad->err.text);
    return OPTUNE_OK;
}

static int all_leaves(const optune_graph *g, int *wrt)
{
    int n = 0;
    for (int id = 0; id < g->n; id++)
        if ((g->node[id].kind == OT_NODE_VAR || g->node[id].kind == OT_NODE_CONST) &&
            is_float(&g->node[id].out[0]))
            wrt[n++] = id;
    return n;
}

int optune_graph_gradient(const optune_graph *graph, const int *wrt, int n,
                          optune_graph **gradient, optune_err *err)
{
    OT_ENTER(err, {"graph", graph}, {"gradient", gradient});
    *gradient = NULL;
    if (wrt && (n < 0 || n > OT_GRAPH_OUTPUTS))
        return optune_fail(err, OPTUNE_EUSAGE, "%d is no number of nodes", n);
    optune_grad grad = {.g = ot_graph_copy(graph, false, err), .n = graph->n};
    if (!grad.g) /* elements that nobody reads here are shared, not read */
        return OPTUNE_EDAMAGED;
    int *leaves = ot_alloc((size_t)(graph->n + 1) * sizeof *leaves);
    int status = optune_graph_infer(grad.g, err);
    if (status >= 0 && !wrt) {
        n = all_leaves(grad.g, leaves);
        wrt = leaves;
    }
    if (status >= 0)
        status = start(&grad, wrt, n, err);
    for (int id = grad.n - 1; id >= 0 && status >= 0; id--)
        if (grad.g->node[id].kind == OT_NODE_CALL && has_adjoint(&grad, id) &&
            wants_any(&grad, id))
            status = run_rule(&grad, id, err);
    if (status >= 0)
        status = give(&grad, wrt, n, err);
    if (status >= 0)
        status = optune_graph_infer(grad.g, err);
    for (int id = 0; id < grad.n && grad.adjoint; id++)
        free(grad.adjoint[id]);
    free(grad.adjoint);
    free(grad.needed);
    free(leaves);
    if (status < 0) {
        optune_graph_close(grad.g);
        return status;
    }
    *gradient = grad.g;
    return OPTUNE_OK;
}
