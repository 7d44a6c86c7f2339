/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_rows.cpu: any injective op, row by row along the output. Whole rows are copied by vectors;
 * what is strided or reversed is gathered by the compiler's code.
 */
#include "kernels/move/moves.h"

static void space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "vectors", 4, (const int64_t[]){0, 1, 4, 16});
    optune_space_words(space, "store", 2, (const char *const[]){"plain", "stream"});
    optune_space_ints(space, "prefetch", 4, (const int64_t[]){0, 512, 1024, 4096});
    moves_space_task(task, space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const moves m = moves_of(task->call);
    const int64_t size = pattern_bytes(task->call->output[0].dtype);
    const int64_t vectors = optune_config_int(config, "vectors");
    const int64_t bytes = vectors * moves_lanes(task) * size;
    const bool stream = strcmp(optune_config_word(config, "store"), "stream") == 0;
    if (vectors > 1 && bytes > moves_longest(task, &m))
        return optune_refuse(why, "%" PRId64 " bytes at a time are more than a row", bytes);
    if (vectors == 0 && (stream || optune_config_int(config, "prefetch")))
        return optune_refuse(why, "loops left to the compiler neither stream nor prefetch");
    if (stream && (bytes % 64 != 0 || moves_longest(task, &m) < 512))
        return optune_refuse(why, "rows or blocks are too short to stream");
    return true;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const moves m = moves_of(task->call);
    if (!moves_large(task) || moves_longest(task, &m) < 4096)
        return;
    optune_config_choose_int(config, space, "vectors", 4);
    if (4 * moves_lanes(task) * pattern_bytes(task->call->output[0].dtype) % 64 == 0)
        optune_config_choose_word(config, space, "store", "stream");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const moves m = moves_of(task->call);
    const int module = optune_plan_module(plan);
    moves_define(plan, module, task->call, &m);
    optune_plan_define(plan, module, "BLOCK",
                       optune_config_int(config, "vectors") * moves_lanes(task));
    optune_plan_define(plan, module, "STREAM",
                       strcmp(optune_config_word(config, "store"), "stream") == 0);
    optune_plan_define(plan, module, "AHEAD", optune_config_int(config, "prefetch"));
    optune_plan_define(plan, module, "TASK", optune_config_int(config, "task"));
    moves_stage(plan, module, task->call);
}

OPTUNE_IMPL(move, rows) = {
    .name = "rows.cpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "copies rows along the output",
    .applies = moves_applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
