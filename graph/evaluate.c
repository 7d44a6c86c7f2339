/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph means: every call by its operator's reference, in double precision, each result
 * rounded to its dtype. Slow and exact as the references are; nothing is compiled. Shapes that
 * depend on values are settled on the way, by the operator's shape function.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/graph.h"

typedef struct held { /* one tensor */
    optune_tensor type;
    const void *data;
    void *own; /* to be freed; NULL: the caller's or the graph's */
    bool held; /* the graph's constant, until the values are freed */
} held;

struct optune_values {
    const optune_graph *g;
    held **node; /* by node, then by output */
    int n_outputs;
    ot_value *output;
};

void optune_values_free(optune_values *v)
{
    if (!v)
        return;
    for (int id = 0; id < v->g->n; id++) {
        if (v->node[id] && v->node[id][0].held)
            ot_graph_let_go(v->g, id);
        for (int o = 0; v->node[id] && o < v->g->node[id].n_out; o++)
            free(v->node[id][o].own);
        free(v->node[id]);
    }
    free(v->node);
    free(v->output);
    free(v);
}

const optune_tensor *optune_values_type(const optune_values *v, int i)
{
    if (!v)
        return NULL;
    return i < 0 || i >= v->n_outputs ? NULL
                                      : &v->node[v->output[i].node][v->output[i].output].type;
}

const void *optune_values_data(const optune_values *v, int i)
{
    if (!v)
        return NULL;
    return i < 0 || i >= v->n_outputs ? NULL
                                      : v->node[v->output[i].node][v->output[i].output].data;
}

/* ---- one node ---------------------------------------------------------------------------- */

static int fail(const optune_values *v, int id, int status, const char *reason, optune_err *err)
{
    return ot_graph_fail(v->g, id, -1, status, reason, err);
}

/* The type relation over concrete inputs is the shape function; where it leaves something open, the
 * operator's own sees the values. */
static int settle_types(const optune_values *v, int id, optune_call *call,
                        const void *const *in, optune_err *err)
{
    optune_err inner = {0};
    int status = ot_call_shape(call, in, &inner);
    for (int o = 0; o < call->n_outputs && status >= 0; o++)
        status = ot_graph_within(&v->g->node[id].out[o], &call->output[o], &inner);
    if (status < 0)
        return fail(v, id, status, inner.text, err);
    if (!call->op->reference)
        return fail(v, id, OPTUNE_EUNSUPPORTED,
                    "what is right of it is code, which only a run runs", err);
    return OPTUNE_OK;
}

static int compute(const optune_call *call, const void *const *in, int output, held *to,
                   optune_err *err)
{
    const optune_tensor *type = &call->output[output];
    const int64_t n = optune_tensor_elements(type);
    const size_t bytes = (size_t)(n + 1) * sizeof(double);
    void *own = ot_try_alloc((size_t)optune_tensor_bytes(type) + 1, "its output", err);
    if (!own)
        return OPTUNE_ENOMEM;
    *to = (held){.type = *type, .data = own, .own = own};
    if (ot_call_move(call, in, own))
        return OPTUNE_OK;
    double *value = ot_try_alloc(bytes, "its output", err);
    double *magnitude = value ? ot_try_alloc(bytes, "its output", err) : NULL;
    optune_region whole;
    if (!magnitude) {
        free(value);
        return OPTUNE_ENOMEM;
    }
    uint64_t *word = (void *)magnitude; /* one or the other */
    ot_region_whole(type, &whole);
    const bool exact = n > 0 && ot_whole_reference(call, in, output, &whole, word);
    if (exact)
        ot_whole_numbers(type->dtype, n, word, value);
    else if (n > 0)
        call->op->reference(call, in, output, &whole, value, magnitude);
    if (exact && ot_dtype_is_long(type->dtype))
        memcpy(own, word, (size_t)n * sizeof *word);
    else
        ot_elements_set(type->dtype, own, 0, n, value);
    free(value);
    free(magnitude);
    return OPTUNE_OK;
}

