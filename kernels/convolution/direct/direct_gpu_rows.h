/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of direct_gpu.kernel.h: a tile is AutoTVM's [blocks, virtual threads, threads,
 * each] of one axis. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_DIRECT_GPU_ROWS_H
#define OPTUNE_KERNELS_CONV2D_DIRECT_GPU_ROWS_H

#include "kernels/convolution/conv2d.h"
#include "kernels/host/gpu_cost.h"

/* Of the output's channels, rows and columns. */
typedef struct direct_tiles {
    const int64_t *f, *y, *x;
} direct_tiles;

direct_tiles direct_tiles_of(const optune_config *config);

enum { DIRECT_MOST_BLOCKS = 65535 }; /* of a grid's height and depth */

/* The least block, of at most 64, that makes `n` times the extent short enough; 0: a long prime
 * has none. */
int64_t direct_least_block(int64_t extent, int64_t n);

/* What these bodies ask of a call beside its groups. */
bool direct_applies(const conv2d_shape *s, char *why);

/* The knobs of both, in AutoTVM's order: before those of the reduction, if any, and behind. */
static inline void direct_output_knobs(optune_space *space, const conv2d_shape *s)
{
    optune_space_split(space, "tile_f", s->co, 4, NULL);
    optune_space_split(space, "tile_y", s->oh, 4, NULL);
    optune_space_split(space, "tile_x", s->ow, 4, NULL);
}

static inline void direct_unroll_knobs(optune_space *space, int64_t step)
{
    optune_space_ints(space, "auto_unroll_max_step", 3, (const int64_t[]){0, step, 1500});
    optune_space_ints(space, "unroll_explicit", 2, (const int64_t[]){0, 1});
}

static inline int64_t direct_block(const int64_t *tile)
{
    return tile[1] * tile[2] * tile[3];
}

static inline int64_t direct_each(const int64_t *tile) /* outputs of a thread along one axis */
{
    return tile[1] * tile[3];
}

static inline int64_t direct_outputs(const direct_tiles *t) /* of a thread */
{
    return direct_each(t->f) * direct_each(t->y) * direct_each(t->x);
}

/* Blocks lie along x, along y, and along the channels of all images: the last two are short. */
static inline bool direct_grid_fits(const conv2d_shape *s, const direct_tiles *t, char *why)
{
    return (t->y[0] <= DIRECT_MOST_BLOCKS && s->n * t->f[0] <= DIRECT_MOST_BLOCKS) ||
           optune_refuse(why, "more blocks than a grid's height or depth");
}

/* Whether blocks can be launched whose threads hold `words` values beside their outputs. */
bool direct_fits(const optune_task *task, const conv2d_shape *s, const direct_tiles *t,
                 int64_t shared, int64_t words, char *why);

/* How a body unrolls `steps` multiply-adds of a thread, by AutoTVM's two knobs. */
static inline int direct_unroll(const optune_config *config, int64_t steps)
{
    if (steps > optune_config_int(config, "auto_unroll_max_step"))
        return 1;
    return optune_config_int(config, "unroll_explicit") ? 2 : 0;
}

/* What a block does between two barriers: `steps` times it takes `planes` of the input, of those
 * rows and columns, and `taps` weights of each of its channels, of which a thread multiplies. */
typedef struct direct_step {
    int64_t steps, planes, rows, cols, taps;
} direct_step;

/* As gpu_cost counts; `unroll` is direct_unroll's, `words` as for direct_fits. */
double direct_cost(const optune_task *task, const conv2d_shape *s, const direct_tiles *t,
                   const direct_step *d, int64_t shared, int64_t words, int unroll);

/* A module with the call and its tiles as macros. */
int direct_module(optune_plan *plan, const conv2d_shape *s, const direct_tiles *t);

void direct_stage(optune_plan *plan, int m, const conv2d_shape *s, const direct_tiles *t,
                  int64_t shared);

#endif
