/* SPDX-License-Identifier: Apache-2.0 */
/* What graph/look.h declares. */
#include <stdlib.h>
#include <string.h>

#include "graph/look.h"

bool ot_node_is(const ot_node *node, const char *op)
{
    return node->kind == OT_NODE_CALL && node->n_out == 1 && !strcmp(node->call->op->name, op);
}

bool ot_graph_number(const optune_graph *g, ot_value value, double *number)
{
    const optune_tensor *type = ot_graph_type_of(g, value);
    const void *data = NULL;
    if (!ot_value_constant(g, value) || optune_tensor_elements(type) != 1 ||
        ot_graph_hold(g, value.node, &data, NULL) < 0)
        return false;
    if (data)
        ot_elements(type->dtype, data, 0, 1, number);
    ot_graph_let_go(g, value.node);
    return data != NULL;
}

int *ot_graph_uses(const optune_graph *g)
{
    int *uses = ot_alloc((size_t)(g->n + 1) * sizeof *uses);
    for (int id = 0; id < g->n; id++)
        for (int i = 0; i < g->node[id].n_in; i++)
            uses[g->node[id].in[i].node]++;
    const int n = ot_graph_output_values(g, NULL, 0);
    ot_value *out = ot_alloc((size_t)(n + 1) * sizeof *out);
    ot_graph_output_values(g, out, n);
    for (int i = 0; i < n; i++)
        uses[out[i].node] += 2;
    free(out);
    return uses;
}

bool ot_graph_all_known(const optune_graph *g)
{
    bool known = true;
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out && g->node[id].out; o++)
            known = known && optune_tensor_known(&g->node[id].out[o]);
    return known;
}
