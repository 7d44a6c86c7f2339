/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that only a run knows, in a program: those that follow from values, and those of variables
 * that are ranges. Buffers are as large as the bounds; in front of each group that has such dims
 * the host finds the true ones, by the shape function over what the inputs hold or by the type
 * relation over their true types. What is refused is the node's.
 */
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"
#include "call/dim_expr.h"

/* What the inputs hold, where the host can read it. */
static int look(const optune_program *p, const ot_group *group, const optune_call *call,
                const void **in, void **own, optune_err *err)
{
    const ot_machine *m = &p->machine;
    for (int k = 0; k < group->n_in; k++) {
        void *buffer = ot_program_buffer(p, group->in[k]);
        const int64_t bytes = optune_tensor_bytes(&call->input[k].type);
        if (m->row->address) {
            in[k] = m->row->address(m->state, buffer);
            continue;
        }
        in[k] = own[k] = ot_try_alloc((size_t)bytes + 1, "an input", err);
        if (!own[k])
            return OPTUNE_ENOMEM;
        if (m->row->read(m->state, buffer, own[k], bytes) < 0)
            return optune_fail(err, OPTUNE_EIO, "input %d cannot be read back", k + 1);
    }
    return OPTUNE_OK;
}

/* The outputs of a sized call, as large as they are. */
static int find_shape(const optune_program *p, const ot_group *group, optune_call *call,
                      optune_err *err)
{
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    void *own[OPTUNE_MAX_INPUTS] = {NULL};
    int status = call->op->shape ? look(p, group, call, in, own, err) : OPTUNE_OK;
    if (status >= 0)
        status = ot_call_shape(call, in, err);
    for (int k = 0; k < group->n_in; k++)
        free(own[k]);
    return status;
}

int ot_program_shapes(optune_program *p, int i, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    const ot_group *group = &p->partition->groups.group[i];
    const int last = group->node[group->n_nodes - 1];
    if (!ot_group_is_open(g, group) || (p->sized && p->sized[i]))
        return OPTUNE_OK;
    optune_err inner = {0};
    optune_call *call = ot_alloc(2 * sizeof *call), *sized = call + 1;
    *call = *group->call;
    for (int k = 0; k < group->n_in; k++)
        call->input[k].type =
            ot_group_input_type(group, k, &p->type[group->in[k].node][group->in[k].output]);
    *sized = *call;
    int status = ot_call_widen(sized, &inner); /* the kernel's: bounds where values decide */
    if (status >= 0)
        status = find_shape(p, group, call, &inner);
    for (int o = 0; o < call->n_outputs && status >= 0; o++) {
        p->type[last][o] = ot_group_output_type(g, group, call, o);
        status = ot_graph_within(&g->node[last].out[o], &p->type[last][o], &inner);
    }
    if (status >= 0)
        status = ot_program_take_row(p, i, sized, &inner);
    if (status >= 0)
        status = ot_kernel_resize(ot_program_kernel(p, i), sized, &inner);
    if (p->sized)
        p->sized[i] = status >= 0 && p->settled[i];
    free(call);
    return status < 0 ? ot_graph_fail(g, group->node[0], -1, status, inner.text, err) : status;
}

/* ---- sizes of inputs ---------------------------------------------------------------------- */

typedef struct given {
    const optune_graph *g;
    const optune_tensor *type; /* of its variables, in order */
} given;

/* The size of the first dim of a variable that has this name. */
static bool of_given(const void *arg, const char *name, optune_dim *is)
{
    const given *all = arg;
    int n = 0;
    for (int id = 0; id < all->g->n; id++) {
        const ot_node *node = &all->g->node[id];
        for (int d = 0; node->kind == OT_NODE_VAR && d < node->out[0].rank; d++)
            if (strcmp(node->out[0].dim[d].name, name) == 0) {
                *is = all->type[n].dim[d];
                return true;
            }
        n += node->kind == OT_NODE_VAR;
    }
    return false;
}

static bool dim_fits(const given *all, const optune_dim *dim, const optune_dim *is)
{
    optune_dim same = *dim;
    if (!optune_dim_known(is) || is->min < dim->min || is->min > dim->max)
        return false;
    if (ot_dim_computed(dim))
        return ot_dim_settle(&same, of_given, all) && same.min <= is->min &&
               same.max >= is->min;
    return !dim->name[0] || (of_given(all, dim->name, &same) && same.min == is->min);
}

/* What others make of the size of a dim that has a name. */
static void say_misfit(const given *all, const optune_dim *dim, const optune_dim *is,
                       ot_text *to)
{
    const char *text = optune_dim_text(dim);
    const long long size = (long long)is->min;
    optune_dim same = *dim;
    if (!*text || !optune_dim_known(is) || dim_fits(all, dim, is))
        return;
    if (!ot_dim_computed(dim))
        ot_text_printf(to, ": '%s' is %lld in an input before", text,
                       of_given(all, dim->name, &same) ? (long long)same.min : size);
    else if (ot_dim_settle(&same, of_given, all) && optune_dim_known(&same))
        ot_text_printf(to, ": '%s' is %lld with the sizes of the other inputs, not %lld", text,
                       (long long)same.min, size);
    else
        ot_text_printf(to, ": '%s' cannot be %lld with the sizes of the other inputs", text,
                       size);
}

