/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of our operators on values. One whose inputs are constants is evaluated where it
 * stands, in a graph of its own; any other enters the model's graph and gets its type at once.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

/* What is computed of what is computed ...: no more than that, as each holds the ones before it. */
enum { MOST_DEPTH = 4 };

/* The call in a graph of its own, over elements that are lent. */
static int make_graph(ot_onnx_node *n, optune_graph *g, const char *op, int n_in,
                      ot_onnx_value *const *in, const char *attrs)
{
    int id[OPTUNE_MAX_INPUTS];
    ot_text text = {0};
    for (int i = 0; i < n_in; i++) {
        id[i] = optune_graph_constant(g, NULL, ot_onnx_type_text(&in[i]->type, &text), NULL,
                                      n->err);
        if (id[i] < 0)
            continue;
        g->node[id[i]].data = in[i]->data;
        if (in[i]->backing)
            g->node[id[i]].backing = ot_backing_share(in[i]->backing);
    }
    ot_text_release(&text);
    int status = optune_graph_call(g, NULL, op, id, n_in, attrs, n->err);
    if (status >= 0)
        status = optune_graph_output(g, status, n->err);
    return status < 0 ? status : optune_graph_infer(g, n->err);
}

/* What was lent is the values' again; what is shared is closed with the graph. */
static void close_graph(optune_graph *g)
{
    for (int i = 0; i < g->n; i++)
        if (!g->node[i].backing)
            g->node[i].data = NULL;
    optune_graph_close(g);
}

/* Outputs 1 to `n_more` of a call, beside its first one. */
static int keep_more(ot_onnx_node *n, int n_more, const optune_values *values,
                     ot_onnx_value *first)
{
    int status = OPTUNE_OK;
    first->more = ot_arena_alloc(&n->m->arena, (size_t)n_more * sizeof(ot_onnx_value *));
    for (int i = 0; i < n_more && status >= 0; i++) {
        const optune_tensor *type = optune_values_type(values, i + 1);
        status = ot_onnx_room(n->m, type, &first->more[i], n->err);
        if (status >= 0)
            memcpy(first->more[i]->data, optune_values_data(values, i + 1),
                   (size_t)optune_tensor_bytes(type));
    }
    return status;
}

static int compute_now(ot_onnx_node *n, const optune_graph *g, bool known,
                       ot_onnx_value **result)
{
    optune_values *values = NULL;
    int status = OPTUNE_OK;
    if (known) /* before references get their own room */
        status = ot_onnx_room(n->m, optune_graph_output_type(g, 0), result, n->err);
    if (status >= 0)
        status = optune_graph_evaluate(g, NULL, NULL, &values, n->err);
    if (status >= 0 && !known)
        status = ot_onnx_room(n->m, optune_values_type(values, 0), result, n->err);
    if (status >= 0)
        memcpy((*result)->data, optune_values_data(values, 0),
               (size_t)optune_tensor_bytes(&(*result)->type));
    if (status >= 0 && g->n_output_tensors > 1)
        status = keep_more(n, g->n_output_tensors - 1, values, *result);
    optune_values_free(values);
    return status;
}

static int compute_again(void *from, void *to, size_t bytes, optune_err *err)
{
    optune_values *values = NULL;
    const int status = optune_graph_evaluate(from, NULL, NULL, &values, err);
    if (status >= 0)
        memcpy(to, optune_values_data(values, 0), bytes);
    optune_values_free(values);
    return status;
}

static void forget(void *from)
{
    optune_graph_close(from);
}

/* How many computations lie one behind the other, if this one can wait; or 0. */
static int depth_of(const optune_graph *g, int n_in, ot_onnx_value *const *in)
{
    const optune_tensor *type = optune_graph_output_type(g, 0);
    int depth = 0;
    for (int i = 0; i < n_in; i++) {
        if (!in[i]->backing && optune_tensor_bytes(&in[i]->type) >= OT_ONNX_LARGE)
            return 0; /* it would be there twice */
        depth = in[i]->depth > depth ? in[i]->depth : depth;
    }
    return depth < MOST_DEPTH && g->node[g->n - 1].call->op->reference &&
                   optune_tensor_bytes(type) >= OT_ONNX_LARGE
               ? depth + 1
               : 0;
}

