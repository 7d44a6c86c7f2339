/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes to values: what a node stands for once tuples, and what is taken out of them, are
 * followed to the nodes that make something.
 */
#include "graph/graph.h"

int ot_graph_behind(const optune_graph *g, int id, int *output)
{
    const ot_node *at = &g->node[id];
    *output = at->kind == OT_NODE_GET ? at->behind_output : -1;
    return at->kind == OT_NODE_GET ? at->behind : id;
}

int ot_graph_tensors(const optune_graph *g, int node, ot_value *value, int most)
{
    int output;
    const int id = ot_graph_behind(g, node, &output);
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
    const int id = ot_graph_behind(g, node, &output);
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

ot_text_spot ot_graph_place(const optune_graph *g, int node, int argument)
{
    const ot_node *at = &g->node[node];
    return argument >= 0 && argument < at->n_in && at->in_place ? at->in_place[argument]
                                                                : at->place;
}
