/* SPDX-License-Identifier: Apache-2.0 */
/* where: x where condition is not 0, else y; all three are broadcast. A NaN condition is not 0. */
#include "kernels/host/scalar.h"
#include "optune/define.h"

OPTUNE_SCALAR(expression, 0, s_select(x0 != 0, x1, x2));

static const optune_op_input inputs[] = {
    {"condition", "tensor", "any dtype, bool usually", false, false},
    {"x", "tensor", "where it is not 0", false, false},
    {"y", "tensor", "where it is 0", false, false},
    {NULL, NULL, NULL, false, false},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *x = &call->input[1].type, *y = &call->input[2].type, *out = &call->output[0];
    for (int pass = 0; pass < 2; pass++)
        if (!optune_dtype_unify(&x->dtype, &y->dtype) ||
            !optune_dtype_unify(&y->dtype, &out->dtype))
            return optune_types_differ(err, "their dtypes differ, or the output's", "x", x, "y",
                                       y);
    return optune_broadcast_shapes(call, 0, 2, err);
}

static const char *const samples[] = {
    "where(bool[7], f32[7], f32[7])",      "where(bool[3,5,17], f32[17], f32[5,1])",
    "where(f32[5,40], f32[5,40], f32[1])", "where(bool[4,1], i32[4,70], i32[4,70])",
    "where(bool[65], f64[65], f64[])",     "where(f32[64], i32[64], i32[64])",
    "where(i32[5,40], u8[40], u8[5,1])",   NULL,
};

/* dy goes to the one that is chosen */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int condition = optune_grad_input(grad, 0), dy = optune_grad_adjoint(grad, 0);
    const int zero = optune_grad_scalar(grad, dy, 0);
    if (optune_grad_wants(grad, 1))
        optune_grad_add(
            grad, 1,
            optune_grad_call(grad, "where", 3, (const int[]){condition, dy, zero}, NULL));
    if (optune_grad_wants(grad, 2))
        optune_grad_add(
            grad, 2,
            optune_grad_call(grad, "where", 3, (const int[]){condition, zero, dy}, NULL));
    return OPTUNE_OK;
}

OPTUNE_OP(where) = {
    .name = "where",
    .summary = "chooses between two tensors, value by value",
    .inputs = inputs,
    .support_level = 4,
    .gradient = gradient,
    .samples = samples,
    .pattern = OPTUNE_BROADCAST,
    .n_outputs = 1,
    .scalar = &expression,
    .types = types,
    .flops = optune_pattern_flops,
    .reference = optune_pattern_reference,
};
