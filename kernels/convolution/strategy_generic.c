/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d for a target that has no strategy of its own: the implementations that use nothing but
 * a C compiler's vectors.
 */
#include "kernels/convolution/strategy_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_direct.cpu"},
    {.impl = "conv2d_im2col.cpu", .plevel = 6},
    {0},
};

OPTUNE_STRATEGY(convolution,
                generic) = {.op = "conv2d", .key = "generic", .rows = rows, .dim = conv2d_dim};
