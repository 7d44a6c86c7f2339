/* SPDX-License-Identifier: Apache-2.0 */
/* What an open program holds in memory, by what it is for. */
#include "answer/graph.h"

static bool is_shared(const ot_shared *shared, const void *buffer)
{
    for (int k = 0; k < shared->n; k++)
        if (shared->buffer[k] == buffer)
            return true;
    return false;
}

/* What was packed counts for whom it was packed. */
static void add_kernel(const optune_program *p, const ot_kernel *k, ot_program_figures *f)
{
    if (!k->bound)
        return;
    const optune_plan *plan = &k->bound->loaded->plan;
    for (int i = 0; i < plan->n_scratch; i++)
        if (plan->scratch[i].constant)
            f->packed += k->session->packed ? 0 : plan->scratch[i].bytes;
        else if (!is_shared(&p->machine.scratch, k->bound->scratch[i]))
            f->scratch += plan->scratch[i].bytes;
}

ot_program_figures ot_program_figures_of(const optune_program *p)
{
    const optune_graph *g = p->partition->graph;
    const ot_places *places = &p->partition->places;
    ot_program_figures f = {.arena = p->arena, .over = p->n_over};
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_CONST)
            f.constants += optune_tensor_bytes(&g->node[id].out[0]);
    for (int h = 0; h < places->n; h++) {
        const ot_home *home = &places->home[h];
        if (home->leaf < 0 || !p->home[h])
            continue;
        if (g->node[home->leaf].kind == OT_NODE_VAR)
            f.inputs += home->bytes;
        else if (!p->origin)
            f.kept += home->bytes;
    }
    for (int k = 0; k < p->machine.scratch.n; k++)
        f.scratch += p->machine.scratch.bytes[k];
    for (int i = 0; i < p->partition->groups.n; i++) {
        add_kernel(p, &p->kernel[i], &f);
        for (int k = 0; k < p->rows[i].n; k++)
            add_kernel(p, &p->rows[i].kernel[k], &f);
    }
    return f;
}
