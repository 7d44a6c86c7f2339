/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that only a run of an emitted graph knows: those that its caller gives, under the names that
 * inputs have for them, and those that follow from these, by expressions. In C they are members of
 * a struct, so that any name will do. Emitted C has no type relations: whether all types fit is
 * asked here, at the ends of the ranges and in between.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/emit_graph.h"
#include "call/dim_expr.h"

enum { CORNERS = 6, DRAWN = 96 }; /* dims whose ends are all combined; sizes drawn */

const ot_source_names ot_emitted_names = {.front = "s->of_"};

void ot_emitted_add_dim(const optune_dim *dim, ot_text *to)
{
    if (optune_dim_known(dim)) {
        ot_text_printf(to, "%lld", (long long)dim->min);
        return;
    }
    const bool computed = ot_dim_computed(dim);
    ot_text_add(to, computed ? "(" : "");
    ot_source_expression(optune_dim_text(dim), &ot_emitted_names, to);
    ot_text_add(to, computed ? ")" : "");
}

void ot_emitted_add_bytes(const optune_tensor *type, ot_text *to)
{
    optune_tensor one = *type;
    for (int d = 0; d < one.rank; d++)
        one.dim[d] = optune_dim_of(1);
    ot_text_printf(to, "(size_t)(%lld", (long long)optune_tensor_bytes(&one));
    for (int d = 0; d < type->rank; d++) {
        ot_text_add(to, " * ");
        ot_emitted_add_dim(&type->dim[d], to);
    }
    ot_text_add(to, ")");
}

static const ot_emitted_dim *find(const ot_emission *e, const char *name)
{
    for (int i = 0; i < e->n_dims; i++)
        if (strcmp(e->dim[i].name, name) == 0)
            return &e->dim[i];
    return NULL;
}

static void add(ot_emission *e, const optune_dim *dim, const char *formula)
{
    e->dim = ot_room(e->dim, e->n_dims, &e->dims_capacity, sizeof *e->dim);
    e->dim[e->n_dims++] = (ot_emitted_dim){.name = ot_arena_copy(&e->arena, dim->name),
                                           .min = dim->min,
                                           .max = dim->max,
                                           .formula = formula};
}

/* ---- what there is ------------------------------------------------------------------------ */

static bool of_dims(const void *arg, const char *name, optune_dim *is)
{
    const ot_emitted_dim *dim = find(arg, name);
    if (dim)
        *is = (optune_dim){.min = dim->min, .max = dim->max};
    return dim != NULL;
}

static bool is_told(const ot_emission *e, const optune_dim *dim)
{
    return optune_dim_known(dim) || (ot_dim_computed(dim) ? ot_dim_follows(dim, of_dims, e)
                                                          : find(e, dim->name) != NULL);
}

static int given_sizes(ot_emission *e, optune_err *err)
{
    for (int i = 0; i < e->n_inputs; i++) {
        const optune_tensor *type = &e->graph->node[e->input[i]].out[0];
        for (int d = 0; d < type->rank; d++) {
            const optune_dim *dim = &type->dim[d];
            if (optune_dim_known(dim) || ot_dim_computed(dim) || find(e, dim->name))
                continue;
            if (!dim->name[0]) {
                char text[128];
                snprintf(text, sizeof text,
                         "dim %d has no name, by which its size could be given: write ?m:1..64",
                         d);
                return ot_graph_fail(e->graph, e->input[i], -1, OPTUNE_EUSAGE, text, err);
            }
            add(e, dim, NULL);
        }
    }
    e->n_sizes = e->n_dims;
    return OPTUNE_OK;
}

static int refuse(const ot_emission *e, int node, const optune_dim *dim, const char *why,
                  optune_err *err)
{
    ot_text text = {0}, is = {0};
    ot_dim_print(dim, &is);
    ot_text_printf(&text,
                   "its dim %s %s: give the dims that it follows from values with --bind, or "
                   "compute the graph in process",
                   ot_text_str(&is), why);
    const int status =
        ot_graph_fail(e->graph, node, -1, OPTUNE_EUNSUPPORTED, ot_text_str(&text), err);
    ot_text_release(&text);
    ot_text_release(&is);
    return status;
}

