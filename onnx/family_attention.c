/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention, as opset 23 and later ones have it: three dims are split into heads, what a cache
 * holds goes in front of the keys and values. Its causal mask and its windows count from the first
 * query, behind the cache's keys or, of keys padded to a length, from that length.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

static int refused(ot_onnx_node *n)
{
    if (!ot_onnx_in(n, PAST_K) != !ot_onnx_in(n, PAST_V))
        return ot_onnx_refuse(n, "a cache has keys and values");
    if (ot_onnx_in(n, PAST_K) && ot_onnx_in(n, LENGTHS))
        return ot_onnx_refuse(n, "'nonpad_kv_seqlen' goes with no cache");
    return OPTUNE_OK;
}

/* [B], as 64-bit integers [B,1,1,1]. */
static value *lengths(ot_onnx_node *n)
{
    value *x = ot_onnx_in(n, LENGTHS);
    return x ? ot_onnx_reshape(n, x, 4, (const int64_t[]){-1, 1, 1, 1}) : NULL;
}

static int attention(ot_onnx_node *n)
{
    static const ot_onnx_stage stages[] = {OT_ONNX_SCORES, OT_ONNX_CAPPED, OT_ONNX_MASKED,
                                           OT_ONNX_WEIGHTS};
    int64_t q[OPTUNE_MAX_RANK], k[OPTUNE_MAX_RANK], v[OPTUNE_MAX_RANK];
    const int64_t mode = ot_onnx_int(n, "qk_matmul_output_mode", 0);
    value *scores = NULL;
    if (refused(n) < 0)
        return n->err->status;
    value *const in[] = {ot_onnx_need(n, Q), ot_onnx_need(n, K), ot_onnx_need(n, V)};
    const int64_t heads = ot_onnx_int(n, "q_num_heads", 0),
                  kv_heads = ot_onnx_int(n, "kv_num_heads", 0);
    const bool flat = in[0] && ot_onnx_rank(n, in[0]) == 3;
    if (mode < 0 || mode > 3)
        return ot_onnx_refuse(n, "'qk_matmul_output_mode' %lld, not 0 to 3", (long long)mode);
    ot_onnx_heads h = {.q = ot_onnx_split_heads(n, in[0], heads, q),
                       .k = in[1] ? ot_onnx_split_heads(n, in[1], kv_heads, k) : NULL,
                       .v = in[2] ? ot_onnx_split_heads(n, in[2], kv_heads, v) : NULL,
                       .mask = ot_onnx_in(n, MASK),
                       .scale = ot_onnx_real(n, "scale", 0),
                       .softcap = ot_onnx_real(n, "softcap", 0),
                       .stage = ot_onnx_wants(n, 3) ? stages[mode] : OT_ONNX_NOTHING,
                       .given = &scores,
                       .view = {.causal = ot_onnx_int(n, "is_causal", 0) != 0,
                                .left = ot_onnx_int(n, "left_window_size", -1),
                                .right = ot_onnx_int(n, "right_window_size", -1),
                                .length = lengths(n)}};
    if (!h.q || !h.k || !h.v)
        return n->err->status;
    if (ot_onnx_in(n, PAST_K)) {
        h.k = ot_onnx_join(n, 2, 2, (value *const[]){ot_onnx_in(n, PAST_K), h.k});
        h.v = h.k ? ot_onnx_join(n, 2, 2, (value *const[]){ot_onnx_in(n, PAST_V), h.v}) : NULL;
        if (!h.v || !ot_onnx_dims_at(n, ot_onnx_in(n, PAST_K), 1u << 2, k))
            return n->err->status;
        h.view.past = k[2];
    }
    if (h.view.length)
        h.view.offset = ot_onnx_2(n, "subtract", h.view.length,
                                  ot_onnx_number(n, h.view.length, (double)q[2]));
    value *y = ot_onnx_attended(n, &h);
    int given = ot_onnx_give(n, 0, flat ? ot_onnx_join_heads(n, y) : y);
    if (given >= 0 && ot_onnx_wants(n, 1))
        given = ot_onnx_give(n, 1, h.k);
    if (given >= 0 && ot_onnx_wants(n, 2))
        given = ot_onnx_give(n, 2, h.v);
    return given >= 0 && ot_onnx_wants(n, 3) ? ot_onnx_give(n, 3, scores) : given;
}

static const ot_onnx_op ops[] = {
    {"Attention", attention, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(attention) = {ops};
