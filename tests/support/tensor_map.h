/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps that are right, for tests to change: input 0, 5 rows of 72 bfloat16. */
#ifndef OPTUNE_TESTS_TENSOR_MAP_H
#define OPTUNE_TESTS_TENSOR_MAP_H

#include "optune/define.h"

static inline optune_tensor_map tensor_map_sample(void)
{
    return (optune_tensor_map){.tensor = optune_input_arg(0),
                               .dtype = {OPTUNE_DTYPE_BFLOAT, 16, 1},
                               .rank = 2,
                               .swizzle = 128,
                               .dim = {72, 5},
                               .stride = {0, 144},
                               .box = {64, 256}};
}

/* And one of pixels: 3x3 windows over 4 images of 14 x 12 of 72 bfloat16, steps of 2 and 1,
 * padded by 1. */
static inline optune_tensor_map tensor_map_of_pixels(void)
{
    return (optune_tensor_map){.tensor = optune_input_arg(0),
                               .dtype = {OPTUNE_DTYPE_BFLOAT, 16, 1},
                               .rank = 4,
                               .swizzle = 128,
                               .dim = {72, 14, 12, 4},
                               .stride = {0, 144, 144 * 14, 144 * 14 * 12},
                               .box = {64},
                               .pixels = 128,
                               .low = {-1, -1},
                               .high = {-1, -1},
                               .step = {2, 1}};
}

#endif
