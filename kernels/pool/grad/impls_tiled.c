/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_tiled.gpu: what windows give is found once for a tile, and kept in shared memory. */
#include "kernels/pool/pool_gpu.h"

enum { TILED_UNROLLED = 64, TILED_STRIDE = 16, TILED_REGISTERS = 65536 /* of a core */ };

typedef struct tiled {
    pool_shape s;
    int64_t threads, tile_y, tile_x; /* rows of windows, columns of elements */
    int64_t cells;                   /* such rows of a thread */
    int64_t hold_y, hold_x;          /* windows that may hold an element */
    int64_t tiles, windows;          /* of all planes; of a tile */
    int64_t given;                   /* bytes of a window in shared memory */
} tiled;

static int64_t held(const pool_axis *a)
{
    return (a->kernel - 1) * a->dilation / a->stride + 1;
}

static tiled tiled_of(const optune_task *task, const optune_config *config)
{
    tiled t = {.s = pool_gpu_shape(task->call)};
    const pool_axis *const y = &t.s.y, *const x = &t.s.x;
    t.threads = optune_config_int(config, "threads");
    t.tile_y = optune_config_int(config, "rows");
    t.cells = optune_config_int(config, "cells");
    t.tile_x = host_min(optune_config_int(config, "columns"), x->in);
    t.hold_y = held(y);
    t.hold_x = held(x);
    t.tiles = t.s.planes * host_ceil(y->in + y->before, t.tile_y * y->stride) *
              host_ceil(x->in, t.tile_x);
    t.windows = (t.tile_y + t.hold_y - 1) *
                ((t.tile_x + x->stride - 2) / x->stride + t.hold_x) * t.s.block;
    /* A maximum's window names the element that takes it, too. */
    t.given = (pool_is_mean(task->call) ? 1 : 2) * pool_elem(&t.s);
    return t;
}

static int64_t shared_of(const tiled *t)
{
    return t->windows * t->given;
}

static bool applies(const optune_task *task, char *why)
{
    if (!pool_window_applies(task, why))
        return false;
    const pool_shape s = pool_gpu_shape(task->call);
    if (s.y.stride > TILED_STRIDE)
        return optune_refuse(why, "steps of %" PRId64 " are too many to unroll", s.y.stride);
    if (s.y.in * s.x.in * s.block > INT32_MAX / 2 ||
        s.y.out * s.x.out * s.block > INT32_MAX / 2 || s.y.before > INT32_MAX / 4 ||
        s.x.before > INT32_MAX / 4)
        return optune_refuse(why, "one plane is too large for 32-bit offsets");
    /* Of the least tile, or of four elements. */
    const int64_t across = host_max(
        4 * held(&s.x), (host_min(8, s.x.in) + s.x.stride - 2) / s.x.stride + held(&s.x));
    return held(&s.y) * across * s.block * 2 * pool_elem(&s) <= gpu_max_shared(task) ||
           optune_refuse(why, "windows that hold an element are too many for shared memory");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "rows", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "columns", 5, (const int64_t[]){8, 16, 32, 64, 128});
    optune_space_ints(space, "cells", 4, (const int64_t[]){1, 2, 4, 8});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const tiled t = tiled_of(task, config);
    const int64_t columns = optune_config_int(config, "columns");
    const int64_t items = t.tile_y / t.cells * t.tile_x * t.s.block;
    if (t.cells > t.tile_y)
        return optune_refuse(why, "%" PRId64 " rows of %" PRId64, t.cells, t.tile_y);
    if (t.cells * t.s.y.stride > TILED_UNROLLED)
        return optune_refuse(why, "%" PRId64 " rows are too many to unroll", t.cells);
    if (columns > 8 && columns >= 2 * t.s.x.in)
        return optune_refuse(why, "half of the columns are none");
    if (t.tile_y > 1 && t.tile_y * t.s.y.stride >= 2 * (t.s.y.in + t.s.y.before))
        return optune_refuse(why, "half of the rows are none");
    if (t.threads > 64 && t.threads >= 2 * items)
        return optune_refuse(why, "half of the threads have no element");
    if (items > 64 * t.threads)
        return optune_refuse(why, "%" PRId64 " elements for %" PRId64 " threads", items,
                             t.threads);
    return gpu_grid_fits(t.tiles, why) &&
           gpu_fits(task, (const int64_t[]){t.threads, 1, 1}, shared_of(&t),
                    32 + t.cells * t.s.y.stride, why);
}

