/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention: output[b,h,i,:] = sum over j of p[j] v[b,g,j,:], p the softmax over j of
 * scale * (q[b,h,i,:] . k[b,g,j,:]) + mask[b,h,i,j], where g = h / (hq / hkv): query heads share
 * key heads in groups of neighbours.
 *
 * Heads are outside of positions, as products of batches have them: the rows of a head are one
 * matrix, a cache of keys grows by rows, and query heads that share keys are rows of the same one.
 *
 * A mask is broadcast to [b,hq,sq,skv]. Of a bool one, true keeps a key and false leaves it out; of
 * numbers, they are added, and -infinity leaves a key out. Padding is such a mask, [b,1,1,skv].
 * `causal` is aligned to the end, as a cache of keys needs it: query i sees the keys j with
 * j <= i + skv - sq. A query that sees no key (all are left out, or there is none) gives zeros or,
 * with `nan`, what a softmax over nothing but -infinity gives.
 * Where a score is NaN or +infinity the query's output is NaN. An element of v that is not finite
 * at a key that is left out may make NaN or not: 0 * infinity is one, and who skips it has none.
 *
 * A score's error is that of its sum and of rounding it, which exp magnifies; so each weight counts
 * with 1 + s + the mean of s, s the score's own sum of absolute products and its distance from
 * the largest.
 */
#include <stdlib.h>

#include "kernels/attention/attention.h"
#include "kernels/host/region_lines.h"

static const optune_op_input inputs[] = {
    {.name = "q", .type = "tensor [B,HQ,SQ,D]", .description = "queries"},
    {.name = "k", .type = "tensor [B,HKV,SKV,D]", .description = "keys; HQ is a multiple of HKV"},
    {.name = "v", .type = "tensor [B,HKV,SKV,DV]", .description = "values"},
    {.name = "mask",
     .type = "tensor [B|1,HQ|1,SQ|1,SKV|1]",
     .description = "bool: true keeps a key; numbers are added to scores",
     .optional = true},
    {0},
};

static const optune_op_attr attrs[] = {
    {.name = "causal",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "query i sees keys up to i + SKV - SQ, the last query all",
     .shown = true},
    {.name = "scale",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "0",
     .description = "factor of the scores; 0: 1 / sqrt(D)"},
    {.name = "nan",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "a query that sees no key gives NaN, not zeros"},
    {0},
};

static int misfit(const optune_call *call, int a, int b, const char *what, optune_err *err)
{
    static const char *const name[] = {"argument 1 (q)", "argument 2 (k)", "argument 3 (v)",
                                       "argument 4 (mask)", "output"};
    const optune_tensor *out = &call->output[0];
    return tensor_misfit(err, "attention", name[a], a == 4 ? out : &call->input[a].type,
                         name[b], b == 4 ? out : &call->input[b].type, what);
}

static int heads_fit(const optune_call *call, optune_err *err)
{
    const optune_dim *hq = &call->input[ATTENTION_Q].type.dim[1];
    const optune_dim *hkv = &call->input[ATTENTION_K].type.dim[1];
    if (!optune_dim_known(hq) || !optune_dim_known(hkv))
        return OPTUNE_OK;
    return hkv->min >= 1 && hq->min % hkv->min == 0
               ? OPTUNE_OK
               : misfit(call, ATTENTION_Q, ATTENTION_K,
                        "the heads of q are a multiple of those of k", err);
}

