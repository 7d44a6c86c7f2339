/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast: data in another dtype. To a narrower float: rounded to nearest. Float to integer: towards
 * zero, and unspecified where the integer cannot hold it (NaN among them). Integer to integer:
 * wraps. To bool: whether it is not 0 (NaN is not).
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/host.h"

OPTUNE_SCALAR(expression, 0, x0);

static const optune_op_attr attrs[] = {
    {.name = "dtype", .kind = OPTUNE_ATTR_DTYPE, .description = "the output's", .shown = true},
    {.name = NULL},
};

static int types(optune_call *call, optune_err *err)
{
    optune_dtype want = optune_call_attr(call, "dtype")->dtype;
    if (!optune_dtype_unify(&call->output[0].dtype, &want))
        return optune_fail(err, OPTUNE_ETYPE, "the output has another dtype than 'dtype' says");
    const int status = optune_broadcast_shapes(call, 0, 0, err);
    if (status < 0 || call->input[0].type.rank < 0)
        return status;
    for (int d = 0; d < call->input[0].type.rank; d++)
        if (!optune_dim_unify(&call->input[0].type.dim[d], &call->output[0].dim[d]))
            return optune_types_differ(err, "their shapes differ", "data", &call->input[0].type,
                                       "output", &call->output[0]);
    return status;
}

static const char *const samples[] = {
    "cast(f32[3,5,17], dtype=i32)", "cast(f32[130], dtype=i8)",
    "cast(i32[3,70], dtype=f32)",   "cast(f64[129], dtype=f32)",
    "cast(f32[2,65], dtype=f64)",   "cast(i32[200], dtype=u8)",
    "cast(f32[70], dtype=bool)",    "cast(u8[3,33], dtype=f32)",
    "cast(bool[77], dtype=f32)",    NULL,
};

/* d data = dy in the dtype of data; only floating ones get here */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    optune_grad_add(grad, 0,
                    host_cast(grad, optune_grad_adjoint(grad, 0), call->input[0].type.dtype));
    return OPTUNE_OK;
}

OPTUNE_OP(cast) = {
    .name = "cast",
    .summary = "the same values in another dtype",
    .inputs = unary_inputs,
    .attrs = attrs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .pattern = OPTUNE_ELEMWISE,
    .n_outputs = 1,
    .scalar = &expression,
    .types = types,
    .reference = optune_pattern_reference,
};
