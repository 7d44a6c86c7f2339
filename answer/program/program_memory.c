/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the values of a program live, by the partition's places. A home with a variable or a
 * constant has a buffer of its own. All others lie in one arena, as their lifetimes and what
 * computes them allow, where kernels run in this process's memory; elsewhere each takes a buffer
 * whose last user has run, if one fits. So memory grows with what is alive at once and stays in
 * the caches.
 */
#include "answer/graph.h"
#include "answer/program/lifetimes.h"

typedef struct pool {
    optune_program *p;
    int n;
    struct slot {
        void *buffer;
        int64_t bytes;
        int home; /* who has it */
    } * slot;     /* what may be shared */
} pool;

void *ot_program_buffer(const optune_program *p, ot_value value)
{
    return p->buffer[value.node][value.output];
}

int64_t ot_program_bytes(const optune_program *p, ot_value value)
{
    return optune_tensor_bytes(&p->type[value.node][value.output]);
}

static void keep(optune_program *p, void *buffer)
{
    void **own = ot_alloc((size_t)(p->n_own + 1) * sizeof *own);
    for (int i = 0; i < p->n_own; i++)
        own[i] = p->own[i];
    own[p->n_own++] = buffer;
    free(p->own);
    p->own = own;
}

static void let_go(optune_program *p, void *buffer)
{
    int n = 0;
    for (int i = 0; i < p->n_own; i++)
        if (p->own[i] != buffer)
            p->own[n++] = p->own[i];
    p->n_own = n;
    p->machine.row->free(p->machine.state, buffer);
}

static int make(optune_program *p, int64_t bytes, void **buffer, optune_err *err)
{
    const int status = p->machine.row->alloc(p->machine.state, bytes, false, buffer, err);
    if (status >= 0)
        keep(p, *buffer);
    return status;
}

/* The smallest free one that is large enough and at most twice as large as needed. */
static struct slot *find_free(pool *of, const ot_home *home)
{
    const ot_home *homes = of->p->partition->places.home;
    struct slot *best = NULL;
    for (int i = 0; i < of->n; i++) {
        struct slot *slot = &of->slot[i];
        if (homes[slot->home].last < home->first && slot->bytes >= home->bytes &&
            slot->bytes <= 2 * home->bytes && (!best || slot->bytes < best->bytes))
            best = slot;
    }
    return best;
}

static int take(pool *of, int number, optune_err *err)
{
    optune_program *p = of->p;
    const ot_home *home = &p->partition->places.home[number];
    void **buffer = &p->home[number];
    struct slot *slot = find_free(of, home);
    if (slot) {
        *buffer = slot->buffer;
        slot->home = number;
        return OPTUNE_OK;
    }
    const int status = make(p, home->bytes, buffer, err);
    if (status < 0)
        return status;
    p->arena += home->bytes;
    of->slot[of->n++] = (struct slot){*buffer, home->bytes, number};
    return OPTUNE_OK;
}

/* Where kernels run in this process's memory, elements that the graph can have again are used where
 * they are: held until nobody needs them, never copied. */
static bool uses_in_place(const optune_program *p, int number)
{
    const ot_home *home = &p->partition->places.home[number];
    return p->machine.row->alias && p->machine.row->address && home->leaf >= 0 &&
           p->partition->graph->node[home->leaf].backing;
}

/* The home and every part of it. */
static int point_at(optune_program *p, int number, void *data)
{
    const optune_graph *g = p->partition->graph;
    const optune_target_worker *row = p->machine.row;
    int status = row->alias(p->machine.state, &p->home[number], data);
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out && status >= 0; o++) {
            const ot_located at = ot_places_at(&p->partition->places, (ot_value){id, o});
            if (at.home == number && at.offset > 0 && p->buffer[id][o])
                status =
                    row->alias(p->machine.state, &p->buffer[id][o], (char *)data + at.offset);
        }
    return status;
}

static int hold_leaf(optune_program *p, int number, optune_err *err)
{
    const ot_node *node = &p->partition->graph->node[p->partition->places.home[number].leaf];
    optune_err inner = {0};
    int status = ot_backing_hold(node->backing, &inner);
    if (status < 0)
        return ot_graph_fail(p->partition->graph, p->partition->places.home[number].leaf, -1,
                             status, inner.text, err);
    p->held[number] = ot_backing_share(node->backing);
    status = point_at(p, number, node->data);
    return status < 0 ? optune_fail(err, OPTUNE_ENOMEM, "no part of a buffer") : status;
}

