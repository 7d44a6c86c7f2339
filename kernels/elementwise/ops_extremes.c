/* SPDX-License-Identifier: Apache-2.0 */
/* maximum, minimum: the larger, the smaller of lhs and rhs, broadcast. NaN when either is NaN, as
 * NumPy's. */
#include "kernels/elementwise/binary.h"
#include "kernels/host/gradient.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(larger, 0, s_max(x0, x1));
OPTUNE_SCALAR(smaller, 0, s_min(x0, x1));

/* dy goes to the one that is chosen, to rhs when both are equal */
static int chosen(optune_grad *grad, const char *first_is)
{
    const int a = optune_grad_input(grad, 0), b = optune_grad_input(grad, 1);
    const int dy = optune_grad_adjoint(grad, 0);
    const int zero = optune_grad_scalar(grad, dy, 0);
    const int first = optune_grad_binary(grad, first_is, a, b);
    if (optune_grad_wants(grad, 0))
        optune_grad_add(grad, 0, host_choose(grad, first, dy, zero));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1, host_choose(grad, first, zero, dy));
    return OPTUNE_OK;
}

static int of_maximum(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return chosen(grad, "greater");
}

static int of_minimum(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return chosen(grad, "less");
}

#define EXTREME(op, text, expression)                                                          \
    {                                                                                          \
        .name = #op, .summary = text, .inputs = binary_inputs, .support_level = 1,             \
        .gradient = of_##op, .samples = BINARY_SAMPLES(#op), OPTUNE_BROADCAST_OP(expression)   \
    }

OPTUNE_OPS(extremes) = {
    EXTREME(maximum, "the larger of two values", larger),
    EXTREME(minimum, "the smaller of two values", smaller),
    {0},
};
