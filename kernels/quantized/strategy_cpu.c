/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d on CPUs: vectors of channels where each has a filter, else products, by tiles
 * where there are.
 */
#include "kernels/quantized/conv.h"

static bool untiled(const optune_task *task, char *why)
{
    return !(task->device->dots & OPTUNE_DOT_TILE_I8) ||
           optune_refuse(why, "the device has tiles");
}

/* There it must win by measurement. */
static bool tiled(const optune_task *task, char *why)
{
    return task->device->dots & OPTUNE_DOT_TILE_I8 ||
           optune_refuse(why, "the device has no tiles");
}

static const optune_strategy_row rows[] = {
    {.impl = "quantized_depthwise_conv2d.cpu", .plevel = 12},
    {.impl = "quantized_conv2d_direct.cpu", .plevel = 11, .condition = untiled},
    {.impl = "quantized_conv2d_gemm.cpu", .plevel = 10},
    {.impl = "quantized_conv2d_direct.cpu", .plevel = 9, .condition = tiled},
    {0},
};

OPTUNE_STRATEGY(quantized, cpu) = {.op = "quantized_conv2d", .key = "cpu", .rows = rows};
