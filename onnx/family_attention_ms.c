/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of com.microsoft's: what onnxruntime's optimizer makes of a layer (Attention,
 * MultiHeadAttention), and what decoders are exported with (GroupQueryAttention). Keys that pad a
 * sentence are told by a mask of 1 and 0, or by where it ends; `mask_filter_value` is added to
 * their scores.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype int64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

/* Part i of a value of packed parts along an axis, without that axis. */
static value *packed(ot_onnx_node *n, value *x, int axis, int i)
{
    value *part = ot_onnx_part(n, x, axis, i, i + 1);
    return ot_onnx_call(n, "squeeze", 1, &part, "axis=[%d]", axis);
}

/* 0 where truths keep, else the filter. */
static value *filtered(ot_onnx_node *n, value *keep, const value *like)
{
    return keep
               ? ot_onnx_call(
                     n, "where", 3,
                     (value *const[]){
                         keep, ot_onnx_number(n, like, 0),
                         ot_onnx_number(n, like, ot_onnx_real(n, "mask_filter_value", -10000))},
                     NULL)
               : NULL;
}

/* Input i as numbers to add: [B,T], [B,S,T], [B,1,M,M] of 1 and 0, or [B], where keys end, or [2B],
 * where they end and where they begin. `batch`: -1 where it is open. */
static value *padding(ot_onnx_node *n, int i, const value *like, int64_t batch, int64_t rows,
                      int64_t columns)
{
    int64_t dim[OPTUNE_MAX_RANK];
    value *mask = ot_onnx_in(n, i);
    const int rank = mask ? ot_onnx_rank(n, mask) : -1;
    if (rank < 0 || !ot_onnx_dims_at(n, mask,
                                     rank < 2    ? 0
                                     : rank == 4 ? 0xe
                                                 : 0x6 >> (rank == 2),
                                     dim))
        return NULL;
    if (rank == 1) {
        value *key = ot_onnx_count_up(n, 4, 3, columns, 1);
        value *ends = ot_onnx_as(n, mask, int64), *begins = NULL;
        if (batch > 0 && dim[0] == 2 * batch) {
            begins = ot_onnx_part(n, ends, 0, batch, 2 * batch);
            ends = ot_onnx_part(n, ends, 0, 0, batch);
        } else if (dim[0] != batch) {
            ot_onnx_refuse(n, "a mask of %lld numbers for %lld sequences", (long long)dim[0],
                           (long long)batch);
            return NULL;
        }
        const int64_t along[] = {batch, 1, 1, 1};
        value *keep = ot_onnx_2(n, "less", key, ot_onnx_reshape(n, ends, 4, along));
        if (begins) {
            value *from = ot_onnx_reshape(n, begins, 4, along);
            value *ahead = ot_onnx_2(n, "less", key, from);
            keep = keep && ahead ? ot_onnx_2(n, "greater", keep, ahead) : NULL;
        }
        return filtered(n, keep, like);
    }
    if (rank > 4 || dim[rank - 1] < columns || (rank < 4 && dim[rank - 1] != columns)) {
        ot_onnx_refuse(n, "a mask of %d dims, the last of %lld keys, not %lld", rank,
                       (long long)(rank ? dim[rank - 1] : 0), (long long)columns);
        return NULL;
    }
    if (rank == 4) { /* of the longest sentence */
        mask = ot_onnx_part(n, mask, 3, 0, columns);
        mask = ot_onnx_part(n, mask, 2, columns - rows, columns);
    } else {
        const int64_t all[] = {dim[0], 1, rank == 3 ? dim[1] : 1, columns};
        mask = ot_onnx_reshape(n, mask, 4, all);
    }
    return filtered(n, mask ? ot_onnx_2(n, "greater", mask, ot_onnx_number(n, mask, 0)) : NULL,
                    like);
}

/* Both of what is added; either may be NULL. */
static value *sum(ot_onnx_node *n, value *a, value *b)
{
    return a && b ? ot_onnx_2(n, "add", a, b) : a ? a : b;
}

/* The keys and values behind what a cache has of them. */
static bool grow(ot_onnx_node *n, ot_onnx_heads *h, value *past_k, value *past_v)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!past_k || !past_v || !ot_onnx_dims_at(n, past_k, 1u << 2, dim))
        return false;
    h->k = ot_onnx_join(n, 2, 2, (value *const[]){past_k, h->k});
    h->v = h->k ? ot_onnx_join(n, 2, 2, (value *const[]){past_v, h->v}) : NULL;
    h->view.past = dim[2];
    return h->v != NULL;
}

