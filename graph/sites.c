/* SPDX-License-Identifier: Apache-2.0 */
/* Sites of both kinds; how they are found and written is in attend.c, chain.c, attend_write.c. */
#include <stdlib.h>

#include "graph/look.h"
#include "graph/sites.h"

int ot_site_call(const optune_graph *g, const ot_site *site, optune_call *call, optune_err *err)
{
    return site->kind == OT_SITE_CHAIN ? ot_chain_call(g, &site->as.chain, call, err)
                                       : ot_attend_call(&site->as.attend, call, err);
}

int ot_graph_sites(const optune_graph *g, ot_site **sites)
{
    ot_attend *attend = NULL;
    const int attends = ot_graph_attends(g, &attend);
    int room = attends, n = 0;
    for (int id = 0; id < g->n; id++)
        room += ot_node_is(&g->node[id], "conv2d");
    *sites = room ? ot_alloc((size_t)room * sizeof **sites) : NULL;
    for (; n < attends; n++)
        (*sites)[n] = (ot_site){OT_SITE_ATTENTION, {.attend = attend[n]}};
    free(attend);
    if (room == attends || !ot_graph_all_known(g))
        return n;
    int *uses = ot_graph_uses(g);
    for (int id = 0; id < g->n; id++) {
        ot_chain chain;
        if (ot_is_chain(g, uses, id, &chain))
            (*sites)[n++] = (ot_site){OT_SITE_CHAIN, {.chain = chain}};
    }
    free(uses);
    return n;
}
