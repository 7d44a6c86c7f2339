/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_tiled.gpu: transposing moves, where the input is contiguous along one loop and the output
 * along another. A block moves a square tile through shared memory, so that both are walked
 * along their rows. Pieces that do not transpose go by vectors.
 */
#include "kernels/move/moves_gpu.h"

OPTUNE_BODY("kernels/move/impl_grid.kernel.cu");

enum { LEAST = 8 }; /* a shorter loop leaves most of a tile empty */

static bool tiles_of(const optune_call *call, moves *m)
{
    bool any = false;
    *m = moves_of(call);
    for (int i = 0; i < m->n; i++)
        any = moves_tile(&m->piece[i], LEAST) || any;
    return any;
}

static bool applies(const optune_task *task, char *why)
{
    moves m;
    return moves_gpu_applies(task, why) &&
           (tiles_of(task->call, &m) || optune_refuse(why, "nothing is transposed"));
}

static moves_launch launch_of(const optune_task *task, const optune_config *config)
{
    return (moves_launch){.threads = optune_config_int(config, "threads"),
                          .vector = 16 / pattern_bytes(task->call->output[0].dtype),
                          .each = optune_config_int(config, "each"),
                          .tile = optune_config_int(config, "tile")};
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "tile", 3, (const int64_t[]){16, 32, 64});
    optune_space_ints(space, "each", 2, (const int64_t[]){1, 4});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    moves m;
    tiles_of(task->call, &m);
    const moves_launch by = launch_of(task, config);
    bool rows = false;
    for (int i = 0; i < m.n; i++)
        rows = rows || m.piece[i].mode != MOVES_TILES;
    if (by.each > 1 && !rows)
        return optune_refuse(why, "there are only tiles");
    if (by.threads > by.tile * by.tile)
        return optune_refuse(why, "%" PRId64 " threads for a tile of %" PRId64 " elements",
                             by.threads, by.tile * by.tile);
    return moves_gpu_fits(task, &m, &by, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    moves m;
    tiles_of(task->call, &m);
    const moves_launch by = launch_of(task, config);
    return moves_gpu_estimate(task, &m, &by);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    /* A row of the tile is a cache line of 128 bytes, where there is so much to turn over. */
    const int64_t line = 128 / pattern_bytes(task->call->output[0].dtype);
    int64_t tile = line < 32 ? 16 : line > 32 ? 64 : 32, shorter = 1;
    moves m;
    tiles_of(task->call, &m);
    for (int i = 0; i < m.n; i++)
        if (m.piece[i].mode == MOVES_TILES) {
            const pattern_loops *l = &m.piece[i].loops;
            shorter = host_max(shorter, host_min(l->extent[l->rank - 1], l->extent[l->rank - 2]));
        }
    while (tile > 16 && tile / 2 >= shorter)
        tile /= 2;
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    optune_config_choose_int(config, space, "tile", tile);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    moves m;
    tiles_of(task->call, &m);
    const moves_launch by = launch_of(task, config);
    moves_gpu_plan(task, plan, &m, &by);
}

OPTUNE_IMPL(move, tiled) = {
    .name = "tiled.gpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "transposes tiles in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