/* Takes the graph over. Small inputs become its own. */
static int compute_later(ot_onnx_node *n, optune_graph *g, int depth, ot_onnx_value **result)
{
    const optune_tensor type = *optune_graph_output_type(g, 0);
    int status = ot_onnx_count(n->m, &type, n->err);
    for (int i = 0; i < g->n; i++) {
        const void *lent = g->node[i].data;
        if (!lent || g->node[i].backing)
            continue;
        g->node[i].data = NULL;
        const int set = status < 0 ? status : optune_graph_set_data(g, i, lent, n->err);
        status = set < 0 ? set : status;
    }
    ot_backing *backing = status < 0 ? NULL
                                     : ot_backing_new((size_t)optune_tensor_bytes(&type),
                                                      compute_again, forget, g, n->err);
    if (!backing)
        optune_graph_close(g);
    return status < 0 ? status : ot_onnx_backed(n->m, &type, backing, depth, result);
}

/* What is large and made of what can be had again is computed whenever somebody holds it,
 * anything else now. */
static ot_onnx_value *fold(ot_onnx_node *n, const char *op, int n_in, ot_onnx_value *const *in,
                           const char *attrs)
{
    ot_onnx_value *result = NULL;
    optune_graph *g = ot_graph_new();
    int status = make_graph(n, g, op, n_in, in, attrs);
    const bool known = status == OPTUNE_OK; /* else its size is in the values */
    const int depth = known && g->n_output_tensors == 1 ? depth_of(g, n_in, in) : 0;
    if (depth)
        return compute_later(n, g, depth, &result) < 0 ? NULL : result;
    if (status >= 0)
        status = compute_now(n, g, known, &result);
    close_graph(g);
    return status < 0 ? NULL : result;
}

static ot_onnx_value *add_call(ot_onnx_node *n, const char *op, int n_in,
                               ot_onnx_value *const *in, const char *attrs)
{
    ot_onnx *m = n->m;
    const char *stem = ot_onnx_stem(m, n->proto->n_output ? n->proto->output[0] : op);
    int id[OPTUNE_MAX_INPUTS];
    for (int i = 0; i < n_in; i++) {
        id[i] = ot_onnx_put(m, in[i], ot_arena_printf(&m->arena, "%s_c", stem), n->err);
        if (id[i] < 0)
            return NULL;
    }
    const int node =
        optune_graph_call(m->g, ot_graph_fresh_name(m->g, stem), op, id, n_in, attrs, n->err);
    if (node < 0 || ot_graph_infer_call(m->g, node, n->err) < 0)
        return NULL;
    ot_onnx_value *value = ot_onnx_new(m);
    value->node = node;
    return value;
}

ot_onnx_value *ot_onnx_call(ot_onnx_node *n, const char *op, int n_in, ot_onnx_value *const *in,
                            const char *attrs, ...)
{
    char text[OPTUNE_TEXT_SIZE] = "";
    bool constant = true;
    for (int i = 0; i < n_in; i++) {
        if (!in[i])
            return NULL;
        constant = constant && in[i]->data;
    }
    if (attrs) {
        va_list list;
        va_start(list, attrs);
        const int length = ot_format_list(text, sizeof text, attrs, list);
        va_end(list);
        if (length >= (int)sizeof text) {
            ot_onnx_refuse(n, "its attributes are too long");
            return NULL;
        }
    }
    return constant ? fold(n, op, n_in, in, text) : add_call(n, op, n_in, in, text);
}

ot_onnx_value *ot_onnx_1(ot_onnx_node *n, const char *op, ot_onnx_value *a)
{
    return ot_onnx_call(n, op, 1, &a, NULL);
}

