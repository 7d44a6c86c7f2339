/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor map that is right, for tests to change: input 0, 5 rows of 72 bfloat16. */
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

#endif
