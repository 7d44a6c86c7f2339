/* SPDX-License-Identifier: Apache-2.0 */
/* prod: the product over axes. Integers wrap; NaN when a value is NaN; of nothing: 1. */
#include "kernels/reduce/arguments.h"

OPTUNE_SCALAR(one, 0, 1);
OPTUNE_SCALAR(times, 0, x0 *x1);

static const optune_reduce expressions = {&one, &reduce_value, &times, &reduce_value, true};

/* The reference counts in doubles, which cannot wrap modulo 2^64: such products stay small. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    const optune_tensor *type = &call->input[input].type;
    const bool is_signed = type->dtype.code == OPTUNE_DTYPE_INT;
    if ((!is_signed && type->dtype.code != OPTUNE_DTYPE_UINT) || type->dtype.bits < 64)
        return false;
    const bool few = optune_tensor_known(type) && optune_tensor_elements(type) <= 50;
    *low = few || !is_signed ? 1 : -1;
    *high = few ? 2 : 1;
    return true;
}

static const char *const samples[] = {
    "prod(f32[7])",
    "prod(f32[33,70], axis=[1])",
    "prod(f32[33,70], axis=[0])",
    "prod(f32[3,5,17], axis=[0,2], keepdims=true)",
    "prod(f32[3,5,17], axis=[1], exclude=true)",
    "prod(f32[2,3,4,37], axis=[1,3])",
    "prod(f32[5,6,1,9], axis=[0,2])",
    "prod(f64[2,1001], axis=[-1])",
    "prod(f64[129,5], axis=[0], keepdims=true)",
    "prod(i64[13,1], axis=[0])",
    NULL,
};

OPTUNE_OP(prod) = {
    .name = "prod",
    .summary = "product over axes",
    .inputs = reduce_inputs,
    .attrs = reduce_attrs,
    .support_level = 4,
    .samples = samples,
    .range = range,
    OPTUNE_REDUCTION_OP(expressions),
};
