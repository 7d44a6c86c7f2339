/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits on GPUs, CUDA's and OpenCL's: nothing is staged for a few rows. */
#include "kernels/nbits/nbits.h"

static const optune_strategy_row rows[] = {
    {.impl = "dense_nbits_tile.gpu", .plevel = 10},
    {.impl = "dense_nbits_gemv.gpu", .plevel = 12, .when = "m <= 16"},
    {0},
};

OPTUNE_STRATEGY(nbits,
                gpu) = {.op = "dense_nbits", .key = "gpu", .rows = rows, .dim = nbits_dim};
