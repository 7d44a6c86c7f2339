/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values in shapes of which some dims only a run knows. A value of the graph that is as long lends
 * its length: one line of it, whose elements are not read.
 */
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

/* Which dim of a tensor is this one; -1: none. */
static int dim_of(const optune_tensor *type, const optune_dim *dim)
{
    for (int d = 0; d < type->rank; d++)
        if (!strcmp(type->dim[d].name, dim->name))
            return d;
    return -1;
}

/* The first place along each other axis that has one at each run: a part of those whose extents are
 * numbers, else what an index takes, as how long a part of an open one is only a run knows. */
static ot_onnx_value *line_in(ot_onnx_node *n, ot_onnx_value *whole, const optune_tensor *of,
                              int axis)
{
    static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
    const optune_tensor one = {.dtype = i64, .rank = 1, .dim = {optune_dim_of(1)}};
    ot_onnx_value *first = NULL;
    if (ot_onnx_room(n->m, &one, &first, n->err) < 0) /* it is 0 */
        return NULL;
    for (int d = 0; d < of->rank && whole; d++) {
        if (d == axis || of->dim[d].min < 1 || of->dim[d].max == 1)
            continue;
        whole = optune_dim_known(&of->dim[d])
                    ? ot_onnx_part(n, whole, d, 0, 1)
                    : ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){whole, first},
                                   "axis=%d", d);
    }
    return whole;
}

/* Over axes that may have no place: a sum, which is there even of nothing. */
static ot_onnx_value *over_empty(ot_onnx_node *n, ot_onnx_value *all, const optune_tensor *of,
                                 int axis)
{
    ot_text axes = {0};
    for (int d = 0; d < of->rank; d++)
        if (d != axis && of->dim[d].min < 1)
            ot_text_printf(&axes, "%s%d", axes.n ? "," : "", d);
    if (all && axes.n) {
        all = ot_onnx_call(n, "sum", 1, &all, "axis=[%s], keepdims=true", ot_text_str(&axes));
        all = all ? ot_onnx_1(n, "ones_like", all) : NULL;
    }
    ot_text_release(&axes);
    return all;
}

/* Whether every other axis has a first place at each run. */
static bool has_line(const optune_tensor *type, int axis)
{
    for (int d = 0; d < type->rank; d++)
        if (d != axis && type->dim[d].min < 1)
            return false;
    return true;
}

/* The type of the first value that has such a dim, of one whose line is there at each run where
 * there is such; NULL: none has. */
static const optune_tensor *find_line(const ot_onnx_node *n, const optune_dim *dim, int *node,
                                      int *axis)
{
    const optune_graph *g = n->m->g;
    for (int any = 0; any < 2; any++)
        for (*node = 0; *dim->name && *node < g->n; ++*node) {
            ot_value at;
            const optune_tensor *type =
                ot_graph_tensor(g, *node, &at) ? ot_graph_type_of(g, at) : NULL;
            *axis = type ? dim_of(type, dim) : -1;
            if (*axis >= 0 && (any || has_line(type, *axis)))
                return type;
        }
    return NULL;
}

bool ot_onnx_has_line(const ot_onnx_node *n, const optune_dim *dim)
{
    int node, axis;
    return find_line(n, dim, &node, &axis) != NULL;
}

enum {
    DEEPEST = 4,          /* quotients of a dim within one another */
    MOST_TIMES = 1 << 24, /* elements of constants, which a few bytes of a file may ask for */
};

static ot_onnx_value *ones(ot_onnx_node *n, int rank, const optune_dim *dim);
static ot_onnx_value *ones_of(ot_onnx_node *n, const optune_dim *dim, int depth);

/* As many as both have, of lines that may be NULL: then the other. */
static ot_onnx_value *ones_of_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *b)
{
    if (!a)
        return b;
    a = ot_onnx_reshape(n, a, 2, (const int64_t[]){-1, 1});
    b = ot_onnx_reshape(n, b, 2, (const int64_t[]){1, -1});
    ot_onnx_value *all = a && b ? ot_onnx_2(n, "multiply", a, b) : NULL;
    return all ? ot_onnx_reshape(n, all, 1, (const int64_t[]){-1}) : NULL;
}

/* Of every so many the last one: as many as the quotient rounded down. */
static ot_onnx_value *ones_of_quotient(ot_onnx_node *n, const optune_dim *over, int64_t by,
                                       int depth)
{
    ot_onnx_value *all = ones_of(n, over, depth + 1);
    return by == 1 || !all
               ? all
               : ot_onnx_call(n, "strided_slice", 1, &all,
                              "begin=[%lld], end=[%lld], strides=[%lld]", (long long)by - 1,
                              (long long)OPTUNE_MAX_DIM, (long long)by);
}