static int evaluate_call(optune_values *v, int id, optune_err *err)
{
    const ot_node *node = &v->g->node[id];
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    optune_call *call = ot_alloc(sizeof *call);
    ot_graph_call_of(v->g, id, call);
    for (int i = 0; i < node->n_in; i++) {
        const held *value = &v->node[node->in[i].node][node->in[i].output];
        call->input[i].type = value->type;
        in[i] = value->data;
    }
    int status = settle_types(v, id, call, in, err);
    for (int o = 0; status >= 0 && o < node->n_out; o++) {
        optune_err inner = {0};
        status = compute(call, in, o, &v->node[id][o], &inner);
        if (status < 0)
            fail(v, id, status, inner.text, err);
    }
    free(call);
    return status;
}

/* Both types, and the dims whose sizes are out of their bounds. */
static int say_misfit(const optune_values *v, int id, const optune_tensor *given,
                      optune_err *err)
{
    const optune_tensor *type = &v->g->node[id].out[0];
    ot_text text = {0};
    ot_graph_say_types(given, type, &text);
    for (int d = 0; d < type->rank && type->rank == given->rank; d++)
        ot_graph_say_bounds(given, type, d, &text);
    const int status = fail(v, id, OPTUNE_ETYPE, ot_text_str(&text), err);
    ot_text_release(&text);
    return status;
}

/* A variable's type: as the graph has it, or as the caller says, when that fits. */
static int take_input(optune_values *v, int id, const optune_tensor *given, const void *data,
                      optune_err *err)
{
    held *to = v->node[id];
    *to = (held){.type = v->g->node[id].out[0], .data = data};
    if (given) {
        optune_tensor type = *given;
        bool fits = optune_dtype_unify(&to->type.dtype, &type.dtype) &&
                    optune_tensor_set_rank(&to->type, type.rank);
        for (int d = 0; d < type.rank && fits; d++)
            fits = optune_dim_unify(&to->type.dim[d], &type.dim[d]);
        if (!fits)
            return say_misfit(v, id, given, err);
    }
    if (!optune_tensor_known(&to->type))
        return fail(v, id, OPTUNE_ETYPE, "its type is not known: bind its dims", err);
    return data ? OPTUNE_OK : fail(v, id, OPTUNE_EUSAGE, "it has no data", err);
}

static int take_constant(optune_values *v, int id, optune_err *err)
{
    const void *data = NULL;
    int status = ot_graph_hold(v->g, id, &data, err);
    if (status < 0)
        return status;
    status = take_input(v, id, NULL, data, err);
    v->node[id][0].held = true;
    return status;
}

int optune_graph_evaluate(const optune_graph *g, const void *const *inputs,
                          const optune_tensor *types, optune_values **values, optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"values", values});
    *values = NULL;
    optune_values *v = ot_alloc(sizeof *v);
    v->g = g;
    v->node = ot_alloc((size_t)(g->n + 1) * sizeof *v->node);
    v->n_outputs = ot_graph_output_values(g, NULL, 0);
    v->output = ot_alloc((size_t)(v->n_outputs + 1) * sizeof *v->output);
    ot_graph_output_values(g, v->output, v->n_outputs);
    int status = OPTUNE_OK, n_inputs = 0;
    for (int id = 0; id < g->n && status >= 0; id++) {
        const ot_node *node = &g->node[id];
        v->node[id] = ot_alloc((size_t)(node->n_out + 1) * sizeof **v->node);
        if (node->kind == OT_NODE_VAR) {
            status = take_input(v, id, types ? &types[n_inputs] : NULL,
                                inputs ? inputs[n_inputs] : NULL, err);
            n_inputs++;
        } else if (node->kind == OT_NODE_CONST) {
            status = take_constant(v, id, err);
        } else if (node->kind == OT_NODE_CALL) {
            status = evaluate_call(v, id, err);
        }
    }
    if (status < 0) {
        optune_values_free(v);
        return status;
    }
    *values = v;
    return OPTUNE_OK;
}
