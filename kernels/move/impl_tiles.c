/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_tiles.cpu: transposing moves, where the input is contiguous along one loop and the output
 * along another. Square tiles are transposed in registers; the last one of a loop overlaps the
 * one before it, so that there are no tails. Pieces that do not transpose go row by row.
 */
#include "kernels/move/moves.h"

enum { LEAST = 4 }; /* a tile's side */

/* The pieces, with those that transpose made pieces of tiles; returns the shortest side. */
static int64_t tiles_of(const optune_call *call, int64_t side, moves *m)
{
    int64_t shortest = INT64_MAX;
    moves_of(call, m);
    for (int i = 0; i < m->n; i++)
        if (moves_tile(&m->piece[i], side)) {
            const pattern_loops *l = &m->piece[i].loops;
            for (int d = l->rank - 2; d < l->rank; d++)
                shortest = l->extent[d] < shortest ? l->extent[d] : shortest;
        }
    return shortest == INT64_MAX ? 0 : shortest;
}

static int64_t size_of(const optune_task *task)
{
    return pattern_bytes(task->call->output[0].dtype);
}

static bool applies(const optune_task *task, char *why)
{
    if (!moves_applies(task, why))
        return false;
    moves m;
    if (size_of(task) < 4)
        return optune_refuse(why, "is for elements of 4 or 8 bytes");
    return tiles_of(task->call, LEAST, &m) > 0 || optune_refuse(why, "nothing is transposed");
}

static void space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "side", 3, (const int64_t[]){4, 8, 16});
    optune_space_words(space, "walk", 2, (const char *const[]){"out", "in"});
    optune_space_ints(space, "span", 4, (const int64_t[]){64, 16, 256, 1024});
    optune_space_words(space, "store", 2, (const char *const[]){"plain", "stream"});
    moves_space_task(task, space);
}

/* Every row of every tile starts at a cache line and is whole lines long. */
static bool aligned(const optune_task *task, const moves *m, int64_t side)
{
    const int64_t line = 64 / size_of(task);
    bool all = side % line == 0;
    for (int i = 0; i < m->n && all; i++) {
        const pattern_loops *l = &m->piece[i].loops;
        if (m->piece[i].mode != MOVES_TILES)
            continue;
        all = m->piece[i].out_offset % line == 0 && l->extent[l->rank - 1] % side == 0;
        for (int d = 0; d < l->rank - 1; d++)
            all = all && l->stride[MOVES_OUT][d] % line == 0;
    }
    return all;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    moves m;
    const int64_t side = optune_config_int(config, "side");
    const int64_t span = optune_config_int(config, "span");
    const int64_t vector = task->device->vector_bytes > 16 ? task->device->vector_bytes : 16;
    if (tiles_of(task->call, LEAST, &m) < side)
        return optune_refuse(why, "a tile of %" PRId64 " is longer than a loop", side);
    if (side > LEAST && side * size_of(task) > vector)
        return optune_refuse(why, "%" PRId64 " elements do not fit a vector", side);
    if (span < side)
        return optune_refuse(why, "a span of %" PRId64 " holds no tile", span);
    return strcmp(optune_config_word(config, "store"), "stream") != 0 ||
           aligned(task, &m, side) ||
           optune_refuse(why, "rows of tiles are no whole cache lines");
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    moves m;
    const int64_t shortest = tiles_of(task->call, LEAST, &m), lanes = moves_lanes(task);
    const int64_t most = shortest < lanes ? shortest : lanes;
    const int64_t side = most >= 16 ? 16 : most >= 8 ? 8 : 4;
    optune_config_choose_int(config, space, "side", side);
    if (moves_large(task) && aligned(task, &m, side))
        optune_config_choose_word(config, space, "store", "stream");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    moves m;
    tiles_of(task->call, LEAST, &m);
    const int module = optune_plan_module(plan);
    moves_define(plan, module, task->call, &m);
    optune_plan_define(plan, module, "SIDE", optune_config_int(config, "side"));
    optune_plan_define(plan, module, "SPAN", optune_config_int(config, "span"));
    optune_plan_define(plan, module, "WALK_OUT",
                       strcmp(optune_config_word(config, "walk"), "out") == 0);
    optune_plan_define(plan, module, "STREAM",
                       strcmp(optune_config_word(config, "store"), "stream") == 0);
    optune_plan_define(plan, module, "BLOCK", 0);
    optune_plan_define(plan, module, "AHEAD", 0);
    optune_plan_define(plan, module, "TASK", optune_config_int(config, "task"));
    moves_stage(plan, module, task->call);
}

OPTUNE_IMPL(move, tiles) = {
    .name = "tiles.cpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "transposes tiles in registers",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