static int too_many(ot_onnx_node *n, int from)
{
    for (int i = from; i < (int)n->proto->n_input; i++)
        if (ot_onnx_in(n, i))
            return ot_onnx_refuse(n,
                                  "a cache of a fixed size, or one of beams, is not supported");
    return OPTUNE_OK;
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* Where queries, keys and values begin among what the weights give. */
static int widths(ot_onnx_node *n, int64_t all, int64_t width[3])
{
    ot_onnx_list list;
    const int given = ot_onnx_ints(n, "qkv_hidden_sizes", &list);
    if (given < 0)
        return given;
    for (int i = 0; i < 3; i++)
        width[i] = given ? (list.n == 3 ? list.i[i] : -1) : all / 3;
    if (width[0] < 1 || width[0] != width[1] || width[2] < 1 ||
        width[0] + width[1] + width[2] != all)
        return ot_onnx_refuse(n, "its weights of %lld columns are no queries, keys and values",
                              (long long)all);
    return OPTUNE_OK;
}

/* One behind the other, as a cache has them. */
static int give_both(ot_onnx_node *n, int i, const ot_onnx_heads *h)
{
    value *pair[] = {ot_onnx_call(n, "expand_dims", 1, &h->k, "axis=0"),
                     ot_onnx_call(n, "expand_dims", 1, &h->v, "axis=0")};
    return ot_onnx_give(n, i, pair[0] && pair[1] ? ot_onnx_join(n, 0, 2, pair) : NULL);
}

/* Of queries, keys and values side by side [B,S,columns]; where the node has its mask, its cache
 * and what is added to its scores (negative: nothing is). */
static int attend(ot_onnx_node *n, value *all, int64_t columns, int mask_at, int past_at,
                  int added_at)
{
    value *side[3], *past = ot_onnx_in(n, past_at);
    int64_t dim[OPTUNE_MAX_RANK], width[3], at = 0;
    if (!all || widths(n, columns, width) < 0)
        return n->err->status;
    if (ot_onnx_int(n, "do_rotary", 0))
        return ot_onnx_refuse(n, "'do_rotary' is not supported");
    for (int i = 0; i < 3; at += width[i++])
        side[i] = ot_onnx_part(n, all, 2, at, at + width[i]);
    const int64_t heads = ot_onnx_int(n, "num_heads", 0);
    int64_t q[OPTUNE_MAX_RANK], k[OPTUNE_MAX_RANK];
    ot_onnx_heads h = {
        .q = ot_onnx_split_heads(n, side[0], heads, q),
        .k = ot_onnx_split_heads(n, side[1], heads, k),
        .v = ot_onnx_split_heads(n, side[2], heads, dim),
        .scale = ot_onnx_real(n, "scale", 0),
        .view = {.causal = ot_onnx_int(n, "unidirectional", 0) != 0, .left = -1, .right = -1}};
    if (!h.q || !h.k || !h.v ||
        (past && !grow(n, &h, packed(n, past, 0, 0), packed(n, past, 0, 1))))
        return n->err->status;
    h.mask = sum(n, added_at < 0 ? NULL : ot_onnx_in(n, added_at),
                 padding(n, mask_at, h.q, q[0], q[2], h.view.past + k[2]));
    if (n->err->status < 0)
        return n->err->status;
    const int given = ot_onnx_give(n, 0, ot_onnx_join_heads(n, ot_onnx_attended(n, &h)));
    return given >= 0 && ot_onnx_wants(n, 1) ? give_both(n, 1, &h) : given;
}

static int fused(ot_onnx_node *n)
{
    enum { X, WEIGHT, BIAS, PADDING, PAST, ADDED, ALL };
    value *x = ot_onnx_need(n, X), *weight = ot_onnx_need(n, WEIGHT);
    value *bias = ot_onnx_in(n, BIAS);
    int64_t dim[OPTUNE_MAX_RANK];
    if (!x || !weight || too_many(n, ALL) < 0 || !ot_onnx_dims_at(n, weight, 1u << 1, dim))
        return n->err->status;
    value *all = ot_onnx_product(n, x, weight);
    return attend(n, bias && all ? ot_onnx_2(n, "add", all, bias) : all, dim[1], PADDING, PAST,
                  ADDED);
}

/* Of 8-bit integers, whose product is a float again. */
static int quantised(ot_onnx_node *n)
{
    enum { X, WEIGHT, BIAS, SCALE, WEIGHT_SCALE, PADDING, ZERO, WEIGHT_ZERO, PAST };
    const ot_onnx_quantised_product p = {.right = WEIGHT,
                                         .zero = ZERO,
                                         .right_zero = WEIGHT_ZERO,
                                         .scale = SCALE,
                                         .right_scale = WEIGHT_SCALE,
                                         .bias = BIAS};
    value *weight = ot_onnx_need(n, WEIGHT);
    int64_t dim[OPTUNE_MAX_RANK];
    if (!weight || !ot_onnx_dims_at(n, weight, 1u << 1, dim))
        return n->err->status;
    return attend(n, ot_onnx_quantised_sum(n, &p), dim[1], PADDING, PAST, -1);
}

/* ---- MultiHeadAttention ---------------------------------------------------------------------- */

/* Each list of the bias to its side. */
static int biased(ot_onnx_node *n, value *bias, value *side[3])
{
    int64_t dim[OPTUNE_MAX_RANK], at = 0;
    for (int i = 0; i < 3; i++) {
        if (ot_onnx_rank(n, side[i]) != 3 || !ot_onnx_dims_at(n, side[i], 1u << 2, dim))
            return n->err->status < 0 ? n->err->status
                                      : ot_onnx_refuse(n, "a bias of heads that are split");
        side[i] = ot_onnx_2(n, "add", side[i], ot_onnx_part(n, bias, 0, at, at + dim[2]));
        at += dim[2];
    }
    if (!ot_onnx_dims(n, bias, dim))
        return n->err->status;
    if (ot_onnx_rank(n, bias) != 1 || dim[0] != at)
        return ot_onnx_refuse(n, "its bias is no list of %lld numbers", (long long)at);
    return OPTUNE_OK;
}

/* [B,S,H,2 or 3,D] as that many of [B,S,H*D]. */
static int unpack(ot_onnx_node *n, value *x, int parts, value **side)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (ot_onnx_rank(n, x) != 5 || !ot_onnx_dims_at(n, x, 0x1e, dim))
        return n->err->status < 0
                   ? n->err->status
                   : ot_onnx_refuse(n, "packed heads of %d dims, not 5", ot_onnx_rank(n, x));
    if (dim[3] != parts)
        return ot_onnx_refuse(n, "%lld packed parts, not %d", (long long)dim[3], parts);
    const int64_t flat[] = {dim[0], dim[1], dim[2] * dim[4]};
    for (int i = 0; i < parts; i++)
        side[i] = ot_onnx_reshape(n, packed(n, x, 3, i), 3, flat);
    return n->err->status;
}

