/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of attention, as products of batches over the weights, which are computed anew. With
 * w the weights and dw = dy v^T: dv = w^T dy, and of the scores ds = w (dw - the sum of dy y), of
 * which dq = scale ds k, dk = scale ds^T q and, of a mask of numbers, ds itself.
 *
 * What a query does not see gets the least score there is and then a weight of 0: a query that sees
 * nothing has no gradient, instead of NaN.
 */
#include "kernels/attention/attention.h"

static double lowest(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_BFLOAT ? -0x1.FEp127
           : dtype.bits == 64                ? -0x1.FFFFFFFFFFFFFp1023
           : dtype.bits == 32                ? -0x1.FFFFFEp127
                                             : -65504.0;
}

static int product(optune_grad *grad, int x, int y, bool transpose_x, bool transpose_y)
{
    return optune_grad_call(grad, "batch_matmul", 2, (const int[]){x, y},
                            "transpose_a=%s, transpose_b=%s", transpose_x ? "true" : "false",
                            transpose_y ? "true" : "false");
}

/* A value of this call's type as [heads, lines, columns], a matrix for each head of keys. */
static int matrices(optune_grad *grad, const attention_shape *s, int value, int64_t lines,
                    int64_t columns)
{
    optune_tensor shape = {.dtype = optune_grad_type(grad, value)->dtype, .rank = 3};
    shape.dim[0] = optune_dim_of(s->heads);
    shape.dim[1] = optune_dim_of(lines);
    shape.dim[2] = optune_dim_of(columns);
    return optune_grad_reshape(grad, value, &shape);
}

/* The numbers 0, 1 ... along an axis of [1, 1, sq, skv]. */
static int counted(optune_grad *grad, const attention_shape *s, int one, int axis)
{
    const int ones = optune_grad_call(grad, "broadcast_to", 1, &one,
                                      "shape=[1,1,%" PRId64 ",%" PRId64 "]", s->sq, s->skv);
    return optune_grad_call(grad, "cumsum", 1, &ones, "axis=%d, exclusive=true", axis);
}

static int conjunction(optune_grad *grad, int a, int b)
{
    const int zero = optune_grad_scalar(grad, b, 0);
    return a < 0 ? b : optune_grad_call(grad, "where", 3, (const int[]){a, b, zero}, NULL);
}

/* Who sees whom, as something that [b, hq, sq, skv] is broadcast from; `all`: everybody. */
static int seen(optune_grad *grad, const optune_call *call, const attention_shape *s, bool *all)
{
    int keep = -1;
    *all = !s->causal && !s->has_mask;
    if (s->causal) {
        const int one =
            host_cast(grad, optune_grad_scalar(grad, optune_grad_input(grad, ATTENTION_Q), 1),
                      (optune_dtype){OPTUNE_DTYPE_FLOAT, 32, 1});
        const int end =
            optune_grad_binary(grad, "add", counted(grad, s, one, 2),
                               optune_grad_scalar(grad, one, (double)(s->skv - s->sq + 1)));
        keep = optune_grad_binary(grad, "less", counted(grad, s, one, 3), end);
    }
    if (s->has_mask) {
        const optune_dtype dtype = call->input[ATTENTION_MASK].type.dtype;
        int mask = optune_grad_input(grad, ATTENTION_MASK);
        if (dtype.code != OPTUNE_DTYPE_BOOL) {
            const int out = optune_grad_binary(grad, "less", mask,
                                               optune_grad_scalar(grad, mask, lowest(dtype)));
            const int stays[] = {out, optune_grad_scalar(grad, mask, 0),
                                 optune_grad_scalar(grad, mask, 1)};
            mask = optune_grad_call(grad, "where", 3, stays, NULL);
        }
        keep = conjunction(grad, keep, mask);
    }
    return keep;
}

