/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_amx.x86: products of 16-bit floats and of 8-bit integers by the tiles of AMX, 16
 * rows by 16 columns of sums each, a step of 64 bytes of depth. Either operand in either order.
 */
#include "kernels/matmul/batch_matmul.h"
#include "kernels/matmul/dot.h"

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4 };

static optune_dtype in_of(const optune_task *task)
{
    return task->call->input[BATCH_MATMUL_X].type.dtype;
}

static int64_t steps(dot_step step, int64_t k)
{
    return host_ceil(dot_row_words(step, k), TILE);
}

static int64_t y_bytes(const batch_matmul_shape *s, dot_step step, int64_t tile_n)
{
    return (s->y_shared ? 1 : s->b) * host_ceil(s->n, TILE * tile_n) * tile_n *
           steps(step, s->k) * TILE_BYTES;
}

static int64_t x_bytes(const batch_matmul_shape *s, dot_step step)
{
    return (s->x_shared ? 1 : s->b) * host_ceil(s->m, TILE) * steps(step, s->k) * TILE_BYTES *
           dot_row_copies(step);
}

/* A tile reads rows of whole steps. */
static bool must_pack(const batch_matmul_shape *s, dot_step step)
{
    return s->transpose_a || dot_row_copies(step) > 1 || s->k % (dot_word(step) * TILE) != 0;
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (!batch_matmul_known(call))
        return optune_refuse(why, "needs constant shapes");
    const batch_matmul_shape s = batch_matmul_shape_of(call);
    if (s.b < 1 || s.m < 1 || s.n < 1 || s.k < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    if (!optune_dtype_equal(in_of(task), call->input[BATCH_MATMUL_Y].type.dtype) ||
        !dot_types(in_of(task), call->output[0].dtype, why))
        return optune_refuse(why, "needs 16-bit floats or 8-bit integers, both of one type");
    const dot_step step = dot_tiles(task, in_of(task));
    if (step == DOT_NONE)
        return optune_refuse(why, "needs 16-bit floats or int8 and the tiles of AMX for it");
    return matmul_scratch_fits(y_bytes(&s, step, 4), why) &&
           matmul_scratch_fits(x_bytes(&s, step), why);
}

static void space(const optune_task *task, optune_space *space)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const bool must = must_pack(&s, dot_tiles(task, in_of(task)));
    dot_tile_knobs(space);
    optune_space_bools(space, "pack_x", must ? 1 : 2, (bool[]){must, true});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    return dot_tiles_fit(config, s.m, s.n, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    dot_choose_tiles(space, config, s.m, s.n);
    optune_config_nearest(config, space);
}

/* Parts of a batch's rows, so that threads share all of them evenly, or nearly. */
static int64_t row_tasks(const optune_task *task, const optune_config *config,
                         const batch_matmul_shape *s)
{
    const int64_t blocks = host_ceil(s->m, TILE * optune_config_int(config, "tile_m"));
    const int64_t threads = matmul_threads(task);
    int64_t parts = 1;
    while (s->b * parts % threads != 0 && s->b * parts < 8 * threads && parts < blocks)
        parts++;
    return parts;
}

static void define(const optune_task *task, const optune_config *config,
                   const batch_matmul_shape *s, optune_plan *plan, int module)
{
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"B", s->b},
        {"M", s->m},
        {"N", s->n},
        {"BIAS", 0},
        {"X_BATCH", s->x_shared ? 0 : s->m * s->k},
        {"Y_BATCH", s->y_shared ? 0 : s->n * s->k},
        {"X_TURNED", s->transpose_a},
        {"Y_PLAIN", !s->transpose_b},
        {"PACK_DATA", optune_config_bool(config, "pack_x")},
        {"ROW_TASKS", row_tasks(task, config, s)},
    };
    dot_define(plan, module, dot_tiles(task, in_of(task)), in_of(task),
               task->call->output[0].dtype, s->k);
    dot_define_tiles(plan, module, config);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, module, number[i].name, number[i].value);
}

/* The stage that packs an operand; returns what it fills. */
static optune_arg pack(const optune_task *task, optune_plan *plan, int module, int input,
                       int64_t bytes)
{
    const bool once = task->call->input[input].is_const;
    const optune_arg packed = optune_scratch_arg(
        optune_plan_scratch(plan, input == BATCH_MATMUL_X ? "x" : "y", bytes, once));
    optune_plan_stage(plan,
                      &(optune_stage){.phase = once ? OPTUNE_PREPACK : OPTUNE_TIMED,
                                      .module = module,
                                      .function = input == BATCH_MATMUL_X ? "pack_x" : "pack_y",
                                      .n_args = 2,
                                      .arg = {optune_input_arg(input), packed}});
    return packed;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const dot_step step = dot_tiles(task, in_of(task));
    const int module = optune_plan_module(plan);
    define(task, config, &s, plan, module);
    optune_stage stage = batch_matmul_stage(module);
    stage.function = "amx";
    stage.arg[1] = pack(task, plan, module, BATCH_MATMUL_Y,
                        y_bytes(&s, step, optune_config_int(config, "tile_n")));
    if (optune_config_bool(config, "pack_x"))
        stage.arg[0] = pack(task, plan, module, BATCH_MATMUL_X, x_bytes(&s, step));
    optune_plan_fuse(task, plan, &stage, 2);
    optune_plan_in_place(plan);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(matmul, batch_amx) = {
    .op = "batch_matmul",
    .name = "batch_matmul_amx.x86",
    .summary = "16-bit floats and 8-bit integers by the tiles of AMX",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
