/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixtures of experts (com.microsoft): each token's sum over the k best of E small networks, by
 * weights that follow from a router's scores. Every expert computes every token, and its share is 0
 * where it was not chosen: that the shape of nothing depends on the scores is paid for with E / k
 * times the products. Of two experts with the same score the later one is the better, as
 * onnxruntime has it.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

/* A product with a weight of each expert, [E,N,K]: where the node has its parts. */
typedef struct layer {
    int weight, bias, scale, zero; /* scale and zero: -1 of floats */
} layer;

typedef struct experts {
    layer up, down, beside;
    int64_t n;   /* of them */
    bool narrow; /* weights of 4 or 8 bits */
    int bits;
    int64_t block; /* of a row that share a scale; 0: all */
} experts;

/* What input i holds for expert e, without the first dim; NULL: the node has no such input. */
static value *of_expert(ot_onnx_node *n, int i, int64_t e)
{
    value *all = i < 0 ? NULL : ot_onnx_in(n, i);
    value *one = all ? ot_onnx_part(n, all, 0, e, e + 1) : NULL;
    return one ? ot_onnx_call(n, "squeeze", 1, &one, "axis=[0]") : NULL;
}

/* Of small integers [N,K bits / 8] and their scales, one for a row or a block of it. */
static value *narrow_product(ot_onnx_node *n, const experts *x, const layer *l, int64_t e,
                             value *data)
{
    int64_t dim[OPTUNE_MAX_RANK], groups[OPTUNE_MAX_RANK];
    value *weight = of_expert(n, l->weight, e), *scale = of_expert(n, l->scale, e);
    value *zero = of_expert(n, l->zero, e);
    if (!weight || !scale || !ot_onnx_dims(n, weight, dim) || !ot_onnx_dims(n, scale, groups))
        return NULL;
    const bool blocks = ot_onnx_rank(n, scale) == 2;
    groups[1] = blocks ? groups[1] : 1;
    const ot_onnx_nbits w = {
        .weight = weight,
        .scale = ot_onnx_reshape(n, ot_onnx_as(n, scale, ot_onnx_type(n->m, data)->dtype), 2,
                                 groups),
        .zero = !zero ? NULL
                : x->bits == 8
                    ? ot_onnx_reshape(n, zero, 2, groups)
                    : ot_onnx_reshape(n,
                                      ot_onnx_unpacked(n, zero, blocks ? groups[0] : 1,
                                                       blocks ? groups[1] : groups[0]),
                                      2, groups),
        .bits = x->bits,
        .group = blocks ? x->block : 0,
        .n = dim[0]};
    return w.scale && n->err->status >= 0 ? ot_onnx_nbits_product(n, data, &w) : NULL;
}

/* data [T,K] by the layer of expert e: [T,N]. */
static value *through(ot_onnx_node *n, const experts *x, const layer *l, int64_t e, value *data)
{
    value *all = !data       ? NULL
                 : x->narrow ? narrow_product(n, x, l, e, data)
                             : ot_onnx_2(n, "dense", data, of_expert(n, l->weight, e));
    value *bias = of_expert(n, l->bias, e);
    return all && bias ? ot_onnx_2(n, "add", all, bias) : all;
}

/* ---- activations ------------------------------------------------------------------------- */

/* G sigmoid(alpha G) (L + beta), where G = min(gate, limit) and L is cut to -limit .. limit. */
static value *swiglu(ot_onnx_node *n, value *gate, value *line)
{
    const double limit = ot_onnx_real(n, "swiglu_limit", INFINITY);
    if (gate && line && isfinite(limit)) {
        gate = ot_onnx_2(n, "minimum", gate, ot_onnx_number(n, gate, limit));
        line = ot_onnx_call(n, "clip", 1, &line, "a_min=%.17g, a_max=%.17g", -limit, limit);
    }
    gate = gate ? ot_onnx_call(n, "swish", 1, &gate, "beta=%.17g",
                               ot_onnx_real(n, "activation_alpha", 1))
                : NULL;
    const double beta = ot_onnx_real(n, "activation_beta", 0);
    if (line && beta != 0)
        line = ot_onnx_2(n, "add", line, ot_onnx_number(n, line, beta));
    return gate && line ? ot_onnx_2(n, "multiply", gate, line) : NULL;
}

