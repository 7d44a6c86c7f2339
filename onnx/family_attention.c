/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention, as opset 23 has it: one call of ours. Three dims are split into heads, what a cache
 * holds goes in front of the keys and values. Its causal mask counts from the first query, ours
 * from the last: where these are not the same it is a mask of numbers. A query that no key is left
 * for gives zeros.
 */
#include <math.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

/* [B,H,S,D] of that, or of [B,S,H*D]. */
static value *heads(ot_onnx_node *n, value *x, const char *count, int64_t dim[OPTUNE_MAX_RANK])
{
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const int64_t h = ot_onnx_int(n, count, 0);
    if (rank < 0 || !ot_onnx_dims(n, x, dim))
        return NULL;
    if (rank == 4)
        return x;
    if (rank != 3 || h < 1 || dim[2] % h) {
        ot_onnx_refuse(n, "%d dims, and '%s' is %lld", rank, count, (long long)h);
        return NULL;
    }
    const int64_t split[] = {dim[0], dim[1], h, dim[2] / h};
    x = ot_onnx_transpose(n, ot_onnx_reshape(n, x, 4, split), 4, (const int[]){0, 2, 1, 3});
    return x && ot_onnx_dims(n, x, dim) ? x : NULL;
}

/* Behind what a cache holds of them. */
static value *cached(ot_onnx_node *n, value *x, int past_at)
{
    value *past = ot_onnx_in(n, past_at);
    return past && x ? ot_onnx_join(n, 2, 2, (value *const[]){past, x}) : x;
}

/* With dims of 1 in front, four in all. */
static value *mask_of(ot_onnx_node *n, value *x)
{
    int64_t dim[OPTUNE_MAX_RANK], all[4] = {1, 1, 1, 1};
    const int rank = ot_onnx_rank(n, x);
    if (rank < 0 || !ot_onnx_dims(n, x, dim))
        return NULL;
    if (rank > 4 || rank < 2) {
        ot_onnx_refuse(n, "a mask of %d dims", rank);
        return NULL;
    }
    for (int d = 0; d < rank; d++)
        all[4 - rank + d] = dim[d];
    return ot_onnx_reshape(n, x, 4, all);
}

/* What query i may not see, as numbers that are added: key j > i + past. */
static value *triangle(ot_onnx_node *n, const value *like, int64_t rows, int64_t columns,
                       int64_t past)
{
    value *made = NULL;
    const optune_tensor type = {.dtype = ot_onnx_type(n->m, like)->dtype,
                                .rank = 4,
                                .dim = {optune_dim_of(1), optune_dim_of(1), optune_dim_of(rows),
                                        optune_dim_of(columns)}};
    if (ot_onnx_room(n->m, &type, &made, n->err) < 0)
        return NULL;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double hidden = j > i + past ? -INFINITY : 0;
            ot_elements_set(type.dtype, made->data, i * columns + j, 1, &hidden);
        }
    return made;
}

/* Both together; each may be NULL. */
static value *both_masks(ot_onnx_node *n, value *mask, value *less)
{
    if (!mask || !less)
        return mask ? mask : less;
    if (ot_onnx_type(n->m, mask)->dtype.code != OPTUNE_DTYPE_BOOL)
        return ot_onnx_2(n, "add", mask, less);
    return ot_onnx_call(n, "where", 3,
                        (value *const[]){mask, less, ot_onnx_number(n, less, -INFINITY)}, NULL);
}

static int refused(ot_onnx_node *n)
{
    if (ot_onnx_real(n, "softcap", 0) != 0)
        return ot_onnx_refuse(n, "'softcap' is not supported");
    if (ot_onnx_int(n, "left_window_size", -1) >= 0 ||
        ot_onnx_int(n, "right_window_size", -1) >= 0)
        return ot_onnx_refuse(n, "windows are not supported");
    if (ot_onnx_in(n, Q) &&
        ot_onnx_type(n->m, ot_onnx_in(n, Q))->dtype.code == OPTUNE_DTYPE_BFLOAT)
        return ot_onnx_refuse(n, "of bfloat16, rounded between its steps, it is not supported");
    if (ot_onnx_in(n, LENGTHS))
        return ot_onnx_refuse(n, "'nonpad_kv_seqlen' is not supported");
    if (ot_onnx_wants(n, 3))
        return ot_onnx_refuse(n, "its scores are not given, only what comes of them");
    if (!ot_onnx_in(n, PAST_K) != !ot_onnx_in(n, PAST_V))
        return ot_onnx_refuse(n, "a cache has keys and values");
    return OPTUNE_OK;
}

/* Queries, keys and values [B,H,S,D], what a cache has in front of them, and what is added. */
typedef struct sides {
    value *q, *k, *v, *mask;
    int64_t q_dim[OPTUNE_MAX_RANK], k_dim[OPTUNE_MAX_RANK], v_dim[OPTUNE_MAX_RANK];
    int past_k, past_v; /* inputs */
    bool flat;          /* they had three dims, and so has what is given */
} sides;

