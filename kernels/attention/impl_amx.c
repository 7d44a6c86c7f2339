/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_amx.x86: an online softmax between two products by the tiles of AMX, bfloat16. Queries
 * that share keys are rows of one matrix. Weights are rounded to bfloat16, as sums of products with
 * values have to be.
 */
#include "kernels/attention/attention.h"
#include "kernels/matmul/dot.h"

enum { TILE = 16, STEP = 32, STACK = 512 << 10 }; /* of a thread's tile */

static int64_t unit(int64_t tn)
{
    return host_max(TILE * tn, STEP);
}

static int64_t keys_bytes(const attention_shape *s, int64_t tn)
{
    return s->heads * host_ceil(s->skv, unit(tn)) * unit(tn) * host_ceil(s->d, STEP) * STEP * 2;
}

static int64_t values_bytes(const attention_shape *s, int64_t tn)
{
    return s->heads * host_ceil(s->skv, unit(tn)) * unit(tn) * host_ceil(s->dv, TILE * tn) *
           TILE * tn * 2;
}

static bool fits(const attention_shape *s, int64_t tm, int64_t tn, int64_t tk, char *why)
{
    const int64_t row = 2 * (s->d + STEP) + 6 * tk + 4 * (s->dv + 2 * TILE * tn);
    if (s->d > 1 << 16 || s->dv > 1 << 16 || TILE * tm * row > STACK)
        return optune_refuse(why, "a tile takes more than %d bytes", (int)STACK);
    return matmul_scratch_fits(keys_bytes(s, tn), why) &&
           matmul_scratch_fits(values_bytes(s, tn), why);
}

static bool applies(const optune_task *task, char *why)
{
    const optune_dtype dtype = task->call->input[ATTENTION_Q].type.dtype;
    attention_shape s;
    if (!attention_applies(task, &s, why))
        return false;
    if (dtype.bits != 16 || dot_tiles(task, dtype) != DOT_TILE_BF16)
        return optune_refuse(why, "needs bfloat16 and the tiles of AMX for it");
    return fits(&s, 1, 2, 64, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    dot_tile_knobs(space);
    optune_space_ints(space, "tile_k", 4, (const int64_t[]){64, 128, 256, 512});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const int64_t tn = optune_config_int(config, "tile_n");
    const int64_t tk = optune_config_int(config, "tile_k");
    if (tk > 64 && tk >= s.skv + unit(tn))
        return optune_refuse(why, "%ld keys at a time, there are fewer", (long)tk);
    return dot_tiles_fit(config, s.rows, host_max(s.skv, s.dv), why) &&
           fits(&s, optune_config_int(config, "tile_m"), tn, tk, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    dot_choose_tiles(space, config, s.rows, host_max(s.skv, s.dv));
    optune_config_choose_int(config, space, "tile_k",
                             s.skv <= 64    ? 64
                             : s.skv <= 128 ? 128
                                            : 256);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t tn = optune_config_int(config, "tile_n");
    attention_shape s;
    attention_shape_of(call, &s);
    const int m = optune_plan_module(plan);
    attention_define(plan, m, task, &s);
    /* What dot_define says beside attention_define. */
    optune_plan_define_text(plan, m, "OUT_T", "unsigned short");
    optune_plan_define(plan, m, "OUT_HALF", true);
    optune_plan_define(plan, m, "BRAIN", true);
    optune_plan_define(plan, m, "DOT", DOT_TILE_BF16);
    optune_plan_define(plan, m, "K", s.d);
    optune_plan_define(plan, m, "K_WORDS", dot_row_words(DOT_TILE_BF16, s.d));
    dot_define_tiles(plan, m, config);
    optune_plan_define(plan, m, "TK", optune_config_int(config, "tile_k"));
    const optune_arg keys =
        optune_scratch_arg(optune_plan_scratch(plan, "keys", keys_bytes(&s, tn), false));
    const optune_arg values =
        optune_scratch_arg(optune_plan_scratch(plan, "values", values_bytes(&s, tn), false));
    optune_plan_stage(plan,
                      &(optune_stage){.phase = OPTUNE_TIMED,
                                      .module = m,
                                      .function = "pack",
                                      .n_args = 4,
                                      .arg = {optune_input_arg(ATTENTION_K),
                                              optune_input_arg(ATTENTION_V), keys, values}});
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "attention",
        .n_args = 4,
        .arg = {optune_input_arg(ATTENTION_Q), keys, values, optune_output_arg(0)}};
    if (s.has_mask)
        stage.arg[stage.n_args++] = optune_input_arg(ATTENTION_MASK);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(attention, amx) = {
    .op = "attention",
    .name = "attention_amx.x86",
    .summary = "an online softmax between two products by the tiles of AMX",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