/* Gates and what they are for, side by side or in turns along the columns of `both` [T,2N]. */
static value *split_swiglu(ot_onnx_node *n, value *both, bool in_turns)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!both || !ot_onnx_dims_at(n, both, 1u << 1, dim))
        return NULL;
    if (dim[1] % 2) {
        ot_onnx_refuse(n, "%lld columns are no gates and what they are for", (long long)dim[1]);
        return NULL;
    }
    const int64_t half = dim[1] / 2, pairs[] = {dim[0], half, 2}, flat[] = {dim[0], half};
    if (!in_turns)
        return swiglu(n, ot_onnx_part(n, both, 1, 0, half),
                      ot_onnx_part(n, both, 1, half, 2 * half));
    both = ot_onnx_reshape(n, both, 3, pairs);
    return swiglu(n, ot_onnx_reshape(n, ot_onnx_part(n, both, 2, 0, 1), 2, flat),
                  ot_onnx_reshape(n, ot_onnx_part(n, both, 2, 1, 2), 2, flat));
}

static value *activated(ot_onnx_node *n, value *x, const char *word)
{
    static const char *const names[][2] = {
        {"relu", "relu"}, {"gelu", "gelu_tanh"}, {"silu", "silu"}, {"identity", NULL}};
    for (int i = 0; i < OT_COUNT(names); i++)
        if (!strcmp(word, names[i][0]))
            return names[i][1] && x ? ot_onnx_1(n, names[i][1], x) : x;
    ot_onnx_refuse(n, "activation '%.40s' is not supported", word);
    return NULL;
}

/* What expert e makes of the tokens [T,K]. */
static value *expert(ot_onnx_node *n, const experts *x, int64_t e, value *tokens)
{
    const char *word = ot_onnx_word(n, "activation_type", "relu");
    const int64_t fused = ot_onnx_int(n, "swiglu_fusion", 0);
    const bool gates = !strcmp(word, "swiglu"), third = ot_onnx_in(n, x->beside.weight) != NULL;
    value *all = through(n, x, &x->up, e, tokens);
    value *beside = all && third ? through(n, x, &x->beside, e, tokens) : NULL;
    if (gates && fused)
        all = split_swiglu(n, all, fused == 1);
    else if (gates)
        all = swiglu(n, all, beside);
    else
        all = activated(n, all, word);
    if (all && beside && !gates)
        all = ot_onnx_2(n, "multiply", all, beside);
    return through(n, x, &x->down, e, all);
}

/* ---- shares ------------------------------------------------------------------------------ */

/* Of rows [T,E] the k largest, [T,k], and which they are; of equal ones the last. */
static value *best(ot_onnx_node *n, value *rows, int64_t k, int64_t of, value **which)
{
    value *back = ot_onnx_call(n, "reverse", 1, &rows, "axis=1");
    value *both = ot_onnx_call(n, "topk", 1, &back, "k=%lld, axis=1, dtype=i64", (long long)k);
    value *at = ot_onnx_get(n, both, 1);
    *which = ot_onnx_2(n, "subtract", ot_onnx_number(n, at, (double)(of - 1)), at);
    return ot_onnx_get(n, both, 0);
}

static value *normalised(ot_onnx_node *n, value *rows)
{
    value *sum = ot_onnx_call(n, "sum", 1, &rows, "axis=[1], keepdims=true");
    return ot_onnx_2(n, "divide", rows, sum);
}

/* Each expert's share of each token [T,E], 0 of those that were not chosen. Scores of floats become
 * shares before the best are chosen, those of small integers behind it. */
static value *shares(ot_onnx_node *n, const experts *x, value *scores, int64_t k)
{
    const bool norm = ot_onnx_int(n, "normalize_routing_weights", 0) != 0;
    value *which = NULL, *rows = ot_onnx_as(n, scores, f32);
    if (!x->narrow)
        rows = ot_onnx_call(n, "softmax", 1, &rows, "axis=1");
    value *most = best(n, rows, k, x->n, &which);
    if (x->narrow)
        most = ot_onnx_call(n, "softmax", 1, &most, "axis=1");
    else if (norm)
        most = normalised(n, most);
    most = ot_onnx_call(n, "expand_dims", 1, &most, "axis=2");
    which = ot_onnx_call(n, "expand_dims", 1, &which, "axis=2");
    value *here = ot_onnx_2(n, "equal", which, ot_onnx_count_up(n, 3, 2, x->n, 1));
    value *const in[] = {here, most, ot_onnx_number(n, most, 0)};
    value *all = ot_onnx_call(n, "where", 3, in, NULL);
    return ot_onnx_call(n, "sum", 1, &all, "axis=[1]");
}

