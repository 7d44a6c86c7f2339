/* SPDX-License-Identifier: Apache-2.0 */
/* equal, less, greater: of two operands, broadcast, as bool. Of NaN: false. */
#include "kernels/elementwise/compare.h"
#include "kernels/host/host.h"

OPTUNE_SCALAR(equal, 0, x0 == x1);
OPTUNE_SCALAR(less, 0, x0 < x1);
OPTUNE_SCALAR(greater, 0, x0 > x1);

#define SAMPLES(op)                                                                            \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7], f32[7])", op "(f32[3,5,17], f32[17])", op "(f64[5,40], f64[5,1])",        \
            op "(i32[2,3,90], i32[3,1])", op "(bool[130], bool[130])", NULL                    \
    }

#define COMPARISON(op, text)                                                                   \
    {                                                                                          \
        .name = #op, .summary = text, .inputs = binary_inputs, .support_level = 4,             \
        .gradient = host_flat_gradient, .samples = SAMPLES(#op), .pattern = OPTUNE_BROADCAST,  \
        .n_outputs = 1, .scalar = &(op), .types = compare_types,                               \
        .flops = optune_pattern_flops, .reference = optune_pattern_reference                   \
    }

OPTUNE_OPS(compare) = {
    COMPARISON(equal, "whether both values are equal"),
    COMPARISON(less, "whether the left value is smaller"),
    COMPARISON(greater, "whether the left value is larger"),
    {0},
};
