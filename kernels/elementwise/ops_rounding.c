/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole numbers near data. NaN and infinities stay.
 *
 *   floor   the largest that is not above
 *   ceil    the smallest that is not below
 *   round   the nearest, halves to the even one
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/host.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(down, 0, s_floor(x0));
OPTUNE_SCALAR(up, 0, -s_floor(-x0));
OPTUNE_SCALAR(nearest, 0, s_round(x0));

#define SAMPLES(op)                                                                            \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7])", op "(f32[3,5,17])", op "(f32[])", op "(f32[2,1037])", op "(f64[9,31])", \
            NULL                                                                               \
    }

#define ROUNDING(op, text, expression)                                                         \
    {                                                                                          \
        .name = #op, .summary = text, .inputs = unary_inputs, .support_level = 1,              \
        .gradient = host_flat_gradient, .samples = SAMPLES(#op), UNARY_FLOAT_OP(expression)    \
    }

OPTUNE_OPS(rounding) = {
    ROUNDING(floor, "rounds down to a whole number", down),
    ROUNDING(ceil, "rounds up to a whole number", up),
    ROUNDING(round, "rounds to the nearest whole number, halves to even", nearest),
    {0},
};
