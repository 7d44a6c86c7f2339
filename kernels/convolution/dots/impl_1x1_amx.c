/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_1x1_amx.x86: 1x1 convolutions of 16-bit floats and 8-bit integers by the tiles of AMX as
 * what they are in NCHW, a product of the weight and each image as it lies. Output channels are
 * rows and pixels columns, so that neither the data nor the sums are turned over. The data become
 * words as a whole in front of the product, or piece by piece between its parts (`inside`).
 */
#include "kernels/convolution/dots/dots.h"

OPTUNE_BODY("kernels/matmul/impl_batch_amx.kernel.c");

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4, MOST_PANELS = 64 };

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
    optune_space_words(space, "outer", 3,
                       (const char *const[]){"pixels", "channels", "inside"});
    optune_space_ints(space, "piece", 7, (const int64_t[]){1, 2, 4, 8, 16, 32, MOST_PANELS});
}

static bool is_inside(const optune_config *config)
{
    return strcmp(optune_config_word(config, "outer"), "inside") == 0;
}

/* Of a thread, when the data are packed inside. */
static int64_t piece_bytes(const optune_task *task, const optune_config *config,
                           const conv2d_shape *s)
{
    return optune_config_int(config, "piece") * optune_config_int(config, "tile_n") *
           steps(task, s) * TILE_BYTES;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t piece = optune_config_int(config, "piece");
    if (!is_inside(config) && piece > 1)
        return optune_refuse(why, "only what is packed inside has pieces");
    if (piece > 1 && (piece - 1) * TILE * optune_config_int(config, "tile_n") >= s.h * s.w)
        return optune_refuse(why, "a piece of %ld panels is more than there are", (long)piece);
    return dot_tiles_fit(config, s.co, s.h * s.w, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    dot_choose_tiles(space, config, s.co, s.h * s.w);
    /* A block of channels meets all pixels that are near: what it writes lies in long pieces then.
     * Data that leave a core's cache are packed when they are needed, where it keeps the weight. */
    const int64_t near = task->device->l2 > 0 ? task->device->l2 : 1 << 20;
    const int64_t weight = weight_bytes(task, &s), data = data_bytes(task, &s, 1) / s.n;
    const bool inside = weight <= near / 2 && data > near / 4;
    optune_config_choose_word(config, space, "outer",
                              inside                              ? "inside"
                              : weight > data || data <= near / 2 ? "channels"
                                                                  : "pixels");
    optune_config_choose_int(config, space, "piece", 1);
    for (int64_t piece = 2; inside && piece <= MOST_PANELS; piece *= 2) {
        optune_config more = *config;
        optune_config_choose_int(&more, space, "piece", piece);
        if (piece_bytes(task, &more, &s) <= near / 8)
            *config = more;
    }
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
    const bool channels_first =
        is_inside(config) ? 1 : strcmp(optune_config_word(config, "outer"), "channels") == 0;
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"B", s->n},          {"M", s->co},
        {"N", s->h * s->w},   {"BIAS", 0},
        {"X_BATCH", 0},       {"Y_BATCH", s->ci * s->h * s->w},
        {"X_TURNED", 0},      {"Y_PLAIN", 1},
        {"PACK_DATA", 1},     {"ROWS_FIRST", channels_first},
        {"ROW_TASKS", parts},
    };
    dot_define(plan, module, dot_tiles(task, dots_in(task)), dots_in(task),
               task->call->output[0].dtype, s->ci);
    dot_define_tiles(plan, module, config);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, module, number[i].name, number[i].value);
    if (is_inside(config))
        optune_plan_define(plan, module, "PIECE", optune_config_int(config, "piece"));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int module = optune_plan_module(plan);
    define(task, config, &s, plan, module);
    const optune_arg weight = optune_scratch_arg(optune_plan_scratch(
        plan, "weights", weight_bytes(task, &s), task->call->input[CONV2D_WEIGHT].is_const));
    const bool inside = is_inside(config);
    const int64_t bytes = inside ? matmul_threads(task) * piece_bytes(task, config, &s)
                                 : data_bytes(task, &s, optune_config_int(config, "tile_n"));
    const optune_arg words =
        optune_scratch_arg(optune_plan_scratch(plan, "words", bytes, false));
    optune_plan_stage(plan, &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                            .module = module,
                                            .function = "pack_x",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_WEIGHT), weight}});
    if (!inside)
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                                .module = module,
                                                .function = "pack_y",
                                                .n_args = 2,
                                                .arg = {optune_input_arg(CONV2D_DATA), words}});
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = inside ? "amx_inside" : "amx",
                          .n_args = inside ? 4 : 3,
                          .arg = {weight, inside ? optune_input_arg(CONV2D_DATA) : words,
                                  optune_output_arg(0), words}};
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
