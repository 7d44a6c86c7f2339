/* SPDX-License-Identifier: Apache-2.0 */
/* What is known while a model is read: constants, and shapes as tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

/* A constant of `rank` 0 or 1 with room for n elements. */
static ot_onnx_value *room(ot_onnx_node *n, optune_dtype dtype, int rank, int64_t elements)
{
    ot_onnx_value *value = NULL;
    optune_tensor type = {.dtype = dtype, .rank = rank};
    type.dim[0] = optune_dim_of(rank ? elements : 0);
    if (rank == 0)
        type.dim[0] = (optune_dim){0};
    return ot_onnx_room(n->m, &type, &value, n->err) < 0 ? NULL : value;
}

static ot_onnx_value *copied(ot_onnx_node *n, optune_dtype dtype, int rank, size_t count,
                             const void *data)
{
    ot_onnx_value *value = room(n, dtype, rank, (int64_t)count);
    if (value && count)
        memcpy(value->data, data, (size_t)optune_tensor_bytes(&value->type));
    return value;
}

static int constant(ot_onnx_node *n)
{
    const ot_onnx_attr *a = n->proto->n_attribute == 1 ? n->proto->attribute[0] : NULL;
    const char *name = a && a->name ? a->name : "";
    ot_onnx_value *value = NULL;
    if (!strcmp(name, "value") && a->t) {
        const int status = ot_onnx_take(n->m, a->t, &value, n->err);
        return status < 0 ? status : ot_onnx_give(n, 0, value);
    }
    if (!strcmp(name, "sparse_value") && a->sparse_tensor) {
        const int status = ot_onnx_take_sparse(n->m, a->sparse_tensor, &value, n->err);
        return status < 0 ? status : ot_onnx_give(n, 0, value);
    }
    if (!strcmp(name, "value_float"))
        value = copied(n, f32, 0, 1, &a->f);
    else if (!strcmp(name, "value_floats"))
        value = copied(n, f32, 1, a->n_floats, a->floats);
    else if (!strcmp(name, "value_int"))
        value = copied(n, i64, 0, 1, &a->i);
    else if (!strcmp(name, "value_ints"))
        value = copied(n, i64, 1, a->n_ints, a->ints);
    else
        return ot_onnx_refuse(n, "attribute '%.40s' is no constant that is supported", name);
    return ot_onnx_give(n, 0, value);
}

/* One element as often as there is room, which is made whenever somebody holds it. */
typedef struct repeated {
    size_t size;
    char element[16];
} repeated;

static int make_fill(void *from, void *to, size_t bytes, optune_err *err)
{
    const repeated *f = from;
    (void)err;
    for (size_t at = 0; at < bytes; at += f->size)
        memcpy((char *)to + at, f->element, f->size);
    return OPTUNE_OK;
}

static int filled(ot_onnx_node *n, const optune_tensor *type, const void *element)
{
    ot_onnx_value *value = NULL;
    int status = ot_onnx_count(n->m, type, n->err);
    if (status < 0)
        return status;
    const size_t bytes = (size_t)optune_tensor_bytes(type);
    repeated *f = ot_alloc(sizeof *f);
    f->size = bytes / (size_t)optune_tensor_elements(type);
    if (element)
        memcpy(f->element, element, f->size);
    ot_backing *backing = ot_backing_new(bytes, make_fill, free, f, n->err);
    if (!backing)
        free(f);
    status = ot_onnx_backed(n->m, type, backing, 0, &value);
    return status < 0 ? status : ot_onnx_give(n, 0, value);
}

/* One element in a shape of which a run knows some dims. */
static int open_constant(ot_onnx_node *n, const ot_onnx_value *shape, ot_onnx_value *one)
{
    optune_dim dim[OT_ONNX_LIST];
    const int rank = ot_onnx_sizes_of(shape, dim);
    if (rank < 0 || rank > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "a shape of more than %d dims", OPTUNE_MAX_RANK);
    if (!one && !(one = room(n, f32, 0, 0)))
        return n->err->status;
    one = ot_onnx_reshape(n, one, 0, NULL);
    return ot_onnx_give(n, 0, ot_onnx_spread(n, one, rank, dim));
}

