/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of dense_nbits by composition: the weight as floats, as the operator's header has
 * it, and what dense's gradient is. Integers have none; scales, and zero points that are floats,
 * have the sums over their groups.
 */
#include "kernels/nbits/nbits.h"

/* In what the products are summed in: float32, or what is wider. */
static int wide(optune_grad *grad, int value)
{
    optune_dtype dtype = optune_grad_type(grad, optune_grad_adjoint(grad, 0))->dtype;
    if (dtype.bits < 32)
        dtype = (optune_dtype){.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    return value < 0 ? value : host_cast(grad, value, dtype);
}

/* value * factor, and the largest whole number in it. */
static int times(optune_grad *grad, int value, double factor)
{
    return optune_grad_binary(grad, "multiply", value, optune_grad_scalar(grad, value, factor));
}

static int floors(optune_grad *grad, int value, double factor)
{
    return optune_grad_unary(grad, "floor", times(grad, value, factor));
}

static optune_tensor shape_of(int rank, int64_t a, int64_t b, int64_t c)
{
    return (optune_tensor){.dtype = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1},
                           .rank = rank,
                           .dim = {optune_dim_of(a), optune_dim_of(b), optune_dim_of(c)}};
}

/* The first k columns of [n,all]. */
static int columns(optune_grad *grad, const nbits_shape *s, int value, int64_t all)
{
    return all == s->k
               ? value
               : optune_grad_call(grad, "strided_slice", 1, &value,
                                  "begin=[0,0], end=[%" PRId64 ",%" PRId64 "]", s->n, s->k);
}

/* The weight's integers [n,k]. */
static int integers(optune_grad *grad, const nbits_shape *s)
{
    const int bytes = wide(grad, optune_grad_input(grad, NBITS_WEIGHT));
    if (s->bits == 8)
        return bytes;
    const int high = floors(grad, bytes, 1.0 / 16);
    int low = optune_grad_binary(grad, "subtract", bytes, times(grad, high, 16));
    if (s->is_signed)
        low = optune_grad_binary(grad, "subtract", low,
                                 times(grad, floors(grad, low, 1.0 / 8), 16));
    const optune_tensor one = shape_of(3, s->n, s->row_bytes, 1);
    const optune_tensor all = shape_of(2, s->n, 2 * s->row_bytes, 0);
    const int halves[] = {optune_grad_reshape(grad, low, &one),
                          optune_grad_reshape(grad, high, &one)};
    return columns(grad, s,
                   optune_grad_reshape(
                       grad, optune_grad_call(grad, "concatenate", 2, halves, "axis=2"), &all),
                   2 * s->row_bytes);
}

/* Numbers of groups [n,groups], each as often as it counts, [n,k]. */
static int spread(optune_grad *grad, const nbits_shape *s, int value)
{
    const optune_tensor one = shape_of(3, s->n, s->groups, 1);
    const optune_tensor all = shape_of(2, s->n, s->groups * s->group, 0);
    value = optune_grad_reshape(grad, value, &one);
    value = optune_grad_call(grad, "broadcast_to", 1, &value,
                             "shape=[%" PRId64 ",%" PRId64 ",%" PRId64 "]", s->n, s->groups,
                             s->group);
    return columns(grad, s, optune_grad_reshape(grad, value, &all), s->groups * s->group);
}

/* [n,k] summed over groups, in a dtype. */
static int gathered(optune_grad *grad, const nbits_shape *s, int value, optune_dtype dtype)
{
    const int64_t more = s->groups * s->group - s->k;
    const optune_tensor all = shape_of(3, s->n, s->groups, s->group);
    if (more > 0)
        value = optune_grad_call(grad, "pad", 1, &value, "before=[0,0], after=[0,%" PRId64 "]",
                                 more);
    value = optune_grad_reshape(grad, value, &all);
    return host_cast(grad, optune_grad_call(grad, "sum", 1, &value, "axis=[2]"), dtype);
}

int nbits_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    for (int i = 0; i < call->n_inputs; i++)
        for (int d = 0; d < call->input[i].type.rank; d++)
            if ((i != NBITS_DATA || d > 0) && !optune_dim_known(&call->input[i].type.dim[d]))
                return optune_fail(err, OPTUNE_EUNSUPPORTED,
                                   "dims of the weight are not known");
    const nbits_shape s = nbits_shape_of(call);
    const optune_dtype dtype = call->output[0].dtype;
    const int scale = spread(grad, &s, wide(grad, optune_grad_input(grad, NBITS_SCALE)));
    const int dy = optune_grad_adjoint(grad, 0);
    int level = integers(grad, &s);
    if (s.zero)
        level = optune_grad_binary(
            grad, "subtract", level,
            spread(grad, &s, wide(grad, optune_grad_input(grad, NBITS_ZERO))));
    else if (!s.is_signed)
        level = optune_grad_binary(grad, "subtract", level,
                                   optune_grad_scalar(grad, level, s.bits == 4 ? 8 : 128));
    if (optune_grad_wants(grad, NBITS_DATA)) {
        const int weight =
            host_cast(grad, optune_grad_binary(grad, "multiply", level, scale), dtype);
        optune_grad_add(grad, NBITS_DATA,
                        optune_grad_binary(grad, "dense", dy,
                                           optune_grad_unary(grad, "transpose", weight)));
    }
    const bool zero = s.zero_real && optune_grad_wants(grad, NBITS_ZERO);
    if (!zero && !optune_grad_wants(grad, NBITS_SCALE))
        return OPTUNE_OK;
    const int data = optune_grad_input(grad, NBITS_DATA);
    const int dw =
        wide(grad, optune_grad_binary(grad, "dense", optune_grad_unary(grad, "transpose", dy),
                                      optune_grad_unary(grad, "transpose", data)));
    if (optune_grad_wants(grad, NBITS_SCALE))
        optune_grad_add(grad, NBITS_SCALE,
                        gathered(grad, &s, optune_grad_binary(grad, "multiply", dw, level),
                                 call->input[NBITS_SCALE].type.dtype));
    if (zero)
        optune_grad_add(
            grad, NBITS_ZERO,
            gathered(grad, &s,
                     optune_grad_unary(grad, "negative",
                                       optune_grad_binary(grad, "multiply", dw, scale)),
                     call->input[NBITS_ZERO].type.dtype));
    return OPTUNE_OK;
}