ot_onnx_value *ot_onnx_2(ot_onnx_node *n, const char *op, ot_onnx_value *a, ot_onnx_value *b)
{
    return ot_onnx_call(n, op, 2, (ot_onnx_value *const[]){a, b}, NULL);
}

ot_onnx_value *ot_onnx_as(ot_onnx_node *n, ot_onnx_value *value, optune_dtype dtype)
{
    char name[16];
    if (!value || optune_dtype_equal(ot_onnx_type(n->m, value)->dtype, dtype))
        return value;
    ot_print_dtype(dtype, name, sizeof name);
    return ot_onnx_call(n, "cast", 1, &value, "dtype=%s", name);
}

ot_onnx_value *ot_onnx_wide(ot_onnx_node *n, ot_onnx_value *value)
{
    static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    const bool narrow =
        value && ot_onnx_floating(n, value) && ot_onnx_type(n->m, value)->dtype.bits < 32;
    return narrow ? ot_onnx_as(n, value, f32) : value;
}

ot_onnx_value *ot_onnx_number(ot_onnx_node *n, const ot_onnx_value *like, double number)
{
    ot_onnx_value *value = NULL;
    if (!like)
        return NULL;
    const optune_tensor type = {.dtype = ot_onnx_type(n->m, like)->dtype};
    if (ot_onnx_room(n->m, &type, &value, n->err) < 0)
        return NULL;
    ot_elements_set(type.dtype, value->data, 0, 1, &number);
    return value;
}

