/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is added to scores of attention by how far a key lies from its query (com.microsoft): a
 * number for each bucket of distances, as T5 has them, and such numbers behind gates that follow
 * from the queries.
 */
#include <math.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* The bucket of a key `far` places behind its query. The nearest have one each, others share them
 * by the logarithm of their distance, in float32. */
static int64_t bucket_of(int64_t far, int64_t buckets, int64_t most, bool both_ways)
{
    int64_t first = 0;
    if (both_ways) {
        buckets /= 2;
        first = far > 0 ? buckets : 0;
    }
    far = far < 0 ? -far : far;
    const int64_t own = buckets / 2;
    if (far < own)
        return first + far;
    const float share =
        logf((float)far / (float)own) / logf((float)most / (float)own) * (float)(buckets - own);
    const int64_t at = own + (int64_t)fminf(share, (float)buckets);
    return first + (at < buckets ? at : buckets - 1);
}

/* A dim that the model has to know. */
static bool length_of(ot_onnx_node *n, int i, const char *what, int64_t *length)
{
    ot_onnx_list list;
    value *given = ot_onnx_need(n, i);
    if (!given || ot_onnx_list_of(n, given, what, &list) < 0)
        return false;
    *length = list.n == 1 ? list.i[0] : -1;
    if (*length < 0 || *length > OPTUNE_MAX_DIM)
        ot_onnx_refuse(n, "'%s' is no number of places", what);
    return n->err->status >= 0;
}

/* [1,heads,queries,keys]. The table's elements lie head by head, whatever its dims [buckets,heads]
 * say. */
static int by_distance(ot_onnx_node *n)
{
    value *table = ot_onnx_need(n, 0), *bucket = NULL;
    const int64_t most = ot_onnx_int(n, "max_distance", 128);
    const bool both_ways = ot_onnx_int(n, "is_bidirectional", 0) != 0;
    int64_t dim[OPTUNE_MAX_RANK], queries, keys;
    if (!table || !ot_onnx_dims(n, table, dim) || !length_of(n, 1, "query_length", &queries) ||
        !length_of(n, 2, "key_length", &keys))
        return n->err->status;
    const int64_t own = dim[0] / (both_ways ? 4 : 2);
    if (ot_onnx_rank(n, table) != 2 || own < 1 || most <= own)
        return ot_onnx_refuse(n, "a table of %d dims, of %lld buckets for distances to %lld",
                              ot_onnx_rank(n, table), (long long)dim[0], (long long)most);
    const optune_tensor type = {.dtype = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1},
                                .rank = 2,
                                .dim = {optune_dim_of(queries), optune_dim_of(keys)}};
    if (ot_onnx_room(n->m, &type, &bucket, n->err) < 0)
        return n->err->status;
    for (int64_t q = 0; q < queries; q++)
        for (int64_t k = 0; k < keys; k++)
            ((int64_t *)bucket->data)[q * keys + k] = bucket_of(k - q, dim[0], most, both_ways);
    table = ot_onnx_reshape(n, table, 2, (const int64_t[]){dim[1], dim[0]});
    value *all = ot_onnx_call(n, "take", 2, (value *const[]){table, bucket}, "axis=1");
    return ot_onnx_give(n, 0, ot_onnx_call(n, "expand_dims", 1, &all, "axis=0"));
}

/* u (r a - 1) + 2 times the numbers, where u and r are sigmoids of sums over halves of a product
 * with the queries. */
static int gated(ot_onnx_node *n)
{
    enum { QUERIES, BIAS, PLACES, WEIGHT, WEIGHT_BIAS, FACTOR, OFFSETS };
    value *in[OFFSETS];
    int64_t dim[OPTUNE_MAX_RANK], columns[OPTUNE_MAX_RANK];
    for (int i = 0; i < OFFSETS; i++)
        if (!(in[i] = ot_onnx_need(n, i)))
            return n->err->status;
    if (ot_onnx_in(n, OFFSETS))
        return ot_onnx_refuse(n, "its input token_offset, of queries without padding, is not "
                                 "supported");
    value *q = ot_onnx_2(n, "add", in[QUERIES], in[BIAS]);
    q = q ? ot_onnx_split_heads(n, q, ot_onnx_int(n, "num_heads", 0), dim) : NULL;
    if (!q || !ot_onnx_dims(n, in[WEIGHT], columns))
        return n->err->status;
    if (ot_onnx_rank(n, in[WEIGHT]) != 2 || columns[1] < 2 || columns[1] % 2)
        return ot_onnx_refuse(n, "its weight has no columns for two gates");
    q = ot_onnx_2(n, "add", ot_onnx_product(n, q, in[WEIGHT]), in[WEIGHT_BIAS]);
    const int64_t halves[] = {dim[0], dim[1], dim[2], 2, columns[1] / 2};
    q = ot_onnx_reshape(n, q, 5, halves);
    value *gate = ot_onnx_1(n, "sigmoid", ot_onnx_call(n, "sum", 1, &q, "axis=[4]"));
    value *u = ot_onnx_part(n, gate, 3, 0, 1), *r = ot_onnx_part(n, gate, 3, 1, 2);
    r = ot_onnx_2(n, "multiply", r, in[FACTOR]);
    r = ot_onnx_2(n, "subtract", r, ot_onnx_number(n, r, 1));
    u = ot_onnx_2(n, "multiply", u, r);
    u = ot_onnx_2(n, "add", u, ot_onnx_number(n, u, 2));
    return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", u, in[PLACES]));
}

static const ot_onnx_op ops[] = {
    {"com.microsoft::RelativePositionBias", by_distance, NULL},
    {"com.microsoft::GatedRelativePositionBias", gated, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(relative) = {ops};
