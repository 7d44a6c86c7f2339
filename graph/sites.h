/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of a graph that can be computed as one call or as the operators that stand there:
 * attention that it spells out, 1x1 convolutions in front of depthwise ones.
 */
#ifndef OPTUNE_GRAPH_SITES_H
#define OPTUNE_GRAPH_SITES_H

#include "graph/attend.h"
#include "graph/chain.h"

typedef enum ot_site_kind { OT_SITE_ATTENTION, OT_SITE_CHAIN, OT_SITE_KINDS } ot_site_kind;

typedef struct ot_site {
    ot_site_kind kind;
    union {
        ot_attend attend;
        ot_chain chain;
    } as;
} ot_site;

/* All of them, each kind in order; free(). None where not all types of the graph are known
 * constants. */
int ot_graph_sites(const optune_graph *g, ot_site **sites);
/* The node that the call stands for. */
static inline int ot_site_root(const ot_site *site)
{
    return site->kind == OT_SITE_CHAIN ? site->as.chain.root : site->as.attend.root;
}
/* The call that would be made of it, settled. */
int ot_site_call(const optune_graph *g, const ot_site *site, optune_call *call,
                 optune_err *err);
/* Equal to `g`, whose types are inferred, with these sites as calls. What only they needed is left
 * out. */
int ot_graph_as_calls(const optune_graph *g, const ot_site *sites, int n, ot_relaid *to,
                      optune_err *err);

#endif