static void let_leaf_go(optune_program *p, int number)
{
    if (!p->held || !p->held[number])
        return;
    ot_backing_let_go(p->held[number]);
    ot_backing_close(p->held[number]);
    p->held[number] = NULL;
}

/* A constant's elements, when the first group that reads them is about to be loaded. */
static int write_leaf(optune_program *p, int number, optune_err *err)
{
    const ot_home *home = &p->partition->places.home[number];
    const void *data;
    if (p->written[number])
        return OPTUNE_OK;
    p->written[number] = true;
    if (uses_in_place(p, number))
        return hold_leaf(p, number, err);
    int status = ot_graph_hold(p->partition->graph, home->leaf, &data, err);
    if (status < 0)
        return status;
    if (data)
        status = p->machine.row->write(p->machine.state, p->home[number], data, home->bytes);
    ot_graph_let_go(p->partition->graph, home->leaf);
    return status;
}

int ot_program_write_constants(optune_program *p, int group, optune_err *err)
{
    const ot_places *places = &p->partition->places;
    const ot_group *at = &p->partition->groups.group[group];
    int status = OPTUNE_OK;
    for (int k = 0; k < at->n_in && status >= 0; k++) {
        const int h = ot_places_at(places, at->in[k]).home;
        if (h >= 0 && places->home[h].leaf >= 0)
            status = write_leaf(p, h, err);
    }
    return status;
}

int ot_program_write_outputs(optune_program *p, optune_err *err)
{
    const ot_places *places = &p->partition->places;
    int status = OPTUNE_OK;
    for (int h = 0; h < places->n && status >= 0; h++)
        if (places->home[h].leaf >= 0 && p->needed[h])
            status = write_leaf(p, h, err);
    return status;
}

static int place(optune_program *p, char *start, int64_t offset, void **buffer, optune_err *err)
{
    char *at = start ? start + offset : NULL; /* NULL: it is told later */
    if (p->machine.row->alias(p->machine.state, buffer, at) < 0)
        return optune_fail(err, OPTUNE_ENOMEM, "no part of a buffer");
    keep(p, *buffer);
    return OPTUNE_OK;
}

static bool has_arena(const optune_program *p)
{
    return p->machine.row->address && p->machine.row->alias;
}

static const optune_plan *loaded_plan(void *program, int group)
{
    const optune_program *p = program;
    const ot_bound *bound = p->kernel[group].bound;
    return bound && !p->rows[group].table ? &bound->loaded->plan : NULL;
}

/* At least so large; what is in it may get lost. */
static int grow_arena(optune_program *p, int64_t bytes, optune_err *err)
{
    if (p->whole && bytes <= p->arena)
        return OPTUNE_OK;
    void *whole = NULL;
    OT_RETURN_UNLESS_OK(make(p, bytes, &whole, err));
    if (p->whole)
        let_go(p, p->whole);
    p->whole = whole;
    p->arena = bytes;
    return OPTUNE_OK;
}

int ot_program_arrange(optune_program *p, ot_plan_of *plan, void *arg, optune_err *err)
{
    const ot_places *places = &p->partition->places;
    if (!has_arena(p))
        return OPTUNE_OK;
    ot_lifetime *item = ot_alloc((size_t)(places->n + 1) * sizeof *item);
    int *over = ot_alloc((size_t)(places->n + 1) * sizeof *over);
    int *lasts = ot_alloc((size_t)(places->n + 1) * sizeof *lasts);
    p->n_over = ot_places_over(p->partition->graph, &p->partition->groups, places,
                               plan ? plan : loaded_plan, plan ? arg : p, over, lasts);
    for (int h = 0; h < places->n; h++)
        item[h] = (ot_lifetime){
            .bytes = places->home[h].leaf < 0 && over[h] == h ? places->home[h].bytes : 0,
            .first = places->home[h].first,
            .last = lasts[h]};
    const int64_t bytes = ot_lifetimes_place(item, places->n);
    int status = grow_arena(p, bytes, err);
    char *start = status < 0 ? NULL : p->machine.row->address(p->machine.state, p->whole);
    for (int h = 0; h < places->n && status >= 0; h++)
        if (places->home[h].leaf < 0 && point_at(p, h, start + item[over[h]].offset) < 0)
            status = optune_fail(err, OPTUNE_ENOMEM, "no part of a buffer");
    free(item);
    free(over);
    free(lasts);
    return status;
}

