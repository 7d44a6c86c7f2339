/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of which a file keeps the elements that are not 0 alone: written out, as nothing behind
 * this file knows others. */
#include <string.h>

#include "onnx/onnx.h"

/* Its elements, held until `let_go`. */
static const void *hold(const ot_onnx_value *value, optune_err *err)
{
    return value->backing && ot_backing_hold(value->backing, err) < 0 ? NULL : value->data;
}

static void let_go(const ot_onnx_value *value)
{
    if (value->backing)
        ot_backing_let_go(value->backing);
}

/* Where element i lies, by one number or one along each dim; -1: nowhere. */
static int64_t place_of(const optune_tensor *type, const int64_t *index, int64_t i, int each)
{
    if (each == 0)
        return index[i] < optune_tensor_elements(type) ? index[i] : -1;
    int64_t at = 0;
    for (int d = 0; d < each; d++) {
        const int64_t along = index[i * each + d];
        if (along < 0 || along >= type->dim[d].min)
            return -1;
        at = at * type->dim[d].min + along;
    }
    return at;
}

static int spread(const ot_onnx_value *few, const ot_onnx_value *where, ot_onnx_value *to,
                  optune_err *err)
{
    const int64_t n = optune_tensor_elements(&few->type);
    const int each = where->type.rank == 2 ? to->type.rank : 0;
    const size_t size = n ? (size_t)(optune_tensor_bytes(&few->type) / n) : 0;
    const char *from = hold(few, err);
    const int64_t *index = from ? hold(where, err) : NULL;
    int status = index ? OPTUNE_OK : err->status;
    for (int64_t i = 0; i < n && status >= 0; i++) {
        const int64_t at = place_of(&to->type, index, i, each);
        if (at < 0)
            status = optune_fail(err, OPTUNE_EDAMAGED,
                                 "element %lld of its %lld lies outside its dims", (long long)i,
                                 (long long)n);
        else
            memcpy((char *)to->data + (size_t)at * size, from + (size_t)i * size, size);
    }
    if (index)
        let_go(where);
    if (from)
        let_go(few);
    return status;
}

static int type_of(const ot_onnx_sparse *sparse, const ot_onnx_value *few,
                   const ot_onnx_value *where, optune_tensor *type, optune_err *err)
{
    const optune_tensor *index = &where->type;
    *type = (optune_tensor){.dtype = few->type.dtype, .rank = (int)sparse->n_dims};
    if (sparse->n_dims > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ELIMIT, "%zu dims, more than %d", sparse->n_dims,
                           OPTUNE_MAX_RANK);
    for (int d = 0; d < type->rank; d++) {
        if (sparse->dims[d] < 0 || sparse->dims[d] > OPTUNE_MAX_DIM)
            return optune_fail(err, OPTUNE_ELIMIT, "a dim of %lld", (long long)sparse->dims[d]);
        type->dim[d] = optune_dim_of(sparse->dims[d]);
    }
    const bool fits = few->type.rank == 1 && index->dtype.code == OPTUNE_DTYPE_INT &&
                      index->dtype.bits == 64 && index->rank >= 1 && index->rank <= 2 &&
                      index->dim[0].min == few->type.dim[0].min &&
                      (index->rank == 1 || (type->rank > 0 && index->dim[1].min == type->rank));
    return fits ? OPTUNE_OK
                : optune_fail(err, OPTUNE_EDAMAGED,
                              "a sparse tensor of %d dims: its places are no list of 64-bit "
                              "integers, one or %d for each of its elements",
                              type->rank, type->rank);
}

int ot_onnx_take_sparse(ot_onnx *m, const ot_onnx_sparse *sparse, ot_onnx_value **value,
                        optune_err *err)
{
    ot_onnx_value *few, *where;
    optune_tensor type;
    if (!sparse->values || !sparse->indices)
        return optune_fail(err, OPTUNE_EDAMAGED, "a sparse tensor without elements or places");
    int status = ot_onnx_take(m, sparse->values, &few, err);
    if (status >= 0)
        status = ot_onnx_take(m, sparse->indices, &where, err);
    if (status >= 0)
        status = type_of(sparse, few, where, &type, err);
    if (status >= 0)
        status = ot_onnx_room(m, &type, value, err);
    if (status < 0)
        return status;
    (*value)->nibbles = few->nibbles;
    return spread(few, where, *value, err);
}
