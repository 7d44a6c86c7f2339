/* SPDX-License-Identifier: Apache-2.0 */
/* Positions as angles by which pairs of a head's elements are turned, in ONNX's form and in
 * onnxruntime's, which has its inputs in another order. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

typedef struct rotation {
    value *x;         /* [B,heads,S,D] or [B,S,heads,D] */
    value *cos, *sin; /* of each pair, beside it */
    int64_t part;     /* of D, that is turned */
    int64_t dim[OPTUNE_MAX_RANK];
    bool between; /* a pair lies side by side; else half of `part` apart */
} rotation;

/* One angle's function for each place: [B,S,pairs], with a dim of 1 for the heads. */
static value *angles(ot_onnx_node *n, value *table, value *positions, int heads_at)
{
    if (table && positions)
        table = ot_onnx_call(n, "take", 2, (value *const[]){table, positions}, "axis=0");
    if (table && ot_onnx_rank(n, table) != 3) {
        ot_onnx_refuse(n, "its angles have %d dims for each batch and place, not 3",
                       ot_onnx_rank(n, table));
        return NULL;
    }
    return ot_onnx_call(n, "expand_dims", 1, &table, "axis=%d", heads_at);
}

/* The first or the second of each pair. */
static value *half(ot_onnx_node *n, const rotation *r, int which)
{
    value *x = r->x;
    if (!r->between)
        return ot_onnx_part(n, x, 3, which ? r->part / 2 : 0, which ? r->part : r->part / 2);
    return ot_onnx_call(n, "strided_slice", 1, &x,
                        "begin=[0,0,0,%d], end=[%lld,%lld,%lld,%lld], strides=[1,1,1,2]", which,
                        (long long)OPTUNE_MAX_DIM, (long long)OPTUNE_MAX_DIM,
                        (long long)OPTUNE_MAX_DIM, (long long)r->part);
}

static value *turned(ot_onnx_node *n, const rotation *r)
{
    value *a = half(n, r, 0), *b = a ? half(n, r, 1) : NULL;
    if (!b || !r->cos || !r->sin)
        return NULL;
    value *pair[] = {ot_onnx_2(n, "subtract", ot_onnx_2(n, "multiply", a, r->cos),
                               ot_onnx_2(n, "multiply", b, r->sin)),
                     ot_onnx_2(n, "add", ot_onnx_2(n, "multiply", a, r->sin),
                               ot_onnx_2(n, "multiply", b, r->cos)),
                     NULL};
    for (int i = 0; i < 2 && r->between; i++)
        pair[i] = ot_onnx_call(n, "expand_dims", 1, &pair[i], "axis=4");
    if (!pair[0] || !pair[1])
        return NULL;
    const int64_t *dim = r->dim;
    if (r->between) {
        pair[0] = ot_onnx_reshape(n, ot_onnx_join(n, 4, 2, pair), 4,
                                  (const int64_t[]){dim[0], dim[1], dim[2], r->part});
        if (!pair[0] || r->part == dim[3])
            return pair[0];
        pair[1] = ot_onnx_part(n, r->x, 3, r->part, dim[3]);
        return ot_onnx_join(n, 3, 2, pair);
    }
    pair[2] = r->part < dim[3] ? ot_onnx_part(n, r->x, 3, r->part, dim[3]) : NULL;
    return ot_onnx_join(n, 3, pair[2] ? 3 : 2, pair);
}

value *ot_onnx_turned(ot_onnx_node *n, value *x, value *cos, value *sin, value *positions,
                      bool between)
{
    rotation r = {.x = x, .between = between};
    int64_t dim[OPTUNE_MAX_RANK];
    if (!x || !ot_onnx_dims_at(n, x, 0xe, r.dim) || !ot_onnx_dims_at(n, cos, 1u << 1, dim))
        return NULL;
    r.part = 2 * dim[1];
    if (r.part < 2 || r.part > r.dim[3]) {
        ot_onnx_refuse(n, "%lld of %lld elements turned", (long long)r.part,
                       (long long)r.dim[3]);
        return NULL;
    }
    r.cos = angles(n, cos, positions, 1);
    r.sin = r.cos ? angles(n, sin, positions, 1) : NULL;
    return r.sin ? turned(n, &r) : NULL;
}