/* What groups write, to be placed once it is known what computes them. */
static int make_spots(optune_program *p, optune_err *err)
{
    const ot_places *places = &p->partition->places;
    int status = OPTUNE_OK;
    for (int h = 0; h < places->n && status >= 0; h++)
        if (places->home[h].leaf < 0)
            status = place(p, NULL, 0, &p->home[h], err);
    return status;
}

/* What is there before any group runs. */
static int make_leaf(optune_program *p, int number, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    const ot_home *home = &p->partition->places.home[number];
    const ot_node *node = &g->node[home->leaf];
    if (node->kind == OT_NODE_CONST && !node->data)
        return ot_graph_fail(g, home->leaf, -1, OPTUNE_EUSAGE, "the constant has no elements",
                             err);
    p->written[number] = node->kind != OT_NODE_CONST || p->origin;
    if (p->origin && node->kind == OT_NODE_CONST) {
        p->home[number] = p->origin->home[number];
        return OPTUNE_OK;
    }
    return uses_in_place(p, number) ? place(p, NULL, 0, &p->home[number], err)
                                    : make(p, home->bytes, &p->home[number], err);
}

/* Which constants are there for good: outputs, and what shapes that follow from values read. */
static void find_needed(optune_program *p)
{
    const ot_places *places = &p->partition->places;
    p->needed = ot_alloc((size_t)places->n + 1);
    for (int h = 0; h < places->n; h++)
        p->needed[h] = p->by_values;
    for (int i = 0; i < p->n_outputs; i++) {
        const int h = ot_places_at(places, p->output[i]).home;
        if (h >= 0)
            p->needed[h] = true;
    }
}

/* Homes in the order in which they are needed first: leaves, then by the groups that write. */
static int make_homes(optune_program *p, optune_err *err)
{
    const ot_places *places = &p->partition->places;
    const ot_groups *groups = &p->partition->groups;
    int status = OPTUNE_OK;
    p->home = ot_alloc((size_t)(places->n + 1) * sizeof *p->home);
    p->written = ot_alloc((size_t)places->n + 1);
    p->held = ot_alloc((size_t)(places->n + 1) * sizeof *p->held);
    find_needed(p);
    for (int h = 0; h < places->n && status >= 0; h++)
        if (places->home[h].leaf >= 0)
            status = make_leaf(p, h, err);
    if (has_arena(p))
        return status < 0 ? status : make_spots(p, err);
    pool of = {.p = p};
    of.slot = ot_alloc((size_t)(places->n + 1) * sizeof *of.slot);
    for (int i = 0; i < groups->n && status >= 0; i++) {
        const int last = groups->group[i].node[groups->group[i].n_nodes - 1];
        for (int o = 0; o < p->partition->graph->node[last].n_out && status >= 0; o++) {
            const int h = ot_places_at(places, (ot_value){last, o}).home;
            if (!p->home[h])
                status = take(&of, h, err);
        }
    }
    free(of.slot);
    return status;
}

/* A part of a home is memory of this process, or it would not be planned. */
static int find_buffer(optune_program *p, ot_value value, optune_err *err)
{
    const ot_located at = ot_places_at(&p->partition->places, value);
    const optune_target_worker *row = p->machine.row;
    void **buffer = &p->buffer[value.node][value.output];
    if (at.home < 0 || !p->home[at.home])
        return OPTUNE_OK; /* inside a group; or the origin dropped it, as nobody reads it */
    if (at.offset == 0) {
        *buffer = p->home[at.home];
        return OPTUNE_OK;
    }
    char *start = row->address(p->machine.state, p->home[at.home]);
    return place(p, start, at.offset, buffer, err);
}

