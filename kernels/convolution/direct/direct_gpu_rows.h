/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of direct_gpu.kernel.h: a tile is AutoTVM's [blocks, virtual threads, threads,
 * each] of one axis. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_DIRECT_GPU_ROWS_H
#define OPTUNE_KERNELS_CONV2D_DIRECT_GPU_ROWS_H

#include "kernels/convolution/conv2d.h"
#include "kernels/host/gpu_limits.h"

/* More outputs of a thread are code that a compiler takes too long for. */
enum { DIRECT_MOST_OUTPUTS = 512 };

/* Of the output's channels, rows and columns. */
typedef struct direct_tiles {
    const int64_t *f, *y, *x;
} direct_tiles;

static inline direct_tiles direct_tiles_of(const optune_config *config)
{
    return (direct_tiles){
        .f = optune_config_split(config, "tile_f"),
        .y = optune_config_split(config, "tile_y"),
        .x = optune_config_split(config, "tile_x"),
    };
}

enum { DIRECT_MOST_BLOCKS = 65535 }; /* of a grid's height and depth */

/* The least block, of at most 64, that makes `n` times the extent short enough; 0: a long prime
 * has none. */
static inline int64_t direct_least_block(int64_t extent, int64_t n)
{
    for (int64_t block = 1; block <= 64; block++)
        if (extent % block == 0 && extent / block * n <= DIRECT_MOST_BLOCKS)
            return block;
    return 0;
}

/* What these bodies ask of a call beside its groups. */
static inline bool direct_applies(const conv2d_shape *s, char *why)
{
    if (s->data_block || s->out_block)
        return optune_refuse(why, "needs NCHW");
    if (s->ci * s->h * s->w > INT32_MAX || s->co * s->ci_g * s->kh * s->kw > INT32_MAX ||
        s->co * s->oh * s->ow > INT32_MAX)
        return optune_refuse(why, "one image is too large for 32-bit offsets");
    if (!direct_least_block(s->oh, 1) || !direct_least_block(s->co, s->n))
        return optune_refuse(why, "no tiles of rows and channels make a grid small enough");
    return (s->oh > 0 && s->ow > 0 && s->n > 0 && s->ci > 0 && s->co > 0) ||
           optune_refuse(why, "nothing to compute");
}

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
static inline bool direct_fits(const optune_task *task, const conv2d_shape *s,
                               const direct_tiles *t, int64_t shared, int64_t words, char *why)
{
    const int64_t block[3] = {t->x[2], t->y[2], t->f[2]}, outputs = direct_outputs(t);
    if (outputs > DIRECT_MOST_OUTPUTS)
        return optune_refuse(why, "a thread computes %" PRId64 " outputs, at most %d", outputs,
                             (int)DIRECT_MOST_OUTPUTS);
    return direct_grid_fits(s, t, why) &&
           gpu_fits(task, block, shared, conv2d_elem(s) / 4 * (outputs + words) + 12, why);
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

/* A module with the call and its tiles as macros. */
static inline int direct_module(optune_plan *plan, const conv2d_shape *s, const direct_tiles *t)
{
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, s);
    direct_define(plan, m, (const char *const[]){"VF", "TF", "FI"}, t->f);
    direct_define(plan, m, (const char *const[]){"VY", "TY", "YI"}, t->y);
    direct_define(plan, m, (const char *const[]){"VX", "TX", "XI"}, t->x);
    return m;
}

static inline void direct_stage(optune_plan *plan, int m, const conv2d_shape *s,
                                const direct_tiles *t, int64_t shared)
{
    optune_plan_stage(plan, &(optune_stage){
                                .phase = OPTUNE_TIMED,
                                .module = m,
                                .function = "conv2d",
                                .n_args = 3,
                                .arg = {optune_input_arg(CONV2D_DATA),
                                        optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0)},
                                .grid = {t->x[0], t->y[0], s->n * t->f[0]},
                                .block = {t->x[2], t->y[2], t->f[2]},
                                .shared = shared,
                            });
}

#endif
