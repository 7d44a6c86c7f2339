/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 1x1 convolution whose value, with a bias and an activation, only a depthwise one reads, found
 * in a graph and written as one call. Whether it is to be one is the caller's to say.
 */
#ifndef OPTUNE_GRAPH_CHAIN_H
#define OPTUNE_GRAPH_CHAIN_H

#include "graph/rebuild.h"

typedef struct ot_chain {
    int root; /* the depthwise convolution */
    ot_value data, pointwise, depthwise, bias;
    bool has_bias;
    const char *between; /* the word of its attribute */
    double bytes;        /* of the value in between */
} ot_chain;

/* Whether the node is the end of one; `uses` as ot_graph_uses has them. */
bool ot_is_chain(const optune_graph *g, const int *uses, int root, ot_chain *chain);
/* The call that would be made of it, settled. */
int ot_chain_call(const optune_graph *g, const ot_chain *chain, optune_call *call,
                  optune_err *err);
/* Makes the call in place of the root; its node or a negative status. */
int ot_chain_write(ot_rebuild *make, const ot_chain *chain);

#endif
