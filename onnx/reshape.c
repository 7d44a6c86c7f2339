/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reshape to a shape of which several dims only a run knows. A reshape of the graph tells one dim
 * of all others: so the dims of both sides are cut into groups that are the same product, and each
 * becomes what it shall be by itself. Where a product is taken apart into several such dims (b*t to
 * b and t), its places are looked up, by how many there are of each.
 */
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

/* Dims of the data from `from` on become dims of the shape from `to` on. */
typedef struct group {
    int from, n_from, to, n_to;
} group;

typedef struct sides {
    optune_dim in[OPTUNE_MAX_RANK], out[OT_ONNX_LIST];
    int n_in, n_out;
} sides;

static bool is_left(const optune_dim *dim)
{
    return optune_dim_known(dim) && dim->min == -1;
}

/* Both sides' shortest ends, the first ones or the last, that are one product. */
static bool next_group(const sides *s, const group *rest, bool last, group *g)
{
    for (int both = 1; both <= rest->n_from + rest->n_to; both++)
        for (int k = both <= rest->n_to ? both : rest->n_to; k >= 0; k--) {
            *g = (group){rest->from, both - k, rest->to, k};
            if (g->n_from > rest->n_from)
                break;
            if (last) {
                g->from = rest->from + rest->n_from - g->n_from;
                g->to = rest->to + rest->n_to - g->n_to;
            }
            bool left = false;
            for (int d = 0; d < g->n_to; d++)
                left = left || is_left(&s->out[g->to + d]);
            if (!left && ot_dims_agree(g->n_from, &s->in[g->from], g->n_to, &s->out[g->to]))
                return true;
        }
    return false;
}

/* All groups, from the front on; what is between those that are found from both ends is one, of
 * which one dim may follow. How many; -1: there is no telling. */
static int groups_of(const sides *s, group *all)
{
    group rest = {0, s->n_in, 0, s->n_out}, back[2 * OPTUNE_MAX_RANK];
    int n = 0, n_back = 0;
    while ((rest.n_from || rest.n_to) && next_group(s, &rest, false, &all[n])) {
        rest.from += all[n].n_from;
        rest.n_from -= all[n].n_from;
        rest.to += all[n].n_to;
        rest.n_to -= all[n++].n_to;
    }
    while ((rest.n_from || rest.n_to) && next_group(s, &rest, true, &back[n_back])) {
        rest.n_from -= back[n_back].n_from;
        rest.n_to -= back[n_back++].n_to;
    }
    if (rest.n_from || rest.n_to) {
        int open = 0;
        for (int d = 0; d < rest.n_to; d++)
            open += !optune_dim_known(&s->out[rest.to + d]) || is_left(&s->out[rest.to + d]);
        if (open != 1)
            return -1;
        all[n++] = rest;
    }
    while (n_back)
        all[n++] = back[--n_back];
    return n;
}

/* Dims of the value from the group's place on become these, of which one may be -1; those in front
 * have become what they shall be, those behind are still the data's. */
static ot_onnx_value *put(ot_onnx_node *n, ot_onnx_value *value, const group *g, int n_dims,
                          const int64_t *dim, int behind)
{
    int64_t to[OPTUNE_MAX_RANK] = {0};
    const int rank = g->to + n_dims + behind;
    if (rank > OPTUNE_MAX_RANK) {
        ot_onnx_refuse(n, "%d dims, more than %d", rank, OPTUNE_MAX_RANK);
        return NULL;
    }
    memcpy(to + g->to, dim, (size_t)n_dims * sizeof *dim);
    for (int d = rank - behind; d < rank; d++)
        to[d] = OT_ONNX_FROM_LAST;
    return ot_onnx_reshape_keeping(n, value, rank, to);
}

