/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that carry a state from step to step where attention has a cache (opset 27, and
 * onnxruntime's own): a convolution over what came before, and linear attention, written out step
 * by step.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { MOST_STEPS = 1024 };

/* onnxruntime's own have more than the standard's. */
static int plain(ot_onnx_node *n, int n_names, const char *const *names)
{
    for (int i = 0; i < n_names; i++)
        if (ot_onnx_int(n, names[i], 0))
            return ot_onnx_refuse(n, "'%s' is not supported", names[i]);
    return OPTUNE_OK;
}

/* [B,C,L] by a weight [C,1,K], behind K-1 places of before. */
static int causal_conv(ot_onnx_node *n)
{
    static const char *const more[] = {"channels_last",  "state_window",
                                       "state_length",   "state_update_capacity",
                                       "input_channels", "input_channel_offset"};
    enum { X, WEIGHT, BIAS, PAST };
    value *x = ot_onnx_need(n, X), *weight = ot_onnx_need(n, WEIGHT);
    value *bias = ot_onnx_in(n, BIAS), *past = ot_onnx_in(n, PAST);
    const char *name = ot_onnx_word(n, "activation", "none");
    int64_t w[OPTUNE_MAX_RANK], dim[OPTUNE_MAX_RANK];
    if (!x || !weight || plain(n, OT_COUNT(more), more) < 0 || !ot_onnx_dims(n, weight, w) ||
        !ot_onnx_dims_at(n, x, 1u << 1 | 1u << 2, dim))
        return n->err->status;
    if (ot_onnx_rank(n, x) != 3 || ot_onnx_rank(n, weight) != 3 || w[0] != dim[1] ||
        w[1] != 1 || w[2] < 1 || ot_onnx_int(n, "ndim", 1) != 1 ||
        ot_onnx_int(n, "dilation", 1) != 1)
        return ot_onnx_refuse(n,
                              "only a line of channels, each by its own kernel, is supported");
    if (strcmp(name, "none") && strcmp(name, "silu") && strcmp(name, "swish"))
        return ot_onnx_refuse(n, "activation '%.40s' is not supported", name);
    const int64_t before = w[2] - 1;
    value *all = x;
    if (before && past)
        all = ot_onnx_join(n, 2, 2, (value *const[]){past, x});
    else if (before)
        all = ot_onnx_call(n, "pad", 1, &x, "before=[0,0,%lld], after=[0,0,0]",
                           (long long)before);
    value *line = ot_onnx_call(n, "expand_dims", 1, &all, "axis=2");
    weight = ot_onnx_call(n, "expand_dims", 1, &weight, "axis=2");
    value *y = ot_onnx_call(n, "conv2d", 2, (value *const[]){line, weight}, "groups=%lld",
                            (long long)w[0]);
    if (bias && y)
        y = ot_onnx_2(n, "add", y, ot_onnx_reshape(n, bias, 3, (const int64_t[]){-1, 1, 1}));
    y = *name == 's' && y ? ot_onnx_1(n, "silu", y) : y;
    const int status = ot_onnx_give(n, 0, ot_onnx_call(n, "squeeze", 1, &y, "axis=[2]"));
    if (status < 0 || !ot_onnx_wants(n, 1))
        return status;
    return ot_onnx_give(n, 1, ot_onnx_part(n, all, 2, dim[2], dim[2] + before));
}

/* ---- linear attention ------------------------------------------------------------------------ */

typedef struct linear {
    int64_t batch, steps, heads, shared, key,
        room; /* heads of queries, of keys; elements of each */
    double scale;
    bool decays, corrects;
    value *q, *k, *v, *decay, *beta; /* [B,T,heads of keys, ...] */
} linear;

/* Of step t, as [B,heads of keys,rows,columns]. */
static value *at_step(ot_onnx_node *n, value *x, const linear *l, int64_t t, int64_t rows,
                      int64_t columns)
{
    const int64_t dim[] = {l->batch, l->shared, rows, columns};
    return x ? ot_onnx_reshape(n, ot_onnx_part(n, x, 1, t, t + 1), 4, dim) : NULL;
}

static int measure(ot_onnx_node *n, linear *l)
{
    static const char *const more[] = {"state_window"};
    enum { Q, K, V, PAST, DECAY, BETA };
    const char *rule = ot_onnx_word(n, "update_rule", "gated_delta");
    int64_t q[OPTUNE_MAX_RANK], k[OPTUNE_MAX_RANK], v[OPTUNE_MAX_RANK];
    *l = (linear){.heads = ot_onnx_int(n, "q_num_heads", 0),
                  .shared = ot_onnx_int(n, "kv_num_heads", 0),
                  .q = ot_onnx_wide(n, ot_onnx_need(n, Q)),
                  .k = ot_onnx_wide(n, ot_onnx_need(n, K)),
                  .v = ot_onnx_wide(n, ot_onnx_need(n, V)),
                  .decay = ot_onnx_wide(n, ot_onnx_in(n, DECAY)),
                  .beta = ot_onnx_wide(n, ot_onnx_in(n, BETA)),
                  .decays = !strncmp(rule, "gated", 5),
                  .corrects = strstr(rule, "delta") != NULL};
    if (!l->q || !l->k || !l->v || plain(n, OT_COUNT(more), more) < 0 ||
        !ot_onnx_dims(n, l->q, q) || !ot_onnx_dims(n, l->k, k) || !ot_onnx_dims(n, l->v, v))
        return n->err->status;
    if (strcmp(rule, "linear") && strcmp(rule, "gated") && strcmp(rule, "delta") &&
        strcmp(rule, "gated_delta"))
        return ot_onnx_refuse(n, "update rule '%.40s' is not supported", rule);
    if ((l->decays && !l->decay) || (l->corrects && !l->beta))
        return ot_onnx_refuse(n, "update rule '%s' wants decays, rates, or both", rule);
    if (ot_onnx_rank(n, l->q) != 3 || ot_onnx_rank(n, l->k) != 3 ||
        ot_onnx_rank(n, l->v) != 3 || l->heads < 1 || l->shared < 1 || l->heads % l->shared ||
        q[2] % l->heads || k[2] % l->shared || v[2] % l->shared ||
        q[2] / l->heads != k[2] / l->shared)
        return ot_onnx_refuse(n, "its inputs are no %lld heads of queries over %lld",
                              (long long)l->heads, (long long)l->shared);
    l->batch = q[0];
    l->steps = q[1];
    l->key = q[2] / l->heads;
    l->room = v[2] / l->shared;
    const double scale = ot_onnx_real(n, "scale", 0);
    l->scale = scale != 0 ? scale : 1 / sqrt((double)l->key);
    if (l->steps < 1 || l->steps > MOST_STEPS)
        return ot_onnx_refuse(n, "%lld steps: 1 to %d are written out", (long long)l->steps,
                              (int)MOST_STEPS);
    return OPTUNE_OK;
}

/* The state behind step t, [B,heads of keys,key,room]. */
static value *stepped(ot_onnx_node *n, const linear *l, value *state, int64_t t)
{
    value *k = at_step(n, l->k, l, t, l->key, 1), *v = at_step(n, l->v, l, t, 1, l->room);
    int64_t dim[OPTUNE_MAX_RANK];
    if (l->decays) { /* a number for each head, or for each element of a key */
        if (!ot_onnx_dims_at(n, l->decay, 1u << 2, dim))
            return NULL;
        value *g = at_step(n, l->decay, l, t, dim[2] == l->shared ? 1 : l->key, 1);
        state = ot_onnx_2(n, "multiply", state, ot_onnx_1(n, "exp", g));
    }
    if (l->corrects) { /* one rate for all heads, or for each */
        if (!ot_onnx_dims_at(n, l->beta, 1u << 2, dim))
            return NULL;
        const int64_t rate[] = {l->batch, dim[2], 1, 1};
        value *beta = ot_onnx_reshape(n, ot_onnx_part(n, l->beta, 1, t, t + 1), 4, rate);
        value *row = k ? ot_onnx_transpose(n, k, 4, (const int[]){0, 1, 3, 2}) : NULL;
        v = ot_onnx_2(n, "subtract", v, ot_onnx_product(n, row, state));
        v = ot_onnx_2(n, "multiply", v, beta);
    }
    return ot_onnx_2(n, "add", state, ot_onnx_2(n, "multiply", k, v));
}

static int linear_attention(ot_onnx_node *n)
{
    linear l;
    if (measure(n, &l) < 0)
        return n->err->status;
    value *state = ot_onnx_wide(n, ot_onnx_in(n, 3)), *y[MOST_STEPS];
    const optune_dtype dtype = ot_onnx_type(n->m, ot_onnx_in(n, 0))->dtype;
    const optune_dtype carried = state ? ot_onnx_type(n->m, ot_onnx_in(n, 3))->dtype : dtype;
    optune_tensor type = {.dtype = ot_onnx_type(n->m, l.q)->dtype,
                          .rank = 4,
                          .dim = {optune_dim_of(l.batch), optune_dim_of(l.shared),
                                  optune_dim_of(l.key), optune_dim_of(l.room)}};
    if (!state && ot_onnx_room(n->m, &type, &state, n->err) < 0)
        return n->err->status;
    const int64_t all[] = {l.batch, 1, l.heads * l.room};
    l.q = ot_onnx_2(n, "multiply", l.q, ot_onnx_number(n, l.q, l.scale));
    for (int64_t t = 0; t < l.steps; t++) {
        state = stepped(n, &l, state, t);
        value *q = at_step(n, l.q, &l, t, l.heads / l.shared, l.key);
        y[t] = ot_onnx_reshape(n, q ? ot_onnx_product(n, q, state) : NULL, 3, all);
        if (!y[t])
            return n->err->status;
    }
    value *out = ot_onnx_join(n, 1, (int)l.steps, y);
    const int status = ot_onnx_give(n, 0, ot_onnx_as(n, out, dtype));
    return status >= 0 && ot_onnx_wants(n, 1)
               ? ot_onnx_give(n, 1, ot_onnx_as(n, state, carried))
               : status;
}

#define MS "com.microsoft::"
static const ot_onnx_op ops[] = {
    {"CausalConvWithState", causal_conv, NULL},
    {MS "CausalConvWithState", causal_conv, NULL},
    {"LinearAttention", linear_attention, NULL},
    {MS "LinearAttention", linear_attention, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(state) = {ops};