static ot_onnx_value *ones_of_term(ot_onnx_node *n, const ot_dim_term *term, int depth)
{
    ot_onnx_value *all = term->times > 1 || !term->n
                             ? ones(n, 1, &(optune_dim){.min = term->times, .max = term->times})
                             : NULL;
    for (int f = 0; f < term->n; f++) {
        ot_onnx_value *line = ones_of_quotient(n, &term->factor[f], term->by[f], depth);
        all = line ? ones_of_product(n, all, line) : NULL;
        if (!all)
            return NULL;
    }
    return all;
}

/* Those of each term behind one another, without as many as a number that is taken away. */
static ot_onnx_value *ones_of_sum(ot_onnx_node *n, const optune_dim *dim, int depth)
{
    ot_dim_term term[OT_DIM_TERMS];
    ot_onnx_value *part[OT_DIM_TERMS];
    const int terms = depth < DEEPEST && ot_dim_computed(dim) ? ot_dim_terms(dim, term) : 0;
    int64_t less = 0;
    int parts = 0;
    for (int i = 0; i < terms; i++) {
        if (term[i].times < 0 && !term[i].n)
            less = -term[i].times;
        else if (term[i].times < 0 || term[i].times > MOST_TIMES ||
                 !(part[parts++] = ones_of_term(n, &term[i], depth)))
            return NULL;
    }
    ot_onnx_value *all = parts ? ot_onnx_join(n, 0, parts, part) : NULL;
    if (all && less) {
        const optune_dim sum = ot_onnx_type(n->m, all)->dim[0];
        all = ot_onnx_confine(n, &sum, less, false)
                  ? ot_onnx_part(n, all, 0, less, OPTUNE_MAX_DIM)
                  : NULL;
    }
    return all && !strcmp(ot_onnx_type(n->m, all)->dim[0].name, dim->name) ? all : NULL;
}

/* One dim of them; NULL: nothing of the graph tells how many. */
static ot_onnx_value *ones_of(ot_onnx_node *n, const optune_dim *dim, int depth)
{
    int node, axis;
    const optune_tensor *type = find_line(n, dim, &node, &axis);
    if (!type)
        return ones_of_sum(n, dim, depth);
    const optune_tensor of = *type; /* it moves as the graph grows */
    ot_onnx_value *line = ot_onnx_new(n->m);
    line->node = node;
    line = line_in(n, line, &of, axis);
    line = line ? ot_onnx_as(n, ot_onnx_1(n, "ones_like", line), f32) : NULL;
    line = over_empty(n, line, &of, axis);
    return line ? ot_onnx_reshape(n, line, 1, (const int64_t[]){-1}) : NULL;
}

ot_onnx_value *ot_onnx_ones_along(ot_onnx_node *n, const optune_dim *dim, optune_dtype dtype,
                                  int rank, int axis)
{
    int64_t shape[OPTUNE_MAX_RANK];
    ot_onnx_value *line = ones_of(n, dim, 0);
    if (!line && n->err->status >= 0)
        ot_onnx_ask(n, dim, -1);
    for (int d = 0; d < rank; d++)
        shape[d] = d == axis ? -1 : 1;
    return ot_onnx_as(n, line ? ot_onnx_reshape(n, line, rank, shape) : NULL, dtype);
}

/* Ones in this shape. */
static ot_onnx_value *ones(ot_onnx_node *n, int rank, const optune_dim *dim)
{
    const double one = 1;
    optune_tensor known = {.dtype = f32, .rank = rank};
    ot_onnx_value *all = NULL;
    for (int d = 0; d < rank; d++)
        known.dim[d] = optune_dim_of(optune_dim_known(&dim[d]) ? dim[d].min : 1);
    if (ot_onnx_room(n->m, &known, &all, n->err) < 0)
        return NULL;
    for (int64_t i = 0; i < optune_tensor_elements(&known); i++)
        ot_elements_set(f32, all->data, i, 1, &one);
    for (int d = 0; d < rank; d++)
        if (!optune_dim_known(&dim[d])) {
            ot_onnx_value *line = ot_onnx_ones_along(n, &dim[d], f32, rank, d);
            all = line && all ? ot_onnx_2(n, "multiply", all, line) : NULL;
        }
    return all;
}

ot_onnx_value *ot_onnx_spread(ot_onnx_node *n, ot_onnx_value *value, int rank,
                              const optune_dim *dim)
{
    ot_onnx_value *like = value ? ones(n, rank, dim) : NULL;
    like = like ? ot_onnx_as(n, like, ot_onnx_type(n->m, value)->dtype) : NULL;
    return like ? ot_onnx_2(n, "broadcast_to_like", value, like) : NULL;
}