/* Without `num_heads`, heads are as wide as the angles say where `by_angles`. */
static int rotate(ot_onnx_node *n, value *cos, value *sin, value *positions, bool by_angles)
{
    rotation r = {.x = ot_onnx_need(n, 0), .between = ot_onnx_int(n, "interleaved", 0)};
    const int rank = r.x ? ot_onnx_rank(n, r.x) : -1;
    int64_t heads = ot_onnx_int(n, "num_heads", 0), pairs[OPTUNE_MAX_RANK];
    int64_t flat[OPTUNE_MAX_RANK];
    if (rank < 0 || !cos || !sin)
        return n->err->status;
    if (rank != 3 && rank != 4)
        return ot_onnx_refuse(n, "its input has %d dims, not 3 or 4", rank);
    if (!ot_onnx_dims_at(n, r.x, 1u << (rank - 1), flat))
        return n->err->status;
    for (int d = 0; d < rank; d++) /* 0: open, and stays as it is */
        r.dim[d] = flat[d] = flat[d] < 0 ? 0 : flat[d];
    if (rank == 3 && !heads && by_angles && !ot_onnx_int(n, "rotary_embedding_dim", 0)) {
        if (ot_onnx_rank(n, cos) != 2 || !ot_onnx_dims_at(n, cos, 1u << 1, pairs))
            return n->err->status < 0 ? n->err->status
                                      : ot_onnx_refuse(n, "its angles have no two dims");
        heads = pairs[1] ? flat[2] / (2 * pairs[1]) : 0;
    }
    if (rank == 3) {
        if (heads < 1 || flat[2] % heads)
            return ot_onnx_refuse(n, "%lld heads of %lld elements", (long long)heads,
                                  (long long)flat[2]);
        r.dim[2] = heads;
        r.dim[3] = flat[2] / heads;
        r.x = ot_onnx_reshape(n, r.x, 4, r.dim);
    }
    r.part = ot_onnx_int(n, "rotary_embedding_dim", 0);
    r.part = r.part ? r.part : r.dim[3];
    if (r.part < 2 || r.part % 2 || r.part > r.dim[3])
        return ot_onnx_refuse(n, "%lld of %lld elements turned", (long long)r.part,
                              (long long)r.dim[3]);
    r.cos = r.x ? angles(n, cos, positions, rank == 3 ? 2 : 1) : NULL;
    r.sin = r.cos ? angles(n, sin, positions, rank == 3 ? 2 : 1) : NULL;
    value *all = r.sin ? turned(n, &r) : NULL;
    return ot_onnx_give(n, 0, all && rank == 3 ? ot_onnx_reshape(n, all, 3, flat) : all);
}

static int rotary(ot_onnx_node *n)
{
    return rotate(n, ot_onnx_need(n, 1), ot_onnx_need(n, 2), ot_onnx_in(n, 3), false);
}

static int contrib_rotary(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *positions = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK];
    const int places = positions ? ot_onnx_rank(n, positions) : -1;
    const int rank = x && places >= 0 ? ot_onnx_rank(n, x) : -1;
    if (rank < 0)
        return n->err->status;
    if (places == 1 && (rank == 3 || rank == 4)) { /* of the first place */
        if (!ot_onnx_dims_at(n, x, 1u << (rank - 2), dim))
            return n->err->status;
        positions = ot_onnx_reshape(n, positions, 2, (const int64_t[]){1, 1});
        positions = ot_onnx_2(n, "add", positions,
                              positions ? ot_onnx_count_up(n, 2, 1, dim[rank - 2], 1) : NULL);
    } else if (places != 2) {
        return ot_onnx_refuse(n, "positions of %d dims, not 1 or 2", places);
    }
    if (ot_onnx_int(n, "is_packed_batching", 0) || ot_onnx_real(n, "scale", 1) != 1)
        return ot_onnx_refuse(n, "packed batches and scales are not supported");
    return rotate(n, ot_onnx_need(n, 2), ot_onnx_need(n, 3), positions, true);
}

static const ot_onnx_op ops[] = {
    {"RotaryEmbedding", rotary, NULL},
    {"com.microsoft::RotaryEmbedding", contrib_rotary, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(rotary) = {ops};
