/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_1x1_amx.x86: 1x1 convolutions of 16-bit floats and 8-bit integers by the tiles of AMX as
 * what they are in NCHW, a product of the weight and each image as it lies. Output channels are
 * rows and pixels columns, so that neither the data nor the sums are turned over.
 */
#include "kernels/convolution/dots/dots.h"

OPTUNE_BODY("kernels/matmul/impl_batch_amx.kernel.c");

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4 };

static int64_t steps(const optune_task *task, const conv2d_shape *s)
{
    return host_ceil(dot_row_words(dot_tiles(task, dots_in(task)), s->ci), TILE);
}

static int64_t weight_bytes(const optune_task *task, const conv2d_shape *s)
{
    return host_ceil(s->co, TILE) * steps(task, s) * TILE_BYTES *
           dot_row_copies(dot_tiles(task, dots_in(task)));
}

static int64_t data_bytes(const optune_task *task, const conv2d_shape *s, int64_t tn)
{
    return s->n * host_ceil(s->h * s->w, TILE * tn) * tn * steps(task, s) * TILE_BYTES;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!dots_applies(task, &s, why))
        return false;
    if (s.kh != 1 || s.kw != 1 || s.sh != 1 || s.sw != 1 || s.oh != s.h || s.ow != s.w ||
        s.groups != 1)
        return optune_refuse(why, "needs a 1x1 kernel, strides of 1, no padding and one group");
    if (dot_tiles(task, dots_in(task)) == DOT_NONE)
        return optune_refuse(why, "needs 16-bit floats or int8 and the tiles of AMX for it");
    return matmul_scratch_fits(weight_bytes(task, &s), why) &&
           matmul_scratch_fits(data_bytes(task, &s, 4), why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    dot_tile_knobs(space);
    optune_space_words(space, "outer", 2, (const char *const[]){"pixels", "channels"});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    return dot_tiles_fit(config, s.co, s.h * s.w, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    dot_choose_tiles(space, config, s.co, s.h * s.w);
    /* The larger of both is read once. */
    optune_config_choose_word(
        config, space, "outer",
        weight_bytes(task, &s) > data_bytes(task, &s, 1) / s.n ? "channels" : "pixels");
    optune_config_nearest(config, space);
}

static void define(const optune_task *task, const optune_config *config, const conv2d_shape *s,
                   optune_plan *plan, int module)
{
    const int64_t blocks = host_ceil(s->co, TILE * optune_config_int(config, "tile_m"));
    const int64_t threads = matmul_threads(task);
    int64_t parts = 1;
    while (s->n * parts % threads != 0 && s->n * parts < 8 * threads && parts < blocks)
        parts++;
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"B", s->n},
        {"M", s->co},
        {"N", s->h * s->w},
        {"BIAS", 0},
        {"X_BATCH", 0},
        {"Y_BATCH", s->ci * s->h * s->w},
        {"X_TURNED", 0},
        {"Y_PLAIN", 1},
        {"PACK_DATA", 1},
        {"ROWS_FIRST", strcmp(optune_config_word(config, "outer"), "channels") == 0},
        {"ROW_TASKS", parts},
    };
    dot_define(plan, module, dot_tiles(task, dots_in(task)), dots_in(task),
               task->call->output[0].dtype, s->ci);
    dot_define_tiles(plan, module, config);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, module, number[i].name, number[i].value);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int module = optune_plan_module(plan);
    define(task, config, &s, plan, module);
    const optune_arg weight = optune_scratch_arg(optune_plan_scratch(
        plan, "weights", weight_bytes(task, &s), task->call->input[CONV2D_WEIGHT].is_const));
    const optune_arg data = optune_scratch_arg(optune_plan_scratch(
        plan, "words", data_bytes(task, &s, optune_config_int(config, "tile_n")), false));
    optune_plan_stage(plan, &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                            .module = module,
                                            .function = "pack_x",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_WEIGHT), weight}});
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "pack_y",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_DATA), data}});
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "amx",
                          .n_args = 3,
                          .arg = {weight, data, optune_output_arg(0)}};
    conv2d_fuse(task, plan, &stage);
    optune_plan_in_place(plan);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(convolution_dots, 1x1_amx) = {
    .op = "conv2d",
    .name = "conv2d_1x1_amx.x86",
    .summary = "1x1 kernels: a product of the weight and each image as it lies, by tiles",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
