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

void winograd_stages(const optune_task *task, optune_plan *plan, int module,
                     const conv2d_shape *s, const char *function, const winograd_scratch *z)
{
    const int64_t elem = conv2d_elem(s);
    const optune_arg weights = conv2d_pack(task, plan, module, "transform_weight", z->weights);
    const optune_arg inputs = scratch(plan, "inputs", z->inputs * elem);
    const optune_arg products = scratch(plan, "products", z->products * elem);
    const optune_arg bands = scratch(plan, "bands", z->bands * elem);
    conv2d_finish(task, plan,
                  &(optune_stage){
                      .phase = OPTUNE_TIMED,
                      .module = module,
                      .function = function,
                      .n_args = 6,
                      .arg = {optune_input_arg(CONV2D_DATA), weights, optune_output_arg(0),
                              inputs, products, bands},
                  });
}