/* ---- the node ---------------------------------------------------------------------------- */

/* Sums over the experts, in float32. */
static value *mixed(ot_onnx_node *n, const experts *x, value *tokens, value *share)
{
    value *sum = NULL, *none = share ? ot_onnx_number(n, share, 0) : NULL;
    for (int64_t e = 0; e < x->n && none && n->err->status >= 0; e++) {
        value *own = ot_onnx_part(n, share, 1, e, e + 1);
        value *some = ot_onnx_as(n, expert(n, x, e, tokens), f32);
        value *const in[] = {own ? ot_onnx_2(n, "greater", own, none) : NULL,
                             own && some ? ot_onnx_2(n, "multiply", some, own) : NULL, none};
        some = ot_onnx_call(n, "where", 3, in, NULL);
        sum = sum && some ? ot_onnx_2(n, "add", sum, some) : some;
    }
    return n->err->status < 0 ? NULL : sum;
}

static int refused(ot_onnx_node *n, const experts *x, int64_t k)
{
    enum { MOST = 1024 };
    const int64_t fused = ot_onnx_int(n, "swiglu_fusion", 0);
    const bool gates = !strcmp(ot_onnx_word(n, "activation_type", "relu"), "swiglu");
    const bool third = ot_onnx_in(n, x->beside.weight) != NULL;
    if (ot_onnx_int(n, "use_sparse_mixer", 0))
        return ot_onnx_refuse(n, "'use_sparse_mixer' is not supported");
    if (x->narrow && ot_onnx_in(n, 14))
        return ot_onnx_refuse(n, "its input router_weights is not supported");
    if (fused < 0 || fused > 2 || (gates && third == (fused > 0)))
        return ot_onnx_refuse(n, "'swiglu_fusion' %lld %s a third weight", (long long)fused,
                              third ? "with" : "without");
    if (x->narrow && x->bits != 4 && x->bits != 8)
        return ot_onnx_refuse(n, "weights of %d bits: only 4 and 8 are supported", x->bits);
    if (x->n < 1 || x->n > MOST || k < 1 || k > x->n)
        return ot_onnx_refuse(n, "%lld of %lld experts", (long long)k, (long long)x->n);
    return OPTUNE_OK;
}

static int mixture(ot_onnx_node *n)
{
    const bool narrow = !strcmp(n->op->arg, "narrow");
    experts x = {.narrow = narrow,
                 .bits = (int)ot_onnx_int(n, "expert_weight_bits", 4),
                 .block = ot_onnx_int(n, "block_size", 0),
                 .up = narrow ? (layer){2, 4, 3, 11} : (layer){2, 3, -1, -1},
                 .down = narrow ? (layer){5, 7, 6, 12} : (layer){4, 5, -1, -1},
                 .beside = narrow ? (layer){8, 10, 9, 13} : (layer){6, 7, -1, -1}};
    value *tokens = ot_onnx_need(n, 0), *scores = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK], whole[OPTUNE_MAX_RANK];
    const int64_t k = ot_onnx_int(n, "k", 1);
    if (!tokens || !scores || !ot_onnx_need(n, x.up.weight) ||
        !ot_onnx_need(n, x.down.weight) || !ot_onnx_dims_at(n, scores, 1u << 1, dim))
        return n->err->status;
    const int rank = ot_onnx_rank(n, tokens);
    if (ot_onnx_rank(n, scores) != 2 || (rank != 2 && rank != 3))
        return ot_onnx_refuse(n, "tokens of %d dims, scores of %d", rank,
                              ot_onnx_rank(n, scores));
    x.n = dim[1];
    if (refused(n, &x, k) < 0 || !ot_onnx_dims_at(n, tokens, 1u << (rank - 1), whole))
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, tokens)->dtype;
    value *rows = rank == 2
                      ? tokens
                      : ot_onnx_reshape(n, tokens, 2, (const int64_t[]){-1, whole[rank - 1]});
    value *all = mixed(n, &x, rows, shares(n, &x, scores, k));
    all = ot_onnx_as(n, all, dtype);
    if (rank == 3 && all)
        all = ot_onnx_reshape(n, all, 3, whole);
    return ot_onnx_give(n, 0, all);
}

static const ot_onnx_op ops[] = {
    {"com.microsoft::MoE", mixture, ""},
    {"com.microsoft::QMoE", mixture, "narrow"},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(experts) = {ops};