static int multi_head(ot_onnx_node *n)
{
    enum { BIAS = 3, PADDING, ADDED, PAST_KEY, PAST_VALUE, ALL };
    value *side[] = {ot_onnx_need(n, 0), ot_onnx_in(n, 1), ot_onnx_in(n, 2)};
    value *bias = ot_onnx_in(n, BIAS), *past = ot_onnx_in(n, PAST_KEY);
    int64_t q[OPTUNE_MAX_RANK], k[OPTUNE_MAX_RANK], v[OPTUNE_MAX_RANK];
    if (!side[0] || too_many(n, ALL) < 0)
        return n->err->status;
    if (!past != !ot_onnx_in(n, PAST_VALUE))
        return ot_onnx_refuse(n, "a cache has keys and values");
    if (ot_onnx_wants(n, 3))
        return ot_onnx_refuse(n, "its scores are not given, only what comes of them");
    if (!side[1] && unpack(n, side[0], 3, side) < 0)
        return n->err->status;
    if (!side[2] && unpack(n, side[1], 2, side + 1) < 0)
        return n->err->status;
    if (bias && biased(n, bias, side) < 0)
        return n->err->status;
    if (ot_onnx_rank(n, side[0]) != 3)
        return ot_onnx_refuse(n, "queries of %d dims, not 3", ot_onnx_rank(n, side[0]));
    const int64_t heads = ot_onnx_int(n, "num_heads", 0);
    ot_onnx_heads h = {
        .q = ot_onnx_split_heads(n, side[0], heads, q),
        .k = ot_onnx_split_heads(n, side[1], heads, k),
        .v = ot_onnx_split_heads(n, side[2], heads, v),
        .scale = ot_onnx_real(n, "scale", 0),
        .view = {.causal = ot_onnx_int(n, "unidirectional", 0) != 0, .left = -1, .right = -1}};
    if (!h.q || !h.k || !h.v)
        return n->err->status;
    if (h.view.causal && !past && q[2] != k[2]) {
        /* onnxruntime counts places from the first key on, and hides none from one query alone. */
        if (q[2] != 1)
            return ot_onnx_refuse(n, "%lld causal queries of %lld keys", (long long)q[2],
                                  (long long)k[2]);
        h.view.causal = false;
    }
    if (past && !grow(n, &h, past, ot_onnx_in(n, PAST_VALUE)))
        return n->err->status;
    h.mask =
        sum(n, ot_onnx_in(n, ADDED), padding(n, PADDING, h.q, q[0], q[2], h.view.past + k[2]));
    if (n->err->status < 0)
        return n->err->status;
    int given = ot_onnx_give(n, 0, ot_onnx_join_heads(n, ot_onnx_attended(n, &h)));
    if (given >= 0 && ot_onnx_wants(n, 1))
        given = ot_onnx_give(n, 1, h.k);
    return given >= 0 && ot_onnx_wants(n, 2) ? ot_onnx_give(n, 2, h.v) : given;
}

static const ot_onnx_op ops[] = {
    {"com.microsoft::Attention", fused, NULL},
    {"com.microsoft::QAttention", quantised, NULL},
    {"com.microsoft::MultiHeadAttention", multi_head, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(attention_ms) = {ops};