/* Whether the i-th variable, this node, may be as large. */
static int check_given(const given *all, int id, const optune_tensor *is, optune_err *err)
{
    const optune_tensor *type = &all->g->node[id].out[0];
    bool fits = optune_dtype_equal(type->dtype, is->dtype) && type->rank == is->rank;
    for (int d = 0; d < type->rank && fits; d++)
        fits = dim_fits(all, &type->dim[d], &is->dim[d]);
    if (fits)
        return OPTUNE_OK;
    ot_text text = {0};
    ot_graph_say_types(is, type, &text);
    ot_text_add(&text, " with one size for each name");
    for (int d = 0; d < type->rank && type->rank == is->rank; d++)
        if (!ot_graph_say_bounds(is, type, d, &text))
            say_misfit(all, &type->dim[d], &is->dim[d], &text);
    const int status = ot_graph_fail(all->g, id, -1, OPTUNE_ETYPE, ot_text_str(&text), err);
    ot_text_release(&text);
    return status;
}

/* Outputs of a group whose inputs' sizes are true as far as `settled`; false: values decide, or the
 * run is going to refuse it. */
static bool settle_group(optune_program *p, const ot_group *group, optune_call *call,
                         bool *const settled)
{
    const optune_graph *g = p->partition->graph;
    const int last = group->node[group->n_nodes - 1];
    *call = *group->call;
    for (int k = 0; k < group->n_in; k++) {
        if (!settled[group->in[k].node])
            return false;
        call->input[k].type =
            ot_group_input_type(group, k, &p->type[group->in[k].node][group->in[k].output]);
    }
    for (int o = 0; o < call->n_outputs; o++)
        call->output[o] = (optune_tensor){.rank = -1};
    if (ot_call_infer_dims(call, NULL) < 0 || !ot_call_static(call))
        return false;
    bool within = true;
    for (int o = 0; o < call->n_outputs; o++) {
        p->type[last][o] = ot_group_output_type(g, group, call, o);
        within = within && ot_graph_within(&g->node[last].out[o], &p->type[last][o], NULL) >= 0;
    }
    return within;
}

/* Outputs that values decide, as large as they can be. */
static void take_bounds(optune_program *p)
{
    const optune_graph *g = p->partition->graph;
    const ot_groups *groups = &p->partition->groups;
    for (int i = 0; i < groups->n; i++) {
        const int last = groups->group[i].node[groups->group[i].n_nodes - 1];
        for (int o = 0; o < g->node[last].n_out && !p->settled[i]; o++) {
            p->type[last][o] = g->node[last].out[o];
            for (int d = 0; d < p->type[last][o].rank; d++)
                p->type[last][o].dim[d] = optune_dim_of(p->type[last][o].dim[d].max);
        }
    }
}

/* What follows from the inputs' sizes alone. */
static void settle(optune_program *p)
{
    if (!p->settled)
        p->settled = ot_alloc((size_t)(p->partition->groups.n + 1) * sizeof *p->settled);
    if (!p->sized)
        p->sized = ot_alloc((size_t)(p->partition->groups.n + 1) * sizeof *p->sized);
    const optune_graph *g = p->partition->graph;
    const ot_groups *groups = &p->partition->groups;
    bool *settled = ot_alloc((size_t)(g->n + 1) * sizeof *settled);
    optune_call *call = ot_alloc(sizeof *call);
    for (int id = 0; id < g->n; id++)
        settled[id] = g->node[id].kind == OT_NODE_VAR || g->node[id].kind == OT_NODE_CONST;
    for (int i = 0; i < groups->n; i++) {
        const ot_group *group = &groups->group[i];
        const int last = group->node[group->n_nodes - 1];
        settled[last] = !ot_group_is_open(g, group) || settle_group(p, group, call, settled);
        p->settled[i] = settled[last];
        p->sized[i] = false;
    }
    free(call);
    free(settled);
}

/* Whether the inputs are as large as the last time, and so all that follows from their sizes. */
static bool same_sizes(const optune_program *p, const optune_tensor *types)
{
    const optune_graph *g = p->partition->graph;
    bool same = p->settled != NULL;
    for (int id = 0; id < g->n && same; id++) {
        const optune_tensor *is = p->type[id];
        if (g->node[id].kind != OT_NODE_VAR)
            continue;
        same = types->rank == is->rank && optune_dtype_equal(types->dtype, is->dtype);
        for (int d = 0; d < is->rank && same; d++)
            same = optune_dim_known(&types->dim[d]) && types->dim[d].min == is->dim[d].min;
        types++;
    }
    return same;
}

int optune_program_resize(optune_program *p, const optune_tensor *types, optune_err *err)
{
    OT_ENTER(err, {"program", p}, {"types", types});
    const optune_graph *g = p->partition->graph;
    const given all = {g, types};
    int status = OPTUNE_OK, n = 0;
    if (same_sizes(p, types)) {
        take_bounds(p);
        return OPTUNE_OK;
    }
    for (int id = 0; id < g->n && status >= 0; id++)
        if (g->node[id].kind == OT_NODE_VAR)
            status = check_given(&all, id, &types[n++], err);
    n = 0;
    for (int id = 0; id < g->n && status >= 0; id++)
        if (g->node[id].kind == OT_NODE_VAR) {
            optune_tensor *to = p->type[id];
            *to = types[n++];
            for (int d = 0; d < to->rank; d++)
                to->dim[d] = optune_dim_of(to->dim[d].min);
        }
    if (status >= 0) {
        settle(p);
        take_bounds(p);
    }
    return status;
}
