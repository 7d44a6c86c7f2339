/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up elements for a graph's variables. */
#include "answer/graph.h"

void ot_graph_fill_variable(const optune_graph *g, int i, const optune_tensor *type,
                            uint64_t seed, void *to)
{
    const int id = optune_graph_input_node(g, i);
    for (int n = 0; n < g->n; n++)
        for (int k = 0; k < g->node[n].n_in && g->node[n].kind == OT_NODE_CALL; k++)
            if (g->node[n].in[k].node == id) {
                optune_call *call = ot_alloc(sizeof *call);
                double low, high;
                ot_graph_call_of(g, n, call);
                call->input[k].type = *type;
                const bool ranged = ot_input_range(call, k, &low, &high);
                if (ranged)
                    ot_fill_call_input(call, seed, k, to);
                free(call);
                if (ranged)
                    return;
            }
    ot_fill_input(type, seed, i, to);
}

int ot_program_fill_inputs(const optune_program *p, uint64_t seed, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    int status = OPTUNE_OK, n = 0;
    for (int id = 0; id < g->n && status >= 0; id++) {
        if (g->node[id].kind != OT_NODE_VAR)
            continue;
        const ot_value value = {id, 0};
        void *data =
            ot_try_alloc((size_t)ot_program_bytes(p, value) + 1, "an input of the graph", err);
        if (!data)
            return OPTUNE_ENOMEM;
        ot_graph_fill_variable(g, n++, &p->type[id][0], seed, data);
        status = p->machine.row->write(p->machine.state, ot_program_buffer(p, value), data,
                                       ot_program_bytes(p, value));
        free(data);
    }
    return status;
}
