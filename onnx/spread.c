/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values in shapes of which some dims only a run knows. A value of the graph that is as long lends
 * its length: one line of it, whose elements are not read.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

enum { SUMMANDS = 8 }; /* of a dim that is made of others */

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

/* Which dim of a tensor is this one; -1: none. */
static int dim_of(const optune_tensor *type, const optune_dim *dim)
{
    for (int d = 0; d < type->rank; d++)
        if (!strcmp(type->dim[d].name, dim->name))
            return d;
    return -1;
}

/* The first place along each other axis: a part of those whose extents are numbers, else what an
 * index takes, as how long a part of an open one is only a run knows. */
static ot_onnx_value *line_in(ot_onnx_node *n, ot_onnx_value *whole, const optune_tensor *of,
                              int axis)
{
    static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
    const optune_tensor type = *of, one = {.dtype = i64, .rank = 1, .dim = {optune_dim_of(1)}};
    ot_onnx_value *first = NULL;
    if (ot_onnx_room(n->m, &one, &first, n->err) < 0) /* it is 0 */
        return NULL;
    for (int d = 0; d < type.rank && whole; d++) {
        if (d == axis || (type.dim[d].min == 1 && type.dim[d].max == 1))
            continue;
        whole = type.dim[d].min > 0 && optune_dim_known(&type.dim[d])
                    ? ot_onnx_part(n, whole, d, 0, 1)
                    : ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){whole, first},
                                   "axis=%d", d);
    }
    return whole;
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

/* NULL: no value has such a dim, which says what to bind. */
static ot_onnx_value *line_of(ot_onnx_node *n, const optune_dim *dim)
{
    int node, axis;
    const optune_tensor *type = find_line(n, dim, &node, &axis);
    if (!type) {
        ot_onnx_ask(n, dim, -1);
        return NULL;
    }
    ot_onnx_value *whole = ot_onnx_new(n->m);
    whole->node = node;
    return line_in(n, whole, type, axis);
}

static ot_onnx_value *ones(ot_onnx_node *n, int rank, const optune_dim *dim);

/* The summands of a dim such as "p+t+1", names of which some value has a dim, and numbers; 0: it is
 * no such sum. */
static int summands_of(const ot_onnx_node *n, const optune_dim *dim, optune_dim *part)
{
    int parts = 0;
    for (const char *text = optune_dim_text(dim); *text; text += *text == '+') {
        const size_t size = strcspn(text, "+");
        optune_dim *one = &part[parts];
        *one = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
        if (!size || size >= sizeof one->name || parts++ == SUMMANDS ||
            strcspn(text, "-*/()") < size)
            return 0;
        memcpy(one->name, text, size);
        if (strspn(one->name, "0123456789") == size)
            *one = optune_dim_of(strtoll(text, NULL, 10));
        else if (!ot_onnx_has_line(n, one))
            return 0;
        text += size;
    }
    return parts > 1 ? parts : 0;
}

/* Those of each summand behind one another. */
static ot_onnx_value *ones_along_sum(ot_onnx_node *n, const optune_dim *part, int parts,
                                     optune_dtype dtype, int rank, int axis)
{
    ot_onnx_value *all = NULL;
    for (int i = 0; i < parts; i++) {
        optune_dim shape[OPTUNE_MAX_RANK];
        for (int d = 0; d < rank; d++)
            shape[d] = d == axis ? part[i] : optune_dim_of(1);
        ot_onnx_value *more = ot_onnx_as(n, ones(n, rank, shape), dtype);
        all = !more    ? NULL
              : i == 0 ? more
                       : ot_onnx_call(n, "concatenate", 2, (ot_onnx_value *const[]){all, more},
                                      "axis=%d", axis);
        if (!all)
            return NULL;
    }
    return all;
}

ot_onnx_value *ot_onnx_ones_along(ot_onnx_node *n, const optune_dim *dim, optune_dtype dtype,
                                  int rank, int axis)
{
    int64_t shape[OPTUNE_MAX_RANK];
    optune_dim part[SUMMANDS + 1];
    const int parts = ot_onnx_has_line(n, dim) ? 0 : summands_of(n, dim, part);
    if (parts)
        return ones_along_sum(n, part, parts, dtype, rank, axis);
    ot_onnx_value *line = line_of(n, dim);
    for (int d = 0; d < rank; d++)
        shape[d] = d == axis ? -1 : 1;
    line = line ? ot_onnx_1(n, "ones_like", line) : NULL;
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
