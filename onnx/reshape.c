/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reshape to a shape of which several dims only a run knows. A reshape of the graph tells one dim
 * of all others: so the dims of both sides are cut into groups that are the same product, and each
 * becomes what it shall be by itself. Where a product is taken apart into several such dims (b*t to
 * b and t), its places are looked up, by how many there are of each.
 *
 * That groups are the same product holds where quotients (h/4) have no remainder. What is divided
 * is cut by its divisor first (h to h/4 and 4), which no run does at others, or has been on the
 * data's way here.
 */
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "graph/look.h"
#include "onnx/onnx.h"

static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

/* Dims of the data from `from` on become dims of the shape from `to` on. */
typedef struct group {
    int from, n_from, to, n_to;
    bool rest; /* what the other groups leave: its one open dim is whatever remains */
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
            *g = (group){rest->from, both - k, rest->to, k, false};
            if (g->n_from > rest->n_from)
                break;
            if (last) {
                g->from = rest->from + rest->n_from - g->n_from;
                g->to = rest->to + rest->n_to - g->n_to;
            }
            bool left = false;
            for (int d = 0; d < g->n_to; d++)
                left = left || is_left(&s->out[g->to + d]);
            if (!left &&
                ot_dims_agree(g->n_from, &s->in[g->from], g->n_to, &s->out[g->to], NULL, NULL))
                return true;
        }
    return false;
}

/* All groups, from the front on; what is between those that are found from both ends is one, of
 * which one dim may follow. How many; -1: there is no telling. */