int ot_emitted_renamed(ot_emission *e, const optune_call *call, ot_source_names *names,
                       optune_err *err)
{
    ot_renamed *renamed = ot_alloc(sizeof *renamed);
    optune_call *named = ot_alloc(sizeof *named);
    const int status = ot_call_rename(call, named, renamed, err);
    const size_t n = (size_t)renamed->n;
    const char **name = ot_arena_alloc(&e->arena, (n + 1) * sizeof *name);
    const char **is = ot_arena_alloc(&e->arena, (n + 1) * sizeof *is);
    for (int i = 0; i < renamed->n; i++) {
        ot_text text = {0};
        ot_emitted_add_dim(&renamed->was[i], &text);
        name[i] = ot_arena_copy(&e->arena, renamed->name[i]);
        is[i] = ot_arena_copy(&e->arena, ot_text_str(&text));
        ot_text_release(&text);
    }
    *names = (ot_source_names){ot_emitted_names.front, renamed->n, name, is};
    free(named);
    free(renamed);
    return status;
}

void ot_emitted_symbols(const ot_emission *e, const optune_call *call, ot_symbols *to)
{
    *to = (ot_symbols){0};
    for (int k = 0; k < e->n_dims && to->n < OT_MOST_SYMBOLS; k++) {
        bool mentioned = false;
        for (int i = 0; i < optune_call_inputs(call); i++)
            for (int d = 0; d < call->input[i].type.rank; d++)
                mentioned =
                    mentioned || ot_dim_mentions(&call->input[i].type.dim[d], e->dim[k].name);
        if (!mentioned)
            continue;
        optune_dim *dim = &to->dim[to->n++];
        *dim = (optune_dim){.min = e->dim[k].min, .max = e->dim[k].max};
        ot_copy(dim->name, sizeof dim->name, e->dim[k].name);
    }
}

/* Dims of a group's outputs that no expression over others names are found by asking its relation;
 * dims of 1 may stand in front of the call's. */
static int following_sizes(ot_emission *e, int i, const ot_symbols *over, optune_err *err)
{
    const ot_group *group = &e->partition->groups.group[i];
    const optune_call *call = group->call;
    const int node = group->node[group->n_nodes - 1];
    const ot_node *last = &e->graph->node[node];
    int status = OPTUNE_OK;
    for (int o = 0; o < last->n_out && o < call->n_outputs; o++) {
        const int front = last->out[o].rank - call->output[o].rank;
        for (int d = 0; d < last->out[o].rank && status >= 0; d++) {
            const optune_dim *dim = &last->out[o].dim[d];
            ot_text formula = {0}, c = {0};
            if (is_told(e, dim))
                continue;
            if (d < front || ot_dim_computed(dim) || !dim->name[0] ||
                ot_dim_formula_over(call, over, o, d - front, &formula, NULL) < 0) {
                status = refuse(e, node, dim, "has no expression over the sizes of inputs", err);
            } else {
                ot_source_expression(ot_text_str(&formula), &ot_emitted_names, &c);
                add(e, dim, ot_arena_copy(&e->arena, ot_text_str(&c)));
            }
            ot_text_release(&formula);
            ot_text_release(&c);
        }
    }
    return status;
}

int ot_emitted_sizes(ot_emission *e, optune_err *err)
{
    int status = given_sizes(e, err);
    for (int i = 0; i < e->n_inputs && status >= 0; i++) {
        const optune_tensor *type = &e->graph->node[e->input[i]].out[0];
        for (int d = 0; d < type->rank && status >= 0; d++)
            if (!is_told(e, &type->dim[d]))
                status = refuse(e, e->input[i], &type->dim[d],
                                "is computed of dims that no input has", err);
    }
    ot_symbols *over = ot_alloc(sizeof *over);
    for (int i = 0; i < e->partition->groups.n && status >= 0; i++) {
        ot_emitted_symbols(e, e->partition->groups.group[i].call, over);
        status = following_sizes(e, i, over, err);
    }
    free(over);
    return status;
}

/* ---- whether they fit ---------------------------------------------------------------------- */

/* What things are at some sizes: dims, in the emission's order, and values, as a run would find
 * them. */
typedef struct sized {
    const ot_emission *e;
    optune_dim *dim;
    optune_tensor **type; /* by node, then by output */
} sized;

static bool of_sized(const void *arg, const char *name, optune_dim *is)
{
    const sized *at = arg;
    const ot_emitted_dim *dim = find(at->e, name);
    if (dim)
        *is = at->dim[dim - at->e->dim];
    return dim != NULL;
}

/* A dim as the C has it. */
static int64_t as_written(const sized *at, const optune_dim *dim)
{
    optune_dim is = *dim;
    if (optune_dim_known(dim))
        return dim->min;
    if (ot_dim_computed(dim) ? !ot_dim_settle(&is, of_sized, at)
                             : !of_sized(at, dim->name, &is))
        return -1;
    return is.min;
}

