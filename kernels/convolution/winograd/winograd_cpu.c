/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/winograd/winograd_cpu.h declares. */
#include "kernels/convolution/winograd/winograd_cpu.h"

int winograd_module(optune_plan *plan, const conv2d_shape *s, const optune_config *config,
                    const winograd_knob *knob, size_t n)
{
    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, s);
    conv2d_light(plan, module);
    for (size_t i = 0; i < n; i++)
        optune_plan_define(plan, module, knob[i].macro,
                           optune_config_int(config, knob[i].knob));
    return module;
}

static optune_arg scratch(optune_plan *plan, const char *name, int64_t bytes)
{
    return optune_scratch_arg(optune_plan_scratch(plan, name, bytes, false));
}

/* conv2d_pack by a module that learns at run time what the products' tile is. */
static optune_arg pack_apart(const optune_task *task, optune_plan *plan,
                             const winograd_apart *apart, int64_t bytes)
{
    const optune_arg packed = optune_scratch_arg(
        optune_plan_scratch(plan, "weights", bytes, task->call->input[CONV2D_WEIGHT].is_const));
    optune_plan_stage(
        plan,
        &(optune_stage){.phase = conv2d_weight_phase(task->call),
                        .module = apart->module,
                        .function = apart->depth ? "keep_taps" : "transform_weight",
                        .n_args = 5,
                        .arg = {optune_input_arg(CONV2D_WEIGHT), packed,
                                optune_function_arg(apart->transforms, "transforms"),
                                optune_int_arg(apart->vectors), optune_int_arg(apart->chunk)}});
    return packed;
}

void winograd_stages(const optune_task *task, optune_plan *plan, int module,
                     const conv2d_shape *s, const char *function, const winograd_scratch *z,
                     const winograd_apart *apart)
{
    const int64_t elem = conv2d_elem(s);
    const optune_arg weights =
        apart ? pack_apart(task, plan, apart, z->weights * elem)
              : conv2d_pack(task, plan, module, "transform_weight", z->weights);
    const optune_arg inputs = scratch(plan, "inputs", z->inputs * elem);
    const optune_arg products = scratch(plan, "products", z->products * elem);
    const optune_arg bands = scratch(plan, "bands", z->bands * elem);
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = function,
        .n_args = 6,
        .arg = {optune_input_arg(CONV2D_DATA), weights, optune_output_arg(0), inputs, products,
                bands},
    };
    if (!apart) {
        conv2d_finish(task, plan, &stage);
        return;
    }
    stage.arg[stage.n_args++] = optune_function_arg(module, "point");
    stage.arg[stage.n_args++] = optune_function_arg(apart->transforms, "transforms");
    stage.arg[stage.n_args++] = optune_int_arg(apart->rows);
    stage.arg[stage.n_args++] = optune_int_arg(apart->chunk);
    stage.arg[stage.n_args++] = optune_int_arg(apart->vectors);
    stage.arg[stage.n_args++] = optune_int_arg(apart->split_blocks);
    stage.arg[stage.n_args++] = optune_int_arg(apart->depth);
    /* As many for all, so that what is fused finds its own in the same places. */
    stage.arg[stage.n_args++] =
        apart->depth ? scratch(plan, "points", apart->points * elem) : optune_int_arg(0);
    stage.arg[stage.n_args++] = optune_int_arg(apart->ahead);
    stage.module = apart->module;
    conv2d_finish(task, plan, &stage);
}