/* Types as large as they can be, for buffers. */
static int make_types(optune_program *p, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    p->type = ot_alloc((size_t)(g->n + 1) * sizeof *p->type);
    for (int id = 0; id < g->n; id++) {
        p->type[id] = ot_alloc((size_t)(g->node[id].n_out + 1) * sizeof **p->type);
        for (int o = 0; o < g->node[id].n_out; o++) {
            optune_tensor *type = &p->type[id][o];
            *type = g->node[id].out[o];
            if (optune_tensor_known(type))
                continue;
            OT_RETURN_UNLESS_OK(ot_graph_need_bound(g, id, o, err));
            if (g->node[id].kind == OT_NODE_CONST)
                return ot_graph_fail(g, id, -1, OPTUNE_ETYPE,
                                     "its type is not known: give dims values with --bind",
                                     err);
            for (int d = 0; d < type->rank; d++)
                type->dim[d] = optune_dim_of(type->dim[d].max);
        }
    }
    for (int i = 0; i < p->partition->groups.n; i++)
        p->by_values = p->by_values || ot_group_is_open(g, &p->partition->groups.group[i]);
    return OPTUNE_OK;
}

int ot_program_make_buffers(optune_program *p, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    int status = make_types(p, err);
    if (status >= 0)
        status = make_homes(p, err);
    p->buffer = ot_alloc((size_t)(g->n + 1) * sizeof *p->buffer);
    for (int id = 0; id < g->n && status >= 0; id++) {
        p->buffer[id] = ot_alloc((size_t)(g->node[id].n_out + 1) * sizeof **p->buffer);
        for (int o = 0; o < g->node[id].n_out && status >= 0; o++)
            status = find_buffer(p, (ot_value){id, o}, err);
    }
    return status;
}

/* ---- constants that were packed ---------------------------------------------------------- */

static void drop_home(optune_program *p, int h)
{
    void *buffer = p->home[h];
    let_go(p, buffer);
    p->home[h] = NULL;
    let_leaf_go(p, h);
    for (int id = 0; id < p->partition->graph->n; id++)
        for (int o = 0; o < p->partition->graph->node[id].n_out; o++)
            if (p->buffer[id][o] == buffer)
                p->buffer[id][o] = NULL;
    for (int i = 0; i < p->partition->groups.n; i++) {
        ot_session *session = p->kernel[i].session;
        for (int k = 0; k < p->partition->groups.group[i].n_in; k++)
            if (session && session->in[OT_ALIGNED][k] == buffer)
                session->in[OT_ALIGNED][k] = NULL;
    }
}

void ot_program_drop_packed(optune_program *p, int group)
{
    const ot_places *places = &p->partition->places;
    const ot_group *at = &p->partition->groups.group[group];
    const ot_kernel *kernel = places->idle[group] == OT_RUNS ? ot_program_kernel(p, group) : NULL;
    for (int k = 0; k < at->n_in; k++) {
        const int h = ot_places_at(places, at->in[k]).home;
        if (h >= 0 &&
            (!kernel || ot_plan_reads_again(kernel->impl, &kernel->bound->loaded->plan, k)))
            p->needed[h] = true;
    }
    for (int k = 0; k < at->n_in; k++) {
        const int h = ot_places_at(places, at->in[k]).home;
        if (h < 0 || p->needed[h] || !p->home[h] || places->home[h].last > group)
            continue;
        const int leaf = places->home[h].leaf;
        if (leaf >= 0 && p->partition->graph->node[leaf].kind == OT_NODE_CONST)
            drop_home(p, h);
    }
}

void ot_program_free_buffers(optune_program *p)
{
    for (int i = 0; i < p->n_own; i++)
        p->machine.row->free(p->machine.state, p->own[i]);
    for (int h = 0; h < p->partition->places.n; h++)
        let_leaf_go(p, h);
    for (int id = 0; id < p->partition->graph->n && p->buffer; id++)
        free(p->buffer[id]);
    for (int id = 0; id < p->partition->graph->n && p->type; id++)
        free(p->type[id]);
    free(p->type);
    free(p->settled);
    free(p->sized);
    free(p->own);
    free(p->home);
    free(p->written);
    free(p->held);
    free(p->needed);
    free(p->buffer);
}
