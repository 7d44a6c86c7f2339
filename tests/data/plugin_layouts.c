/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d of 1x1 on cpu whose time is its layout's: with 16 channels 4 ms plain, 1 ms in blocks and
 * 2 ms between the two; with 24 channels 1 ms plain and 4 ms in any other way.
 *
 * Build: cc -shared -fPIC -I include -o plugin_layouts.so tests/data/plugin_layouts.c
 */

#include "optune/define.h"

static const char body[] = "#include <time.h>\n"
                           "static double now(void) {\n"
                           "    struct timespec t;\n"
                           "    clock_gettime(CLOCK_MONOTONIC, &t);\n"
                           "    return t.tv_sec + t.tv_nsec * 1e-9;\n"
                           "}\n"
                           "static long at(long c, long p, long block) {\n"
                           "    return (c / block * PIXELS + p) * block + c % block;\n"
                           "}\n"
                           "void conv(void *const *arg) {\n"
                           "    const float *data = arg[0], *weight = arg[1];\n"
                           "    float *out = arg[2];\n"
                           "    const double end = now() + MS * 1e-3;\n"
                           "    for (long o = 0; o < CO; o++)\n"
                           "        for (long p = 0; p < PIXELS; p++) {\n"
                           "            float sum = 0;\n"
                           "            for (long c = 0; c < CI; c++)\n"
                           "                sum += data[at(c, p, IN)] * weight[o * CI + c];\n"
                           "            out[at(o, p, OUT)] = sum;\n"
                           "        }\n"
                           "    while (now() < end) { }\n"
                           "}\n";

static int64_t block_of(const optune_tensor *type)
{
    return type->rank == 5 ? type->dim[4].min : 1;
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_tensor *data = &call->input[0].type, *weight = &call->input[1].type;
    return (optune_tensor_known(&call->output[0]) && optune_tensor_known(data) &&
            data->dim[0].min == 1 && weight->dim[2].min == 1 && weight->dim[3].min == 1 &&
            optune_call_int(call, "groups") == 1 && data->dtype.bits == 32) ||
           optune_refuse(why, "needs a 1x1 kernel over one image");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_tensor *data = &call->input[0].type, *weight = &call->input[1].type;
    const int64_t in = block_of(data), out = block_of(&call->output[0]);
    const bool blocked = in > 1 && out > 1, plain = in == 1 && out == 1;
    const int64_t wide = weight->dim[0].min;
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "CO", wide);
    optune_plan_define(plan, module, "CI", weight->dim[1].min);
    optune_plan_define(plan, module, "PIXELS", data->dim[2].min * data->dim[3].min);
    optune_plan_define(plan, module, "IN", in);
    optune_plan_define(plan, module, "OUT", out);
    optune_plan_define(plan, module, "MS",
                       wide == 16 ? (plain     ? 4
                                     : blocked ? 1
                                               : 2)
                                  : (plain ? 1 : 4));
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = module,
                  .function = "conv",
                  .n_args = 3,
                  .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
              });
}

static const optune_impl layouts = {.op = "conv2d",
                                    .name = "layouts.cpu",
                                    .summary = "planted: its time is its layout's",
                                    .applies = applies,
                                    .plan = plan,
                                    .source = body};
static const optune_impl *const impls[] = {&layouts, NULL};

static const optune_strategy_row rows[] = {
    {.impl = "layouts.cpu", .plevel = 60},
    {.impl = NULL},
};
static const optune_strategy strategy = {.op = "conv2d", .key = "cpu", .rows = rows};
static const optune_strategy *const strategies[] = {&strategy, NULL};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "planted layouts",
    .strategies = strategies,
    .impls = impls,
};
