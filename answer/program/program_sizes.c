/* SPDX-License-Identifier: Apache-2.0 */
/* Which sizes a graph of ranges is looked at with, where nobody says some. */
#include <string.h>

#include "answer/graph.h"
#include "call/dim_expr.h"

/* From the middle of the range on the next that halves and halves again, as networks like them. */
static int64_t size_in(const optune_dim *dim)
{
    const int64_t middle = dim->min + (dim->max - dim->min + 1) / 2;
    for (int64_t step = 64; step > 1; step /= 2)
        if ((middle + step - 1) / step * step <= dim->max)
            return (middle + step - 1) / step * step;
    return middle;
}

/* Sizes nearer to the lower ends, by halves, the more often they were tried. */
typedef struct choice {
    const optune_graph *g;
    int halved;
} choice;

static int64_t chosen(const choice *c, const optune_dim *dim)
{
    return dim->min + ((size_in(dim) - dim->min) >> c->halved);
}

/* A name's size: of the range that the first variable with it has. */
static bool size_of(const void *arg, const char *name, optune_dim *is)
{
    const choice *c = arg;
    for (int i = 0; i < optune_graph_inputs(c->g); i++) {
        const optune_tensor *type = optune_graph_input_type(c->g, i);
        for (int d = 0; d < type->rank; d++)
            if (strcmp(type->dim[d].name, name) == 0) {
                *is = optune_dim_of(chosen(c, &type->dim[d]));
                return true;
            }
    }
    return false;
}

/* Whether all that is computed of them is within its own range. */
static bool all_fit(const choice *c)
{
    for (int id = 0; id < c->g->n; id++)
        for (int o = 0; o < c->g->node[id].n_out; o++)
            for (int d = 0; d < c->g->node[id].out[o].rank; d++) {
                optune_dim dim = c->g->node[id].out[o].dim[d];
                if (ot_dim_computed(&dim) && !ot_dim_settle(&dim, size_of, c))
                    return false;
            }
    return true;
}

int ot_graph_choose_sizes(const optune_graph *g, optune_tensor *given, bool *sized,
                          optune_err *err)
{
    enum { HALVES = 41 }; /* of what a dim may have at most: then all is at the lower ends */
    choice c = {.g = g};
    *sized = false;
    for (int i = 0; i < optune_graph_inputs(g); i++)
        OT_RETURN_UNLESS_OK(ot_graph_need_bound(g, optune_graph_input_node(g, i), 0, err));
    while (c.halved < HALVES && !all_fit(&c))
        c.halved++;
    for (int i = 0; i < optune_graph_inputs(g); i++) {
        optune_tensor *type = &given[i];
        *type = *optune_graph_input_type(g, i);
        const int node = optune_graph_input_node(g, i);
        for (int d = 0; d < type->rank; d++) {
            optune_dim *dim = &type->dim[d];
            *sized = *sized || !optune_dim_known(dim);
            if (ot_dim_computed(dim) && !ot_dim_settle(dim, size_of, &c))
                return ot_graph_fail(g, node, -1, OPTUNE_ETYPE, "no sizes fit its dims", err);
            *dim = optune_dim_of(chosen(&c, dim));
        }
    }
    return OPTUNE_OK;
}

json_t *ot_graph_say_sizes(const optune_graph *g, const optune_tensor *given, ot_text *text)
{
    json_t *inputs = json_array();
    for (int i = 0; i < optune_graph_inputs(g); i++) {
        ot_text type = {0}, range = {0};
        ot_tensor_print(&given[i], &type);
        ot_tensor_print(optune_graph_input_type(g, i), &range);
        ot_text_printf(text, "input %d   %-28s of %s\n", i, ot_text_str(&type),
                       ot_text_str(&range));
        json_array_append_new(inputs, json_pack("{s:s, s:s}", "type", ot_text_str(&type),
                                                "range", ot_text_str(&range)));
        ot_text_release(&type);
        ot_text_release(&range);
    }
    return inputs;
}
