/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_dnnl.x86: oneDNN 2.x or 3.x does the work, float32 only. `algo` is what oneDNN is asked
 * for; with layout=any it chooses its own formats and pays for reorders inside the time, with plain
 * it works in the workload's layouts. The body holds the few declarations it needs, and is told
 * both as numbers: one module serves all configs.
 */
#include "kernels/convolution/conv2d.h"

enum { STATE_BYTES = 1024 }; /* holds the body's struct state */

/* Whether oneDNN has a format tag for NCHW with this block. */
static bool has_tag(int block)
{
    return block == 0 || block == 4 || block == 8 || block == 16 || block == 32;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.f64)
        return optune_refuse(why, "oneDNN convolves float32 only");
    if (!has_tag(s.data_block) || !has_tag(s.out_block))
        return optune_refuse(why, "oneDNN has no layout NCHW%dc",
                             has_tag(s.data_block) ? s.out_block : s.data_block);
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    static const char *const algo[] = {"auto", "direct", "winograd"};
    static const char *const layout[] = {"any", "plain"};
    optune_space_words(space, "algo", 3, algo);
    optune_space_words(space, "layout", 2, layout);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const bool winograd = strcmp(optune_config_word(config, "algo"), "winograd") == 0;
    if (winograd && (s.kh != 3 || s.kw != 3 || s.sh != 1 || s.sw != 1 || s.dh != 1 ||
                     s.dw != 1 || s.groups != 1 || s.ci < 16 || s.co < 16))
        return optune_refuse(why, "winograd needs a 3x3 kernel, stride 1 and 16 channels");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    static const char *const functions[] = {
        "dnnl_engine_create",
        "dnnl_engine_destroy",
        "dnnl_stream_create",
        "dnnl_stream_destroy",
        "dnnl_stream_wait",
        "dnnl_memory_desc_equal",
        "dnnl_memory_create",
        "dnnl_memory_destroy",
        "dnnl_memory_set_data_handle",
        "dnnl_reorder_primitive_desc_create",
        "dnnl_primitive_desc_destroy",
        "dnnl_primitive_desc_query_md",
        "dnnl_primitive_create",
        "dnnl_primitive_destroy",
        "dnnl_primitive_execute",
    };
    static const char *const version2[] = {
        "dnnl_memory_desc_init_by_tag",
        "dnnl_dilated_convolution_forward_desc_init",
        "dnnl_primitive_desc_create",
    };
    static const char *const version3[] = {
        "dnnl_memory_desc_create_with_tag",
        "dnnl_memory_desc_destroy",
        "dnnl_convolution_forward_primitive_desc_create",
    };
    enum {
        NUMBERS = 4,
        FUNCTIONS = sizeof functions / sizeof functions[0],
        OF_2 = sizeof version2 / sizeof version2[0],
        OF_3 = sizeof version3 / sizeof version3[0],
    };
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const char *algo = optune_config_word(config, "algo");
    const int64_t algorithm = strcmp(algo, "direct") == 0     ? 1
                              : strcmp(algo, "winograd") == 0 ? 2
                                                              : 3;
    const bool plain = strcmp(optune_config_word(config, "layout"), "plain") == 0;
    const bool is_const = task->call->input[CONV2D_WEIGHT].is_const;

    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, &s);
    conv2d_light(plan, module);
    optune_plan_define(plan, module, "WEIGHT_CONST", is_const);
    const optune_arg state =
        optune_scratch_arg(optune_plan_scratch(plan, "handles", STATE_BYTES, true));
    const optune_arg weight = optune_input_arg(CONV2D_WEIGHT);

    optune_stage setup = {.phase = OPTUNE_PREPACK,
                          .module = module,
                          .function = "setup",
                          .n_args = NUMBERS + FUNCTIONS + OF_2 + OF_3,
                          .arg = {state, is_const ? weight : state, optune_int_arg(algorithm),
                                  optune_int_arg(plain)}};
    for (int i = 0; i < FUNCTIONS; i++)
        setup.arg[NUMBERS + i] = optune_symbol_arg(functions[i]);
    for (int i = 0; i < OF_2; i++)
        setup.arg[NUMBERS + FUNCTIONS + i] = optune_version_symbol_arg(version2[i], 2);
    for (int i = 0; i < OF_3; i++)
        setup.arg[NUMBERS + FUNCTIONS + OF_2 + i] = optune_version_symbol_arg(version3[i], 3);
    optune_plan_stage(plan, &setup);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "run",
                                            .n_args = 4,
                                            .arg = {state, optune_input_arg(CONV2D_DATA),
                                                    weight, optune_output_arg(0)}});
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TEARDOWN,
                                            .module = module,
                                            .function = "teardown",
                                            .n_args = 1,
                                            .arg = {state}});
}

OPTUNE_IMPL(convolution, dnnl) = {
    .op = "conv2d",
    .name = "conv2d_dnnl.x86",
    .summary = "oneDNN's convolution, in its own or in the workload's layouts",
    .library = "dnnl",
    .error_scale = 4, /* winograd's transforms cancel */
    .applies = applies,
    .space = space,
    .valid = valid,
    .plan = plan,
};