static int groups_of(const sides *s, group *all)
{
    group rest = {0, s->n_in, 0, s->n_out, true}, back[2 * OPTUNE_MAX_RANK];
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

/* What is there by the time a reshape is made: a graph and its nodes that a value is made of. */
typedef struct origin {
    const optune_graph *g;
    const bool *of;
    int n;
} origin;

static bool same_dim(const optune_dim *a, const optune_dim *b)
{
    return optune_dim_known(a) || optune_dim_known(b)
               ? optune_dim_known(a) && optune_dim_known(b) && a->min == b->min
               : *a->name && !strcmp(a->name, b->name);
}

static optune_dim product(int n, const optune_dim *dim, int64_t over)
{
    const optune_dim *factor[OPTUNE_MAX_RANK];
    optune_dim all = {.min = 0, .max = OPTUNE_DIM_MAX};
    for (int d = 0; d < n; d++)
        factor[d] = &dim[d];
    optune_dim_multiply(&all, n, factor, over);
    return all;
}

/* The product of those that are known, times `all`; false: there is none, or it is 0. */
static bool times_known(int n, const optune_dim *dim, int64_t *all)
{
    for (int d = 0; d < n; d++)
        if (optune_dim_known(&dim[d]) && __builtin_mul_overflow(*all, dim[d].min, all))
            return false;
    return *all > 0;
}

/* Whether no run passes this node unless the number divides the dim: a reshape of it and of numbers
 * to dims of which the known ones alone are a multiple of both. */
static bool needs_whole(const optune_graph *g, const ot_node *node, const optune_dim *dim,
                        int64_t by)
{
    if (!ot_node_is(node, "reshape"))
        return false;
    const optune_tensor *in = ot_graph_type_of(g, node->in[0]), *out = &node->out[0];
    int front = 0, n_in = in->rank, n_out = out->rank, n = 0;
    int64_t known = 1;
    optune_dim open[OPTUNE_MAX_RANK];
    while (front < n_in && front < n_out && same_dim(&in->dim[front], &out->dim[front]))
        front++;
    for (; n_in > front && n_out > front && same_dim(&in->dim[n_in - 1], &out->dim[n_out - 1]);
         n_in--)
        n_out--;
    for (int d = front; d < n_in; d++)
        if (!optune_dim_known(&in->dim[d]))
            open[n++] = in->dim[d];
    const optune_dim all = product(n, open, 1);
    return same_dim(&all, dim) && times_known(n_in - front, &in->dim[front], &by) &&
           times_known(n_out - front, &out->dim[front], &known) && known % by == 0;
}

static bool is_divided(const void *arg, const optune_dim *dim, int64_t by)
{
    const origin *o = arg;
    for (int i = 0; i < o->n; i++)
        if (o->of[i] && needs_whole(o->g, &o->g->node[i], dim, by))
            return true;
    return false;
}

/* Whether both are one number wherever the value can be computed. */
static bool is_asked(const ot_onnx_node *n, const ot_onnx_value *value, const optune_dim *is,
                     const optune_dim *asked)
{
    if (same_dim(is, asked))
        return true;
    const optune_graph *g = n->m->g;
    origin o = {.g = g, .n = value->node + 1};
    bool *of = ot_alloc((size_t)o.n + 1);
    if (value->node >= 0)
        of[value->node] = true;
    for (int i = value->node; i >= 0; i--) {
        const ot_node *node = &g->node[i];
        for (int k = 0; of[i] && node->kind == OT_NODE_CALL && k < node->n_in; k++)
            of[node->in[k].node] = true;
        if (of[i] && node->kind == OT_NODE_GET)
            of[node->behind] = true;
    }
    o.of = of;
    const bool agree = ot_dims_agree(1, is, 1, asked, is_divided, &o);
    free(of);
    return agree;
}

/* The most that this dim is divided by in the shape; 1: it is not. */
static int64_t divisor(const optune_dim *dim, int n, const optune_dim *shape)
{
    ot_dim_term term[OT_DIM_TERMS];
    int64_t by = 1;
    for (int d = 0; d < n; d++)
        for (int i = ot_dim_terms(&shape[d], term) - 1; i >= 0; i--)
            for (int f = 0; f < term[i].n; f++)
                if (term[i].by[f] > by && same_dim(&term[i].factor[f], dim))
                    by = term[i].by[f];
    return by;
}

/* The group's dims of the data, those that are divided in the shape as two: h as h/4 and 4. */
static ot_onnx_value *cut(ot_onnx_node *n, ot_onnx_value *value, const sides *s, const group *g,
                          int behind)
{
    int at = g->to;
    for (int i = 0; i < g->n_from && value; i++, at++) {
        const int64_t by = divisor(&s->in[g->from + i], g->n_to, &s->out[g->to]);
        if (by > 1)
            value = put(n, value, &(group){.to = at++}, 2, (const int64_t[]){-1, by},
                        behind + g->n_from - i - 1);
    }
    return value;
}

/* A product as several dims of it: those between the first and the last that are open are one at
 * first, and are looked up then, whole rows of what is behind them. */
static ot_onnx_value *put_group(ot_onnx_node *n, ot_onnx_value *value, const sides *s,
                                const group *g)
{
    int64_t to[OPTUNE_MAX_RANK], known = 1;
    const optune_dim *dim = &s->out[g->to], *in = &s->in[g->from];
    const int behind = s->n_in - g->from - g->n_from;
    int first = -1, last = -1, n_to = 0;
    if (g->n_from == 1 && g->n_to == 1 && !is_left(dim) &&
        (g->rest || is_asked(n, value, in, dim)))
        return value;
    for (int d = 0; d < g->n_to; d++)
        if (!optune_dim_known(&dim[d]) || is_left(&dim[d])) {
            first = first < 0 ? d : first;
            last = d;
        }
    for (int d = 0; d < g->n_to; d++) {
        const bool within = d >= first && d <= last;
        if (!within && __builtin_mul_overflow(known, dim[d].min, &known)) {
            ot_onnx_refuse(n, "a shape of more elements than can be counted");
            return NULL;
        }
        if (!within || d == first)
            to[n_to++] = within ? -1 : dim[d].min;
    }
    const bool checked = first >= 0 && !g->rest;
    const optune_dim asked = checked ? product(last - first + 1, &dim[first], 1) : *dim;
    const optune_dim direct = checked ? product(g->n_from, in, known) : *dim;
    if (checked && !same_dim(&direct, &asked))
        value = cut(n, value, s, g, behind);
    value = value ? put(n, value, g, n_to, to, behind) : NULL;
    const int axis = g->to + first;
    if (value && checked &&
        !is_asked(n, value, &ot_onnx_type(n->m, value)->dim[axis], &asked)) {
        ot_onnx_ask(n, &dim[last], -1);
        return NULL;
    }
    if (last == first || !value)
        return value;
    ot_onnx_value *index = places(n, last - first + 1, &dim[first]);
    return index ? ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){value, index}, "axis=%d",
                                axis)
                 : NULL;
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
