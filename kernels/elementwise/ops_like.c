/* SPDX-License-Identifier: Apache-2.0 */
/* ones_like, zeros_like: 1 or 0 in the shape and dtype of data, whose values are not read. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/host.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(ones, 0, 1);
OPTUNE_SCALAR(zeros, 0, 0);

/* Only the output moves. */
static double bytes(const optune_call *call)
{
    return (double)optune_tensor_bytes(&call->output[0]);
}

#define SAMPLES(op)                                                                            \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7])", op "(f32[3,5,17])", op "(f32[])", op "(f32[2,1037])", op "(f64[9,31])", \
            op "(i32[3,70])", op "(i8[130])", NULL                                             \
    }

#define LIKE(what)                                                                             \
    {                                                                                          \
        .name = #what "_like", .summary = #what " of the shape and dtype of data",             \
        .inputs = unary_inputs, .support_level = 1, .gradient = host_flat_gradient,            \
        .samples = SAMPLES(#what "_like"), .bytes = bytes, OPTUNE_ELEMWISE_OP(what)            \
    }

OPTUNE_OPS(like) = {LIKE(ones), LIKE(zeros), {0}};
