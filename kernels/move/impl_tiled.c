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
    moves_of(call, m);
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
                          .tile = optune_config_int(config, "tile"),
                          .pack = optune_config_int(config, "pack")};
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "tile", 4, (const int64_t[]){16, 32, 64, 128});
    optune_space_ints(space, "pack", 3, (const int64_t[]){1, 2, 4});
    optune_space_ints(space, "each", 2, (const int64_t[]){1, 4});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    moves m;
    tiles_of(task->call, &m);
    const moves_launch by = launch_of(task, config);
    const int64_t bytes = pattern_bytes(task->call->output[0].dtype);
    bool rows = false;
    int64_t packed = 1, most = 0;
    for (int i = 0; i < m.n; i++)
        if (m.piece[i].mode == MOVES_TILES) {
            const moves_tile_size t = moves_tile_size_of(&m.piece[i], &by);
            packed = host_max(packed, t.pack);
            most = host_max(most, t.rows * t.cols / (t.pack * t.pack));
        } else {
            rows = true;
        }
    if (by.pack * bytes > 8)
        return optune_refuse(why, "at most 8 bytes are packed");
    if (by.pack > packed)
        return optune_refuse(why, "%" PRId64 " elements are packed, the pieces allow %" PRId64,
                             by.pack, packed);
    if (by.each > 1 && !rows)
        return optune_refuse(why, "there are only tiles");
    if (by.threads > 64 && by.threads > most)
        return optune_refuse(why, "%" PRId64 " threads for a tile of %" PRId64 " items",
                             by.threads, most);
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
    /* A row of the tile is a cache line of 128 bytes, of words of 4 where they can be packed. */
    const int64_t bytes = pattern_bytes(task->call->output[0].dtype);
    moves_launch by = {.tile = 128 / bytes, .pack = host_max(4 / bytes, 1)};
    int64_t pack = 1, items = 0;
    moves m;
    tiles_of(task->call, &m);
    for (int i = 0; i < m.n; i++)
        if (m.piece[i].mode == MOVES_TILES)
            pack = host_max(pack, moves_tile_size_of(&m.piece[i], &by).pack);
    by.pack = pack;
    by.tile = host_min(by.tile, pack * 64); /* with no words, more than a warp's are too many */
    for (int i = 0; i < m.n; i++)
        if (m.piece[i].mode == MOVES_TILES) {
            const moves_tile_size t = moves_tile_size_of(&m.piece[i], &by);
            items = host_max(items, t.rows * t.cols / (t.pack * t.pack));
        }
    int64_t threads = gpu_threads(task, 256);
    while (threads > 64 && threads > items)
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "pack", pack);
    optune_config_choose_int(config, space, "tile", by.tile);
    while (!valid(task, config, NULL) && by.tile > 16) { /* little shared memory */
        by.tile /= 2;
        optune_config_choose_int(config, space, "tile", by.tile);
    }
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