static int mask_types(optune_call *call, optune_err *err)
{
    optune_tensor *mask = &call->input[ATTENTION_MASK].type;
    optune_dim *q = call->input[ATTENTION_Q].type.dim, *k = call->input[ATTENTION_K].type.dim;
    optune_dim *const full[] = {&q[0], &q[1], &q[2], &k[2]};
    if (!optune_tensor_set_rank(mask, 4))
        return misfit(call, ATTENTION_MASK, ATTENTION_Q, "a mask has four dims", err);
    if (mask->dtype.code != OPTUNE_DTYPE_BOOL &&
        !optune_dtype_unify(&mask->dtype, &call->input[ATTENTION_Q].type.dtype))
        return misfit(call, ATTENTION_MASK, ATTENTION_Q, "a mask is bool or of q's type", err);
    for (int d = 0; d < 4; d++) {
        optune_dim *m = &mask->dim[d];
        const bool same = m->name[0] && strcmp(m->name, full[d]->name) == 0;
        const bool wide = m->min > 1 || m->max < 1 || same || full[d]->max <= 1;
        if (wide && !(optune_dim_known(m) && m->min == 1) && !optune_dim_unify(m, full[d]))
            return misfit(call, ATTENTION_MASK, d < 3 ? ATTENTION_Q : ATTENTION_K,
                          "a mask is broadcast to [b,hq,sq,skv]: each dim is that or 1", err);
    }
    return OPTUNE_OK;
}

static int types(optune_call *call, optune_err *err)
{
    static const struct {
        int a, a_dim, b, b_dim;
        const char *what;
    } equal[] = {
        {ATTENTION_K, 0, ATTENTION_Q, 0, "they have the same batches"},
        {ATTENTION_V, 0, ATTENTION_Q, 0, "they have the same batches"},
        {ATTENTION_K, 3, ATTENTION_Q, 3, "scores are sums over the same last dimension (d)"},
        {ATTENTION_V, 1, ATTENTION_K, 1, "keys and values have the same heads"},
        {ATTENTION_V, 2, ATTENTION_K, 2, "there are as many keys as values"},
        {4, 0, ATTENTION_Q, 0, "they have the same batches"},
        {4, 1, ATTENTION_Q, 1, "they have the same heads"},
        {4, 2, ATTENTION_Q, 2, "there are as many rows as queries"},
        {4, 3, ATTENTION_V, 3, "they have the same columns (dv)"},
    };
    optune_tensor *type[] = {&call->input[0].type, &call->input[1].type, &call->input[2].type,
                             NULL, &call->output[0]};
    for (int i = 0; i < 5; i++) {
        if (!type[i])
            continue;
        if (!optune_tensor_set_rank(type[i], 4))
            return misfit(call, i, i ? 0 : 4, "each has four dims, [b,heads,positions,depth]",
                          err);
        if (i && !optune_dtype_unify(&type[i]->dtype, &type[0]->dtype))
            return misfit(call, i, 0, "they have the same type", err);
    }
    optune_dtype_unify(&type[0]->dtype, &type[4]->dtype);
    for (int i = 1; i < 3; i++)
        optune_dtype_unify(&type[i]->dtype, &type[0]->dtype);
    if (!tensor_is_real(type[0]))
        return misfit(call, 0, 4, "exponentials need a floating type", err);
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (!optune_dim_unify(&type[equal[i].a]->dim[equal[i].a_dim],
                              &type[equal[i].b]->dim[equal[i].b_dim]))
            return misfit(call, equal[i].a, equal[i].b, equal[i].what, err);
    int status = heads_fit(call, err);
    if (status == OPTUNE_OK && call->n_inputs > ATTENTION_MASK)
        status = mask_types(call, err);
    if (status < 0)
        return status;
    bool known = optune_tensor_known(&call->output[0]);
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    return known ? OPTUNE_OK : 1;
}

/* How many keys all queries of a head see: a causal one sees none behind it. */
static double seen(const attention_shape *s)
{
    if (!s->causal)
        return (double)s->sq * (double)s->skv;
    const double rows = (double)(s->sq < s->skv ? s->sq : s->skv);
    return rows * ((double)s->skv - rows) + rows * (rows + 1) / 2;
}

/* Both products, and five for each exponential, of what a query sees; masks say nothing here. */
static double flops(const optune_call *call)
{
    attention_shape s;
    if (!attention_shape_of(call, &s))
        return 0;
    return (double)s.b * (double)s.hq * seen(&s) * (2.0 * (double)s.d + 2.0 * (double)s.dv + 5.0);
}

static double terms(const optune_call *call)
{
    attention_shape s;
    return attention_shape_of(call, &s) ? (double)(s.d > s.skv ? s.d : s.skv) + 8 : 1;
}

