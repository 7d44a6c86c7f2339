/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of ops of two operands, which Relay calls lhs and rhs. */
#ifndef OPTUNE_KERNELS_BINARY_H
#define OPTUNE_KERNELS_BINARY_H

#include "optune/define.h"

static const optune_op_input binary_inputs[] = {
    {"lhs", "tensor", "left operand", false, false},
    {"rhs", "tensor", "right operand; both are broadcast to one shape", false, false},
    {NULL, NULL, NULL, false, false},
};

/* Samples of ops of two operands: shapes that are alike, and that are broadcast. */
#define BINARY_FLOAT_SAMPLES(op)                                                               \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7], f32[7])", op "(f32[3,5,17], f32[17])", op "(f32[4,1,33], f32[1,6,1])",    \
            op "(f32[2,3,4,5], f32[3,1,1])", op "(f64[129], f64[])",                           \
            op "(f64[5,40], f64[5,40])", NULL                                                  \
    }

/* Of ops that integers have, too. */
#define BINARY_SAMPLES(op)                                                                     \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7], f32[7])", op "(f32[3,5,17], f32[17])", op "(f32[4,1,33], f32[1,6,1])",    \
            op "(f32[2,3,4,5], f32[3,1,1])", op "(f64[129], f64[])",                           \
            op "(f64[5,40], f64[5,40])", op "(i32[3,70], i32[3,1])", op "(u8[200], u8[200])",  \
            NULL                                                                               \
    }

#endif
