/* SPDX-License-Identifier: Apache-2.0 */
/*
 * min: the smallest value over axes. NaN when a value is NaN; of nothing: the identity, infinity or
 * the dtype's extreme.
 */
#include "kernels/reduce/arguments.h"

OPTUNE_SCALAR(identity, 0, s_highest);
OPTUNE_SCALAR(combine, 0, s_min(x0, x1));

static const optune_reduce expressions = {&identity, &reduce_value, &combine, &reduce_value,
                                          false};

static const char *const samples[] = {
    "min(f32[7])",
    "min(f32[33,70], axis=[1])",
    "min(f32[33,70], axis=[0])",
    "min(f32[3,5,17], axis=[0,2], keepdims=true)",
    "min(f32[3,5,17], axis=[1], exclude=true)",
    "min(f32[2,3,4,37], axis=[1,3])",
    "min(f32[5,6,1,9], axis=[0,2])",
    "min(f64[2,1001], axis=[-1])",
    "min(f64[129,5], axis=[0], keepdims=true)",
    "min(i32[9,70], axis=[0])",
    "min(i32[9,70], axis=[1])",
    NULL,
};

/* dy goes to the values chosen, in equal parts */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    reduce_give_to_chosen(grad, call);
    return OPTUNE_OK;
}

OPTUNE_OP(min) = {
    .name = "min",
    .summary = "smallest value over axes",
    .inputs = reduce_inputs,
    .attrs = reduce_attrs,
    .support_level = 4,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_REDUCTION_OP(expressions),
};
