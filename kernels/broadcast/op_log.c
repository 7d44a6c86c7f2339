/* SPDX-License-Identifier: Apache-2.0 */
/* log: the natural logarithm. 0 gives minus infinity, negative values and NaN give NaN. */
#include "kernels/broadcast/unary.h"
#include "kernels/common/scalar.h"

OPTUNE_SCALAR(expression, 3, s_log(x0));

static const optune_op_input inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {NULL, NULL, NULL, false, false},
};

static int types(optune_call *call, optune_err *err)
{
    const int status = optune_elemwise_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

static const char *const samples[] = {
    "log(f32[7])", "log(f32[3,5,17])", "log(f32[])", "log(f32[2,1037])", "log(f64[9,31])", NULL,
};

/* d data = dy / data */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "divide", optune_grad_adjoint(grad, 0),
                                       optune_grad_input(grad, 0)));
    return OPTUNE_OK;
}

OPTUNE_OP(log) = {
    .name = "log",
    .summary = "natural logarithm",
    .inputs = inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .pattern = OPTUNE_ELEMWISE,
    .n_outputs = 1,
    .scalar = &expression,
    .types = types,
    .flops = optune_pattern_flops,
    .terms = optune_pattern_terms,
    .reference = optune_pattern_reference,
};
