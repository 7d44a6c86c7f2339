/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_rows.cpu: any injective op, row by row along the output. Whole rows are copied by vectors;
 * what is strided or reversed is gathered by the compiler's code.
 */
#include <stdlib.h>

#include "kernels/move/piece_polys.h"

static bool applies(const optune_task *task, char *why)
{
    if (pattern_known(task->call, NULL))
        return moves_applies(task, why);
    if (!moves_most_apply(task, why))
        return false;
    piece_polys *polys = malloc(sizeof *polys);
    const bool fits = polys && piece_polys_of(task->call, POLYS_ROWS, polys);
    free(polys);
    return fits ||
           optune_refuse(why, "its pieces are no polynomials of the dims that are known at "
                              "run time");
}

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

/* Pieces as polynomials of S0 ..., which are arguments behind those of every move. */
static void define_polys(const optune_call *call, optune_plan *plan, int module,
                         const piece_polys *polys)
{
    char name[24], text[48];
    optune_plan_define(plan, module, "VARIES", 1);
    moves_define_element(plan, module, call, polys->n, polys->fill);
    for (int k = 0; k < polys->symbols.n; k++) {
        snprintf(name, sizeof name, "S%d", k);
        snprintf(text, sizeof text, "(*(const i64 *)arg[%d])", 1 + call->n_inputs + k);
        optune_plan_define_text(plan, module, name, text);
    }
    for (int i = 0; i < polys->n; i++) {
        snprintf(name, sizeof name, "PIECE%d", i);
        optune_plan_define_text(plan, module, name, polys->piece[i]);
    }
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_stage stage = moves_stage_of(module, call);
    if (pattern_known(call, NULL)) {
        const moves m = moves_of(call);
        moves_define(plan, module, call, &m);
    } else {
        piece_polys *polys = malloc(sizeof *polys);
        if (polys && piece_polys_of(call, POLYS_ROWS, polys)) {
            define_polys(call, plan, module, polys);
            for (int k = 0; k < polys->symbols.n; k++)
                stage.arg[stage.n_args++] =
                    optune_dim_arg(polys->symbols.at[k].input, polys->symbols.at[k].dim);
        }
        free(polys);
    }
    optune_plan_define(plan, module, "BLOCK",
                       optune_config_int(config, "vectors") * moves_lanes(task));
    optune_plan_define(plan, module, "STREAM",
                       strcmp(optune_config_word(config, "store"), "stream") == 0);
    optune_plan_define(plan, module, "AHEAD", optune_config_int(config, "prefetch"));
    optune_plan_define(plan, module, "TASK", optune_config_int(config, "task"));
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(move, rows) = {
    .name = "rows.cpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "copies rows along the output",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