static int constant_of_shape(ot_onnx_node *n)
{
    const ot_onnx_value *shape = ot_onnx_need(n, 0);
    const ot_onnx_attr *fill = ot_onnx_attr_of(n, "value");
    ot_onnx_value *one = NULL, *value = NULL;
    ot_onnx_list list;
    int status = shape ? OPTUNE_OK : n->err->status;
    if (status >= 0 && fill && fill->t)
        status = ot_onnx_take(n->m, fill->t, &one, n->err);
    if (status >= 0 && shape->sizes && (!one || optune_tensor_elements(&one->type) == 1))
        return open_constant(n, shape, one);
    if (status >= 0)
        status = ot_onnx_list_of(n, shape, "shape", &list);
    if (status < 0)
        return status;
    optune_tensor type = {.dtype = one ? one->type.dtype : f32, .rank = list.n};
    if (list.n > OPTUNE_MAX_RANK || (one && optune_tensor_elements(&one->type) != 1))
        return ot_onnx_refuse(n, "a shape of %d dims, or more than one value", list.n);
    for (int d = 0; d < list.n; d++) {
        if (list.i[d] < 0 || list.i[d] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a dim of %lld", (long long)list.i[d]);
        type.dim[d] = optune_dim_of(list.i[d]);
    }
    if (ot_tensor_fits(&type) && optune_tensor_bytes(&type) >= OT_ONNX_LARGE)
        return filled(n, &type, one ? one->data : NULL);
    status = ot_onnx_room(n->m, &type, &value, n->err);
    if (status < 0)
        return status;
    const int64_t elements = optune_tensor_elements(&type);
    const size_t size = elements ? (size_t)(optune_tensor_bytes(&type) / elements) : 0;
    for (int64_t i = 0; i < elements && one; i++)
        memcpy((char *)value->data + (size_t)i * size, one->data, size);
    return ot_onnx_give(n, 0, value);
}

static int shape(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const int64_t rank = data ? ot_onnx_rank(n, data) : -1;
    if (rank < 0)
        return n->err->status;
    int64_t from = ot_onnx_int(n, "start", 0), to = ot_onnx_int(n, "end", rank);
    from += from < 0 ? rank : 0;
    to += to < 0 ? rank : 0;
    from = from < 0 ? 0 : from > rank ? rank : from;
    to = to < from ? from : to > rank ? rank : to;
    const optune_tensor type = {.dtype = i64, .rank = 1, .dim = {optune_dim_of(to - from)}};
    return ot_onnx_give(n, 0, ot_onnx_sizes(n, &type, ot_onnx_type(n->m, data)->dim + from));
}

static int size(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const optune_dim *dim[OPTUNE_MAX_RANK];
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    if (rank < 0)
        return n->err->status;
    for (int d = 0; d < rank; d++)
        dim[d] = &ot_onnx_type(n->m, data)->dim[d];
    optune_dim elements =
        rank ? (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX} : optune_dim_of(1);
    if (rank)
        optune_dim_multiply(&elements, rank, dim, 1);
    return ot_onnx_give(n, 0, ot_onnx_sizes(n, &(optune_tensor){.dtype = i64}, &elements));
}

/* To before what only a run knows, by ones. */
static int open_range(ot_onnx_node *n, const ot_onnx_value *from, const ot_onnx_value *to,
                      const ot_onnx_value *step)
{
    optune_dim dim[3][OT_ONNX_LIST];
    const ot_onnx_value *const in[] = {from, to, step};
    for (int i = 0; i < 3; i++)
        if (ot_onnx_sizes_of(in[i], dim[i]) != 1)
            return in[i]->sizes ? ot_onnx_ask(n, &in[i]->sizes[0], -1)
                                : ot_onnx_refuse(n, "its limits are no integers");
    if (!optune_dim_known(dim[2]) || dim[0]->min < 0 || dim[2]->min != 1)
        return ot_onnx_ask(n, optune_dim_known(dim[0]) ? dim[1] : dim[0], -1);
    return ot_onnx_give(n, 0, ot_onnx_count_open(n, dim[0], dim[1], from->type.dtype));
}

static int range(ot_onnx_node *n)
{
    double limit[3] = {0};
    const ot_onnx_value *from = ot_onnx_need(n, 0), *to = ot_onnx_need(n, 1),
                        *step = ot_onnx_need(n, 2);
    if (from && to && step && (from->sizes || to->sizes || step->sizes))
        return open_range(n, from, to, step);
    for (int i = 0; i < 3; i++) {
        const ot_onnx_value *value = ot_onnx_need(n, i);
        if (!value || !value->data || optune_tensor_elements(&value->type) != 1)
            return ot_onnx_refuse(n, "its limits are no constant numbers");
        ot_elements(value->type.dtype, value->data, 0, 1, &limit[i]);
    }
    const double count = ceil((limit[1] - limit[0]) / limit[2]);
    if (!(count < 1e9)) /* NaN, too */
        return ot_onnx_refuse(n, "a range of %g elements", count);
    const int64_t elements = count > 0 ? (int64_t)count : 0;
    ot_onnx_value *value = room(n, ot_onnx_in(n, 0)->type.dtype, 1, elements);
    for (int64_t i = 0; i < elements && value; i++) {
        const double x = limit[0] + (double)i * limit[2];
        ot_elements_set(value->type.dtype, value->data, i, 1, &x);
    }
    return ot_onnx_give(n, 0, value);
}

static const ot_onnx_op ops[] = {
    {"Constant", constant, NULL}, {"ConstantOfShape", constant_of_shape, NULL},
    {"Shape", shape, NULL},       {"Size", size, NULL},
    {"Range", range, NULL},       {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(constant) = {ops};