static const char *const bert[] = {
    "attention(f32[1,12,128,64], f32[1,12,128,64], f32[1,12,128,64])",
    "attention(f32[1,12,512,64], f32[1,12,512,64], f32[1,12,512,64], f32[1,1,1,512])",
    NULL,
};

static const char *const llama_prefill[] = {
    "attention(f32[1,32,512,128], f32[1,8,512,128], f32[1,8,512,128], causal=true)",
    "attention(f32[1,32,128,128], f32[1,8,1024,128], f32[1,8,1024,128], causal=true)",
    NULL,
};

static const char *const llama_decode[] = {
    "attention(f32[1,32,1,128], f32[1,8,1024,128], f32[1,8,1024,128], causal=true)",
    "attention(f32[1,32,1,128], f32[1,8,4096,128], f32[1,8,4096,128], causal=true)",
    NULL,
};

static const char *const half[] = {
    "attention(bf16[8,12,512,64], bf16[8,12,512,64], bf16[8,12,512,64], bool[8,1,1,512])",
    "attention(bf16[1,32,2048,128], bf16[1,8,2048,128], bf16[1,8,2048,128], causal=true)",
    "attention(bf16[8,32,1,128], bf16[8,8,4096,128], bf16[8,8,4096,128], causal=true)",
    NULL,
};

static const optune_preset presets[] = {
    {"bert-base", "12 heads, sequences of 128, and of 512 with padding", bert},
    {"llama-prefill", "32 heads over 8 of keys: a prompt, and one behind a cache", llama_prefill},
    {"llama-decode", "one token over a cache of 1024 and 4096 keys", llama_decode},
    {"bf16", "a batch for BERT, a prompt, and a batch of tokens over a cache, for GPUs", half},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "attention(f32[1,2,7,16], f32[1,2,9,16], f32[1,2,9,16])",
    "attention(f32[2,4,13,20], f32[2,2,37,20], f32[2,2,37,24], causal=true)",
    "attention(f32[1,2,33,64], f32[1,2,33,64], f32[1,2,33,64], f32[1,1,33,33])",
    "attention(f32[2,3,5,17], f32[2,3,70,17], f32[2,3,70,19], bool[2,1,1,70])",
    "attention(f32[1,8,1,32], f32[1,2,129,32], f32[1,2,129,32], causal=true)",
    "attention(f32[1,4,1,7], f32[1,4,300,7], f32[1,4,300,5], f32[1,4,1,1], scale=0.5)",
    "attention(f32[1,2,11,8], f32[1,1,4,8], f32[1,1,4,8], causal=true)",
    "attention(f32[1,2,4,8], f32[1,2,11,8], f32[1,2,11,8], causal=true, nan=true)",
    "attention(f32[1,1,130,33], f32[1,1,150,33], f32[1,1,150,40], causal=true, scale=-0.25)",
    "attention(f64[1,2,9,10], f64[1,1,21,10], f64[1,1,21,11], bool[1,2,9,21])",
    "attention(f16[1,2,19,24], f16[1,2,40,24], f16[1,2,40,24], f16[1,2,19,40])",
    "attention(bf16[2,2,17,16], bf16[2,1,35,16], bf16[2,1,35,18], causal=true)",
    "attention(bf16[1,6,1,40], bf16[1,2,65,40], bf16[1,2,65,40], bool[1,1,1,65])",
    "attention(f16[1,4,50,64], f16[1,2,90,64], f16[1,2,90,72], causal=true)",
    "attention(bf16[1,1,33,128], bf16[1,1,48,128], bf16[1,1,48,128])",
    NULL,
};

OPTUNE_OP(attention) = {
    .name = "attention",
    .summary = "softmax(q k^T scale + mask) v of several heads, which may share keys",
    .inputs = inputs,
    .attrs = attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 10,
    .types = types,
    .gradient = attention_gradient,
    .flops = flops,
    .terms = terms,
    .reference = attention_reference,
    .float32_sums = true,
    .presets = presets,
    .samples = samples,
};