/* The weights [b, hq, sq, skv]. */
static int weights(optune_grad *grad, const optune_call *call, const attention_shape *s, int q,
                   int k)
{
    optune_tensor full = *optune_grad_type(grad, optune_grad_input(grad, ATTENTION_Q));
    full.dim[3] = optune_dim_of(s->skv);
    int score = product(grad, q, k, false, true);
    score =
        optune_grad_binary(grad, "multiply", score, optune_grad_scalar(grad, score, s->scale));
    score = optune_grad_reshape(grad, score, &full);
    bool all;
    const int keep = seen(grad, call, s, &all);
    if (s->has_mask && call->input[ATTENTION_MASK].type.dtype.code != OPTUNE_DTYPE_BOOL)
        score = optune_grad_binary(grad, "add", score, optune_grad_input(grad, ATTENTION_MASK));
    if (!all)
        score = optune_grad_call(
            grad, "where", 3,
            (const int[]){keep, score, optune_grad_scalar(grad, score, lowest(full.dtype))},
            NULL);
    const int w = optune_grad_call(grad, "softmax", 1, &score, "axis=-1");
    return all ? w
               : optune_grad_call(grad, "where", 3,
                                  (const int[]){keep, w, optune_grad_scalar(grad, w, 0)}, NULL);
}

int attention_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    attention_shape s;
    if (!attention_shape_of(call, &s))
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "needs constant shapes");
    if (s.heads < 1 || s.rows < 1 || s.skv < 1 || s.d < 1 || s.dv < 1)
        return OPTUNE_OK; /* nothing depends on anything */
    const int q = matrices(grad, &s, optune_grad_input(grad, ATTENTION_Q), s.rows, s.d);
    const int k = matrices(grad, &s, optune_grad_input(grad, ATTENTION_K), s.skv, s.d);
    const int v = matrices(grad, &s, optune_grad_input(grad, ATTENTION_V), s.skv, s.dv);
    const int y = matrices(grad, &s, optune_grad_output(grad, 0), s.rows, s.dv);
    const int dy = matrices(grad, &s, optune_grad_adjoint(grad, 0), s.rows, s.dv);
    const int full = weights(grad, call, &s, q, k);
    const int w = matrices(grad, &s, full, s.rows, s.skv);
    const optune_tensor *type = optune_grad_type(grad, optune_grad_input(grad, ATTENTION_Q));
    const optune_tensor q_type = *type,
                        k_type = *optune_grad_type(grad, optune_grad_input(grad, ATTENTION_K)),
                        v_type = *optune_grad_type(grad, optune_grad_input(grad, ATTENTION_V)),
                        w_type = *optune_grad_type(grad, full);
    if (optune_grad_wants(grad, ATTENTION_V))
        optune_grad_add(grad, ATTENTION_V,
                        optune_grad_reshape(grad, product(grad, w, dy, true, false), &v_type));
    const int both = optune_grad_binary(grad, "multiply", dy, y);
    const int mean = optune_grad_call(grad, "sum", 1, &both, "axis=[-1], keepdims=true");
    const int dw = product(grad, dy, v, false, true);
    const int ds =
        optune_grad_binary(grad, "multiply", w, optune_grad_binary(grad, "subtract", dw, mean));
    if (s.has_mask && optune_grad_wants(grad, ATTENTION_MASK) &&
        call->input[ATTENTION_MASK].type.dtype.code != OPTUNE_DTYPE_BOOL)
        optune_grad_add(grad, ATTENTION_MASK, optune_grad_reshape(grad, ds, &w_type));
    const int scaled =
        optune_grad_binary(grad, "multiply", ds, optune_grad_scalar(grad, ds, s.scale));
    if (optune_grad_wants(grad, ATTENTION_Q))
        optune_grad_add(
            grad, ATTENTION_Q,
            optune_grad_reshape(grad, product(grad, scaled, k, false, false), &q_type));
    if (optune_grad_wants(grad, ATTENTION_K))
        optune_grad_add(
            grad, ATTENTION_K,
            optune_grad_reshape(grad, product(grad, scaled, q, true, false), &k_type));
    return OPTUNE_OK;
}