ot_onnx_value *ot_onnx_nothing(ot_onnx_node *n, optune_dtype dtype, int rank,
                               const int64_t *dim)
{
    ot_onnx_value *value = NULL;
    optune_tensor type = {.dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        type.dim[d] = optune_dim_of(dim[d]);
    return ot_onnx_room(n->m, &type, &value, n->err) < 0 ? NULL : value;
}

ot_onnx_value *ot_onnx_get(ot_onnx_node *n, const ot_onnx_value *value, int i)
{
    if (!value)
        return NULL;
    if (value->data)
        return i ? value->more[i - 1] : (ot_onnx_value *)(uintptr_t)value;
    const int node = optune_graph_get(n->m->g, NULL, value->node, i, n->err);
    if (node < 0)
        return NULL;
    ot_onnx_value *part = ot_onnx_new(n->m);
    part->node = node;
    return part;
}

/* What has no elements holds nothing of its input: a constant of these dims. `dim` has 0 for those
 * that are kept, and for those that are 0: there they are whichever gives no elements. */
static ot_onnx_value *reshape_nothing(ot_onnx_node *n, const optune_tensor *from, int rank,
                                      const int64_t *dim)
{
    optune_tensor to = {.dtype = from->dtype, .rank = rank};
    int64_t left = 1, given = 1, all = 1;
    ot_onnx_value *made = NULL;
    for (int d = 0; d < from->rank; d++)
        left *= d < rank && dim[d] == 0 ? 1 : from->dim[d].min;
    for (int d = 0; d < rank; d++)
        given *= dim[d] > 0 ? dim[d] : 1;
    for (int d = 0; d < rank; d++) {
        const bool kept = dim[d] == 0 && d < from->rank;
        to.dim[d] = kept ? from->dim[d] : optune_dim_of(dim[d] < 0 ? left / given : dim[d]);
        all *= to.dim[d].min;
    }
    for (int d = 0; d < rank && all; d++)
        to.dim[d] = optune_dim_of(dim[d] < 0 ? left / given : dim[d]);
    return ot_onnx_room(n->m, &to, &made, n->err) < 0 ? NULL : made;
}

/* Whether it is known and has no elements; `to`: dims that are kept from its last as numbers. */
static bool has_nothing(const optune_tensor *from, int rank, const int64_t *dim, int64_t *to)
{
    if (!from || rank > OPTUNE_MAX_RANK || !optune_tensor_known(from) ||
        optune_tensor_elements(from))
        return false;
    for (int d = 0; d < rank; d++)
        to[d] = dim[d] == OT_ONNX_FROM_LAST ? from->dim[from->rank - rank + d].min : dim[d];
    return true;
}

ot_onnx_value *ot_onnx_reshape(ot_onnx_node *n, ot_onnx_value *value, int rank,
                               const int64_t *dim)
{
    const optune_tensor *from = value ? ot_onnx_type(n->m, value) : NULL;
    int64_t to[OPTUNE_MAX_RANK];
    bool none = false, told = true;
    if (!has_nothing(from, rank, dim, to)) {
        for (int d = 0; d < rank; d++)
            for (int k = 0; from && dim[d] == 0 && k < from->rank; k++)
                if (!optune_dim_known(&from->dim[k])) { /* what follows of nothing? */
                    ot_onnx_ask(n, &from->dim[k], k);
                    return NULL;
                }
        return ot_onnx_reshape_keeping(n, value, rank, dim);
    }
    for (int d = 0; d < rank; d++) {
        none = none || to[d] == 0;
        told = told && to[d] >= 0;
    }
    if (none && !told) {
        ot_onnx_refuse(n, "of no elements no dim follows: bind all that are open, --bind DIM=N");
        return NULL;
    }
    return none ? ot_onnx_nothing(n, from->dtype, rank, to)
                : ot_onnx_reshape_keeping(n, value, rank, to);
}

ot_onnx_value *ot_onnx_reshape_keeping(ot_onnx_node *n, ot_onnx_value *value, int rank,
                                       const int64_t *dim)
{
    const optune_tensor *from = value ? ot_onnx_type(n->m, value) : NULL;
    int64_t to[OPTUNE_MAX_RANK];
    if (has_nothing(from, rank, dim, to))
        return reshape_nothing(n, from, rank, to);
    return ot_onnx_call(n, "reshape", 1, &value, "newshape=[%s]",
                        ot_onnx_text(n->m, rank, dim));
}

ot_onnx_value *ot_onnx_transpose(ot_onnx_node *n, ot_onnx_value *value, int rank,
                                 const int *axes)
{
    int64_t list[OPTUNE_MAX_RANK];
    bool same = true;
    for (int d = 0; d < rank; d++) {
        list[d] = axes[d];
        same = same && axes[d] == d;
    }
    return same ? value
                : ot_onnx_call(n, "transpose", 1, &value, "axes=[%s]",
                               ot_onnx_text(n->m, rank, list));
}

ot_onnx_value *ot_onnx_part(ot_onnx_node *n, ot_onnx_value *value, int axis, int64_t begin,
                            int64_t end)
{
    int64_t from[OPTUNE_MAX_RANK] = {0}, to[OPTUNE_MAX_RANK];
    if (!value)
        return NULL;
    for (int d = 0; d < axis; d++)
        to[d] = OPTUNE_MAX_DIM;
    from[axis] = begin;
    to[axis] = end;
    return ot_onnx_call(n, "strided_slice", 1, &value, "begin=[%s], end=[%s]",
                        ot_onnx_text(n->m, axis + 1, from), ot_onnx_text(n->m, axis + 1, to));
}

ot_onnx_value *ot_onnx_join(ot_onnx_node *n, int axis, int n_in, ot_onnx_value *const *in)
{
    ot_onnx_value *part[OPTUNE_MAX_INPUTS], *all = NULL;
    for (int i = 0; i < n_in;) {
        int n_part = 0;
        if (all)
            part[n_part++] = all;
        while (i < n_in && n_part < OPTUNE_MAX_INPUTS)
            part[n_part++] = in[i++];
        all = n_part == 1 ? part[0]
                          : ot_onnx_call(n, "concatenate", n_part, part, "axis=%d", axis);
        if (!all)
            return NULL;
    }
    return all;
}