/* In these dims the place that each element has in one of their product. */
static ot_onnx_value *places(ot_onnx_node *n, int rank, const optune_dim *dim)
{
    static const optune_dim zero = {.min = 0, .max = 0};
    ot_onnx_value *all = NULL;
    for (int d = 0; d < rank; d++) {
        int64_t to[OPTUNE_MAX_RANK];
        for (int k = 0; k < rank; k++)
            to[k] = k == d ? -1 : 1;
        ot_onnx_value *along = ot_onnx_count_open(n, &zero, &dim[d], i64);
        along = along ? ot_onnx_reshape(n, along, rank, to) : NULL;
        if (d && along) {
            ot_onnx_value *length = ot_onnx_length_open(n, &dim[d], i64);
            all = length ? ot_onnx_2(n, "multiply", all, length) : NULL;
        }
        all = !along || (d && !all) ? NULL : d ? ot_onnx_2(n, "add", all, along) : along;
        if (!all)
            return NULL;
    }
    return all;
}

/* A product as several dims of it: those between the first and the last that are open are looked
 * up, whole rows of what is behind them. */
static ot_onnx_value *take_apart(ot_onnx_node *n, ot_onnx_value *value, const group *g,
                                 const optune_dim *dim, int first, int last, int behind)
{
    int64_t to[OPTUNE_MAX_RANK];
    const optune_dim *factor[OPTUNE_MAX_RANK];
    optune_dim product = {.min = 0, .max = OPTUNE_DIM_MAX};
    int n_to = 0, n_factor = 0;
    for (int d = 0; d < g->n_to; d++) {
        if (d >= first && d <= last)
            factor[n_factor++] = &dim[d];
        if (d <= first || d > last)
            to[n_to++] = d == first ? -1 : dim[d].min;
    }
    optune_dim_multiply(&product, n_factor, factor, 1);
    value = put(n, value, g, n_to, to, behind);
    const int axis = g->to + first;
    if (!value)
        return NULL;
    if (!*product.name || strcmp(product.name, ot_onnx_type(n->m, value)->dim[axis].name)) {
        ot_onnx_ask(n, &dim[last],
                    -1); /* where quotients have remainders it would be another */
        return NULL;
    }
    ot_onnx_value *index = places(n, n_factor, &dim[first]);
    return index ? ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){value, index}, "axis=%d",
                                axis)
                 : NULL;
}

static ot_onnx_value *put_group(ot_onnx_node *n, ot_onnx_value *value, const sides *s,
                                const group *g)
{
    int64_t to[OPTUNE_MAX_RANK];
    const optune_dim *dim = &s->out[g->to];
    const int behind = s->n_in - g->from - g->n_from;
    int first = -1, last = -1, open = 0;
    if (g->n_from == 1 && g->n_to == 1 && !is_left(dim))
        return value;
    for (int d = 0; d < g->n_to; d++) {
        to[d] = dim[d].min;
        if (optune_dim_known(&dim[d]) && !is_left(&dim[d]))
            continue;
        to[d] = -1;
        first = first < 0 ? d : first;
        last = d;
        open++;
    }
    return open > 1 ? take_apart(n, value, g, dim, first, last, behind)
                    : put(n, value, g, g->n_to, to, behind);
}

ot_onnx_value *ot_onnx_reshape_open(ot_onnx_node *n, ot_onnx_value *data,
                                    const ot_onnx_value *shape)
{
    const optune_tensor *type = ot_onnx_type(n->m, data);
    ot_onnx_list list;
    group all[2 * OPTUNE_MAX_RANK];
    sides s = {.n_in = type->rank};
    const int told = ot_onnx_shape_list(n, shape, type, &list);
    if (told)
        return told < 0 ? NULL : ot_onnx_reshape_keeping(n, data, list.n, list.i);
    s.n_out = ot_onnx_sizes_of(shape, s.out);
    memcpy(s.in, type->dim, sizeof s.in);
    for (int d = 0; d < s.n_out; d++) {
        if (optune_dim_known(&s.out[d]) && s.out[d].min == 0 && d < s.n_in)
            s.out[d] = s.in[d];
        if (s.out[d].max == 0) {
            ot_onnx_ask_sizes(n, shape);
            return NULL;
        }
    }
    const int n_groups = groups_of(&s, all);
    if (n_groups < 0) {
        ot_onnx_ask_sizes(n, shape);
        return NULL;
    }
    for (int i = 0; i < n_groups && data; i++)
        data = put_group(n, data, &s, &all[i]);
    return data;
}
