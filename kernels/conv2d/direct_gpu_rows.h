/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of direct_gpu.h: a tile is AutoTVM's [blocks, virtual threads, threads, each]
 * of one axis. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_DIRECT_GPU_ROWS_H
#define OPTUNE_KERNELS_CONV2D_DIRECT_GPU_ROWS_H

#include "kernels/conv2d/conv2d.h"

/* More outputs of a thread are code that a compiler takes too long for. */
enum { DIRECT_MOST_OUTPUTS = 512 };

static inline int64_t direct_outputs(const int64_t *tile) /* of one thread along one axis */
{
    return tile[1] * tile[3];
}

static inline int64_t direct_block(const int64_t *tile)
{
    return tile[1] * tile[2] * tile[3];
}

/* How a body unrolls `steps` multiply-adds of a thread, by AutoTVM's two knobs. */
static inline int direct_unroll(const optune_config *config, int64_t steps)
{
    if (steps > optune_config_int(config, "auto_unroll_max_step"))
        return 1;
    return optune_config_int(config, "unroll_explicit") ? 2 : 0;
}

static inline void direct_define(optune_plan *plan, int m, const char *const name[3],
                                 const int64_t *tile)
{
    for (int i = 0; i < 3; i++)
        optune_plan_define(plan, m, name[i], tile[i + 1]);
}

#endif