/* Some two items a thread, and rows as long as they are. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const pool_shape s = pool_gpu_shape(task->call);
    int64_t columns = 128, rows = 16, threads = gpu_threads(task, 256), cells = 4;
    while (columns > 8 && (columns >= 2 * s.x.in || columns * s.block > 256))
        columns /= 2;
    for (;;) {
        optune_config_choose_int(config, space, "threads", threads);
        optune_config_choose_int(config, space, "rows", rows);
        optune_config_choose_int(config, space, "columns", columns);
        optune_config_choose_int(config, space, "cells", cells);
        const tiled t = tiled_of(task, config);
        const int64_t items = rows * t.tile_x * s.block / cells;
        if (cells > 1 && (cells > rows || cells * s.y.stride > 16))
            cells /= 2;
        else if (rows > 1 && (items > 4 * threads || shared_of(&t) > 16 << 10 ||
                              rows * s.y.stride >= 2 * (s.y.in + s.y.before)))
            rows /= 2;
        else if (columns > 8 && shared_of(&t) > gpu_max_shared(task) / 2)
            columns /= 2;
        else if (threads > 64 && threads >= 2 * items)
            threads /= 2;
        else
            break;
    }
    optune_config_nearest(config, space);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const tiled t = tiled_of(task, config);
    const optune_call *call = task->call;
    const bool mean = pool_is_mean(call);
    const double elem = (double)pattern_bytes(call->output[0].dtype);
    const double bytes =
        elem * ((double)optune_tensor_elements(&call->output[0]) * (mean ? 1 : 2) +
                (double)optune_tensor_elements(&call->input[POOL_GRAD].type));
    const double items =
        (double)(t.tile_y / t.cells * t.tile_x * t.s.block) / (double)t.threads;
    const double windows = (double)t.windows / (double)t.threads;
    const double taps = (double)(t.s.y.kernel * t.s.x.kernel);
    const double rows = (double)(t.s.y.stride * t.cells);
    const double asked = (double)((t.hold_y + t.cells - 1) * t.hold_x);
    const double holds = (double)(t.hold_y * t.hold_x);
    const gpu_work w = {
        .blocks = host_max(t.tiles, 1),
        .threads = t.threads,
        .registers = 32 + t.cells * t.s.y.stride,
        .shared = shared_of(&t),
        .instructions = ceil(windows) * (40 + (mean ? 10 : 6 * taps)) +
                        ceil(items) * (25 + 2 * asked + rows * (2 * holds + 4)) + 30,
        .bytes = bytes / (double)host_max(t.tiles, 1),
        .waits = 1 + ceil(windows),
        .barriers = 1,
    };
    return gpu_cost(task, &w);
}

/* Whether a window's taps are read at once: neighbours, which a thread's registers hold with their
 * places. */
static bool reads_at_once(const tiled *t)
{
    const int64_t taps = t->s.y.kernel * t->s.x.kernel;
    return taps <= TILED_UNROLLED && 2 * taps + 32 <= TILED_REGISTERS / t->threads &&
           t->s.y.dilation == 1 && t->s.x.dilation == 1;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const tiled t = tiled_of(task, config);
    const bool mean = pool_is_mean(call);
    const int m = pool_module(plan, &t.s, 1);
    gpu_define_index(plan, m, call);
    gpu_define_stored(plan, m, call);
    optune_plan_define_text(plan, m, "IN_T", gpu_stored_type(call->input[0].type.dtype));
    optune_plan_define(plan, m, "POOL_MEAN", mean);
    optune_plan_define(plan, m, "THREADS", t.threads);
    optune_plan_define(plan, m, "TILE_Y", t.tile_y);
    optune_plan_define(plan, m, "TILE_X", t.tile_x);
    optune_plan_define(plan, m, "HOLD_Y", t.hold_y);
    optune_plan_define(plan, m, "HOLD_X", t.hold_x);
    optune_plan_define(plan, m, "CELLS", t.cells);
    optune_plan_define(plan, m, "NEAR", reads_at_once(&t));
    optune_plan_define(plan, m, "UNROLL_HOLDS",
                       (t.hold_y + t.cells - 1) * t.hold_x * t.s.y.stride * t.cells <=
                               4 * TILED_UNROLLED
                           ? host_max(t.hold_y + t.cells, t.hold_x)
                           : 1);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "gather",
                          .n_args = 1,
                          .arg = {optune_input_arg(POOL_GRAD)},
                          .grid = {t.tiles},
                          .block = {t.threads},
                          .shared = shared_of(&t)};
    if (!mean)
        stage.arg[stage.n_args++] = optune_input_arg(POOL_DATA);
    stage.arg[stage.n_args++] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_tiled.gpu",                                                   \
        .summary = "what windows give is found once for a tile", .applies = applies,           \
        .space = space, .fallback = fallback, .valid = valid, .plan = plan,                    \
        .estimate = estimate                                                                   \
    }

OPTUNE_IMPLS(pool_grad, tiled) = {ROW("max_pool2d_grad"), ROW("avg_pool2d_grad"), {0}};
