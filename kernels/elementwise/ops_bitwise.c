/* SPDX-License-Identifier: Apache-2.0 */
/* bitwise_and, bitwise_or, bitwise_xor: of two integers of one dtype, broadcast. */
#include "kernels/elementwise/binary.h"
#include "kernels/host/host.h"

/* As a body has it, and in words; doubles hold the integers that they are asked about. */
#define BITWISE(name, operator)                                                                \
    static double name##_value(const double *x, const double *a)                               \
    {                                                                                          \
        (void)a;                                                                               \
        return (double)((int64_t)x[0] operator(int64_t) x[1]);                                 \
    }                                                                                          \
    static int64_t name##_with_sign(const int64_t *x, const int64_t *a)                        \
    {                                                                                          \
        (void)a;                                                                               \
        return x[0] operator x[1];                                                             \
    }                                                                                          \
    static uint64_t name##_without_sign(const uint64_t *x, const uint64_t *a)                  \
    {                                                                                          \
        (void)a;                                                                               \
        return x[0] operator x[1];                                                             \
    }                                                                                          \
    static const optune_scalar name = {"x0 " #operator" x1", name##_value, 0,                  \
                                       name##_with_sign, name##_without_sign}

BITWISE(both, &);
BITWISE(either, |);
BITWISE(one_of, ^);

static int integer_types(optune_call *call, optune_err *err)
{
    const int status = optune_broadcast_types(call, err);
    if (status < 0)
        return status;
    const optune_dtype dtype = call->output[0].dtype;
    if (dtype.code != OPTUNE_DTYPE_UNKNOWN && dtype.code != OPTUNE_DTYPE_INT &&
        dtype.code != OPTUNE_DTYPE_UINT)
        return optune_fail(err, OPTUNE_ETYPE, "'%s' is of integers", call->op->name);
    return status;
}

#define SAMPLES(op)                                                                            \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(i32[7], i32[7])", op "(u8[3,5,17], u8[17])", op "(i64[4,1,33], i64[1,6,1])",      \
            op "(u32[5,40], u32[5,1])", op "(i16[129], i16[])", NULL                           \
    }

#define OF_BITS(op, text, expression)                                                          \
    {                                                                                          \
        .name = #op, .summary = text, .inputs = binary_inputs, .support_level = 4,             \
        .gradient = host_flat_gradient, .samples = SAMPLES(#op), .pattern = OPTUNE_BROADCAST,  \
        .n_outputs = 1, .scalar = &(expression), .types = integer_types,                       \
        .flops = optune_pattern_flops, .reference = optune_pattern_reference                   \
    }

OPTUNE_OPS(bitwise) = {
    OF_BITS(bitwise_and, "the bits that both integers have", both),
    OF_BITS(bitwise_or, "the bits that either integer has", either),
    OF_BITS(bitwise_xor, "the bits that one integer has and the other has not", one_of),
    {0},
};