/* What a group gives becomes known, and is what the C takes it for. */
static int take_outputs(sized *at, const ot_group *group, const optune_call *call,
                        optune_err *err)
{
    const int node = group->node[group->n_nodes - 1];
    const ot_node *last = &at->e->graph->node[node];
    for (int o = 0; o < last->n_out && o < call->n_outputs; o++) {
        optune_tensor *type = &at->type[node][o];
        *type = ot_group_output_type(at->e->graph, group, call, o);
        for (int d = 0; d < type->rank; d++) {
            const optune_dim *dim = &last->out[o].dim[d];
            const ot_emitted_dim *own = find(at->e, dim->name);
            if (own && own->formula && !optune_dim_known(dim))
                at->dim[own - at->e->dim] = type->dim[d];
            if (as_written(at, dim) != type->dim[d].min)
                return optune_fail(err, OPTUNE_ETYPE, "dim %d of output %d is %lld", d, o,
                                   (long long)type->dim[d].min);
        }
    }
    return OPTUNE_OK;
}

static int fit_group(sized *at, int i, optune_call *call, optune_err *err)
{
    const ot_group *group = &at->e->partition->groups.group[i];
    *call = *group->call;
    for (int k = 0; k < group->n_in; k++)
        call->input[k].type =
            ot_group_input_type(group, k, &at->type[group->in[k].node][group->in[k].output]);
    for (int o = 0; o < call->n_outputs; o++)
        call->output[o] = (optune_tensor){.rank = -1};
    const int status = ot_call_infer(call, err);
    if (status < 0)
        return status;
    return status ? optune_fail(err, OPTUNE_ETYPE, "its types are not known")
                  : take_outputs(at, group, call, err);
}

static int fit(sized *at, optune_call *call, optune_err *err)
{
    const ot_emission *e = at->e;
    for (int i = 0; i < e->partition->groups.n; i++) {
        optune_err inner = {0};
        if (!ot_group_is_open(e->graph, &e->partition->groups.group[i]) ||
            fit_group(at, i, call, &inner) >= 0)
            continue;
        ot_text text = {0};
        ot_text_add(&text, "its types do not fit at ");
        for (int k = 0; k < e->n_sizes; k++)
            ot_text_printf(&text, "%s%s=%lld", k ? ", " : "", e->dim[k].name,
                           (long long)at->dim[k].min);
        ot_text_printf(&text, ", where emitted C cannot refuse: give such dims values with "
                              "--bind, or compute the graph in process%s%s",
                       *inner.text ? "\n" : "", inner.text);
        const int status = ot_graph_fail(e->graph, e->partition->groups.group[i].node[0], -1,
                                         OPTUNE_ETYPE, ot_text_str(&text), err);
        ot_text_release(&text);
        return status;
    }
    return OPTUNE_OK;
}

/* Types as the graph has them, those of inputs at these sizes. */
static void start(sized *at)
{
    const optune_graph *g = at->e->graph;
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out; o++) {
            optune_tensor *type = &at->type[id][o];
            *type = g->node[id].out[o];
            for (int d = 0; d < type->rank && g->node[id].kind == OT_NODE_VAR; d++)
                type->dim[d] = optune_dim_of(as_written(at, &g->node[id].out[o].dim[d]));
        }
}

int ot_emitted_sizes_fit(const ot_emission *e, optune_err *err)
{
    if (!e->n_dims)
        return OPTUNE_OK;
    ot_arena arena = {0};
    sized at = {e, ot_arena_alloc(&arena, (size_t)e->n_dims * sizeof *at.dim),
                ot_arena_alloc(&arena, (size_t)(e->graph->n + 1) * sizeof *at.type)};
    for (int id = 0; id < e->graph->n; id++)
        at.type[id] =
            ot_arena_alloc(&arena, (size_t)(e->graph->node[id].n_out + 1) * sizeof **at.type);
    optune_call *call = ot_alloc(sizeof *call);
    uint64_t random = 1;
    const int corners = 1 << (e->n_sizes < CORNERS ? e->n_sizes : CORNERS);
    int status = OPTUNE_OK;
    for (int t = 0; t < corners + DRAWN && status >= 0; t++) {
        for (int k = 0; k < e->n_sizes; k++) {
            const int64_t lo = e->dim[k].min, hi = e->dim[k].max;
            const bool high = t >> (k < CORNERS ? k : CORNERS - 1) & 1;
            at.dim[k] =
                optune_dim_of(t < corners ? (high ? hi : lo)
                                          : lo + optune_random_below(&random, hi - lo + 1));
        }
        start(&at);
        status = fit(&at, call, err);
    }
    free(call);
    ot_arena_release(&arena);
    return status;
}