static bool take_sides(ot_onnx_node *n, sides *s, value *const in[3], const char *q_heads,
                       const char *kv_heads)
{
    s->flat = in[0] && ot_onnx_rank(n, in[0]) == 3;
    s->q = in[0] ? heads(n, in[0], q_heads, s->q_dim) : NULL;
    s->k = s->q && in[1] ? heads(n, in[1], kv_heads, s->k_dim) : NULL;
    s->v = s->k && in[2] ? heads(n, in[2], kv_heads, s->v_dim) : NULL;
    return s->v != NULL;
}

static int attend(ot_onnx_node *n, sides *s, bool causal)
{
    const int64_t more = s->k_dim[2];
    value *k = cached(n, s->k, s->past_k), *v = cached(n, s->v, s->past_v);
    value *mask = s->mask ? mask_of(n, s->mask) : NULL;
    if (n->err->status < 0 || !k || !ot_onnx_dims(n, k, s->k_dim))
        return n->err->status;
    if (causal && s->q_dim[2] != more) {
        mask = both_masks(n, mask,
                          triangle(n, s->q, s->q_dim[2], s->k_dim[2], s->k_dim[2] - more));
        causal = false;
        if (!mask)
            return n->err->status;
    }
    value *y = ot_onnx_call(n, "attention", mask ? 4 : 3, (value *const[]){s->q, k, v, mask},
                            "causal=%s, scale=%.17g", causal ? "true" : "false",
                            ot_onnx_real(n, "scale", 0));
    if (y && s->flat) {
        const int64_t joined[] = {s->q_dim[0], s->q_dim[2], s->q_dim[1] * s->v_dim[3]};
        y = ot_onnx_reshape(n, ot_onnx_transpose(n, y, 4, (const int[]){0, 2, 1, 3}), 3,
                            joined);
    }
    int given = ot_onnx_give(n, 0, y);
    if (given >= 0 && ot_onnx_wants(n, 1))
        given = ot_onnx_give(n, 1, k);
    return given >= 0 && ot_onnx_wants(n, 2) ? ot_onnx_give(n, 2, v) : given;
}

static int attention(ot_onnx_node *n)
{
    sides s = {.past_k = PAST_K, .past_v = PAST_V};
    if (refused(n) < 0)
        return n->err->status;
    value *const in[] = {ot_onnx_need(n, Q), ot_onnx_need(n, K), ot_onnx_need(n, V)};
    if (!take_sides(n, &s, in, "q_num_heads", "kv_num_heads"))
        return n->err->status;
    s.mask = ot_onnx_in(n, MASK);
    return attend(n, &s, ot_onnx_int(n, "is_causal", 0) != 0);
}

/* com.microsoft's: a bias for each side, one list behind the other, and what is added to scores. */
static int multi_head(ot_onnx_node *n)
{
    enum { BIAS = 3, PADDING, ADDED, PAST_KEY, PAST_VALUE, ALL };
    sides s = {.past_k = PAST_KEY, .past_v = PAST_VALUE};
    value *in[] = {ot_onnx_need(n, Q), ot_onnx_need(n, K), ot_onnx_need(n, V)};
    value *bias = ot_onnx_in(n, BIAS);
    int64_t dim[OPTUNE_MAX_RANK], at = 0;
    for (int i = PADDING; i < (int)n->proto->n_input; i++)
        if (ot_onnx_in(n, i) && (i == PADDING || i >= ALL))
            return ot_onnx_refuse(n, i == PADDING ? "a mask of padded keys is not supported"
                                                  : "a cache of a fixed size is not supported");
    if (!ot_onnx_in(n, PAST_KEY) != !ot_onnx_in(n, PAST_VALUE))
        return ot_onnx_refuse(n, "a cache has keys and values");
    for (int i = 0; i < 3; i++) {
        if (!in[i] || ot_onnx_rank(n, in[i]) < 0)
            return n->err->status;
        if (ot_onnx_rank(n, in[i]) != 3)
            return ot_onnx_refuse(n, "input %d has %d dims, not 3", i + 1,
                                  ot_onnx_rank(n, in[i]));
        if (bias && !ot_onnx_dims_at(n, in[i], 1u << 2, dim))
            return n->err->status;
        if (bias)
            in[i] = ot_onnx_2(n, "add", in[i], ot_onnx_part(n, bias, 0, at, at + dim[2]));
        at += bias ? dim[2] : 0;
    }
    if (bias && (!ot_onnx_dims(n, bias, dim) || ot_onnx_rank(n, bias) != 1 || dim[0] != at))
        return ot_onnx_refuse(n, "its bias is no list of %lld numbers", (long long)at);
    if (!take_sides(n, &s, in, "num_heads", "num_heads"))
        return n->err->status;
    s.mask = ot_onnx_in(n, ADDED);
    return attend(n, &s, ot_onnx_int(n, "unidirectional", 0) != 0);
}

static const ot_onnx_op ops[] = {
    {"Attention", attention, NULL},
    {"com.microsoft::MultiHeadAttention", multi_head, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(attention) = {ops};
