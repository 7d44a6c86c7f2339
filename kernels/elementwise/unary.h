/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of ops of one operand, and the relation of those that are for floats only. */
#ifndef OPTUNE_KERNELS_UNARY_H
#define OPTUNE_KERNELS_UNARY_H

#include "optune/define.h"

static const optune_op_input unary_inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {NULL, NULL, NULL, false, false},
};

/* `status` when the dtype is a floating one, or not known yet. */
static inline int unary_floats(const optune_call *call, int status, optune_err *err)
{
    const optune_dtype dtype = call->output[0].dtype;
    if (dtype.code == OPTUNE_DTYPE_UNKNOWN || dtype.code == OPTUNE_DTYPE_FLOAT ||
        dtype.code == OPTUNE_DTYPE_BFLOAT)
        return status;
    return optune_fail(err, OPTUNE_ETYPE, "'%s' is for floating dtypes", call->op->name);
}

/* The relation of ops of one operand that are for floats only. */
static inline int unary_float_types(optune_call *call, optune_err *err)
{
    const int status = optune_elemwise_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

/* OPTUNE_ELEMWISE_OP of such ops. */
#define UNARY_FLOAT_OP(declared)                                                               \
    .pattern = OPTUNE_ELEMWISE, .n_outputs = 1, .scalar = &(declared),                         \
    .types = unary_float_types, .flops = optune_pattern_flops, .terms = optune_pattern_terms,  \
    .reference = optune_pattern_reference

/* What contract tests try of them. */
#define UNARY_FLOAT_SAMPLES(op)                                                                \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7])", op "(f32[3,5,17])", op "(f32[])", op "(f32[2,1037])", op "(f64[9,31])", \
            NULL                                                                               \
    }

/* A gradient: d data is dy times the slope. */
static inline int unary_times_slope(optune_grad *grad, int slope)
{
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0), slope));
    return OPTUNE_OK;
}

/* What activations are measured with. */
#define ACTIVATION_PRESETS(op)                                                                 \
    (const optune_preset[])                                                                    \
    {                                                                                          \
        {"resnet50", "the sizes of activations of ResNet-50, batch 1",                         \
         (const char *const[]){op "(f32[1,64,112,112])", op "(f32[1,256,56,56])",              \
                               op "(f32[1,512,28,28])", op "(f32[1,2048,7,7])", NULL}},        \
            {"large", "512 MB: limited by memory",                                             \
             (const char *const[]){op "(f32[134217728])", NULL}},                              \
        {                                                                                      \
            .name = NULL                                                                       \
        }                                                                                      \
    }

#endif
