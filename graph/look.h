/* SPDX-License-Identifier: Apache-2.0 */
/* What those look at who find places of a graph again: calls, numbers, who reads what. */
#ifndef OPTUNE_GRAPH_LOOK_H
#define OPTUNE_GRAPH_LOOK_H

#include "graph/graph.h"

bool ot_node_is(const ot_node *node, const char *op); /* a call of it with one output */
/* A constant's only element. */
bool ot_graph_number(const optune_graph *g, ot_value value, double *number);
/* How often each node is used; what is an output must exist. free(). */
int *ot_graph_uses(const optune_graph *g);
bool ot_graph_all_known(const optune_graph *g);

#endif
