/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin with one row of every kind a newcomer asks for: a target, a strategy that overrides
 * conv2d's there, an implementation with a knob, and an operator.
 *
 * The target `narrow` is this CPU without AVX-512: what a fleet's oldest machine would do with
 * the code. It is like `cpu` in everything but what the compiler may use and what the device is
 * called, so records of the two never mix. Its keys are narrow, then cpu: strategies that it does
 * not override are cpu's.
 *
 *   cc -shared -fPIC -I include -o narrow.so examples/plugin_narrow/narrow.c
 *   optune --plugin ./narrow.so run conv2d 'conv2d(f32[1,16,14,14], f32[16,16,3,3], padding=[1])' \
 *          --target narrow
 */
#include <stdio.h>
#include <string.h>

#include "optune/define.h"

/* ---- the target -------------------------------------------------------------------------- */

static int probe(const optune_target *target, optune_device *device, optune_err *err)
{
    const int status = optune_target_find("cpu")->probe(target, device, err);
    if (status < 0)
        return status;
    char key[sizeof device->key];
    if (snprintf(key, sizeof key, "narrow-%s", device->key) >= (int)sizeof key)
        return optune_fail(err, OPTUNE_ELIMIT, "device key too long: '%s'", device->key);
    memcpy(device->key, key, sizeof key);
    if (device->vector_bytes > 32) {
        device->vector_bytes = 32;
        device->vector_registers = 16;
    }
    return OPTUNE_OK;
}

static int compile(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err)
{
    const int status = optune_target_find("cpu")->compile(target, device, flags, n_flags,
                                                          source, module, argv, err);
#if defined(__x86_64__)
    optune_argv_add(argv, "-mno-avx512f");
    optune_argv_add(argv, "-mprefer-vector-width=256");
#endif
    return status;
}

static const optune_target_row narrow = {
    .name = "narrow",
    .summary = "this machine's cores without their 512-bit vectors",
    .keys = (const char *const[]){"narrow", "cpu", NULL},
    .like = "cpu",
    .probe = probe,
    .compile = compile,
};

/* ---- an implementation of conv2d --------------------------------------------------------- */

static const char rows_body[] =
    "/* arg: data, weight, out. A row of outputs for CO_BLOCK channels at once. */\n"
    "void conv2d(void *const *arg)\n"
    "{\n"
    "    const float *data = arg[0], *weight = arg[1];\n"
    "    float *out = arg[2];\n"
    "    for (long n = 0; n < N; n++)\n"
    "        for (long co = 0; co < CO; co += CO_BLOCK)\n"
    "            for (long y = 0; y < OH; y++) {\n"
    "                float sum[CO_BLOCK][OW] = {0};\n"
    "                for (long ci = 0; ci < CI; ci++)\n"
    "                    for (long ky = 0; ky < KH; ky++) {\n"
    "                        const long iy = y * SH - PT + ky;\n"
    "                        if (iy < 0 || iy >= H)\n"
    "                            continue;\n"
    "                        const float *row = data + ((n * CI + ci) * H + iy) * W;\n"
    "                        for (long kx = 0; kx < KW; kx++) {\n"
    "                            long lo = 0, hi = OW;\n"
    "                            while (lo < OW && lo * SW - PL + kx < 0)\n"
    "                                lo++;\n"
    "                            while (hi > lo && (hi - 1) * SW - PL + kx >= W)\n"
    "                                hi--;\n"
    "                            for (int b = 0; b < CO_BLOCK; b++) {\n"
    "                                const float w =\n"
    "                                    weight[(((co + b) * CI + ci) * KH + ky) * KW + kx];\n"
    "                                for (long x = lo; x < hi; x++)\n"
    "                                    sum[b][x] += w * row[x * SW - PL + kx];\n"
    "                            }\n"
    "                        }\n"
    "                    }\n"
    "                for (int b = 0; b < CO_BLOCK; b++)\n"
    "                    for (long x = 0; x < OW; x++)\n"
    "                        out[((n * CO + co + b) * OH + y) * OW + x] = sum[b][x];\n"
    "            }\n"
    "}\n";

static bool rows_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_dtype dtype = call->output[0].dtype;
    if (!optune_tensor_known(&call->input[0].type) || !optune_tensor_known(&call->output[0]))
        return optune_refuse(why, "needs constant shapes");
    if (dtype.code != OPTUNE_DTYPE_FLOAT || dtype.bits != 32 ||
        strcmp(optune_call_word(call, "data_layout"), "NCHW") != 0 || call->output[0].rank != 4)
        return optune_refuse(why, "needs float32 in NCHW");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    if (optune_call_int(call, "groups") != 1 || dilation[0] != 1 || dilation[1] != 1)
        return optune_refuse(why, "needs one group and no dilation");
    return true;
}

static void rows_space(const optune_task *task, optune_space *space)
{
    optune_space_split(space, "tile_co", task->call->output[0].dim[1].min, 2,
                       &(optune_split){.max_factor = 16});
}

static void rows_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    (void)task;
    optune_config_choose_split(config, space, "tile_co", (int64_t[]){0, 4});
}

static void rows_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const optune_dim *data = call->input[0].type.dim, *weight = call->input[1].type.dim;
    const optune_dim *out = call->output[0].dim;
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *padding = optune_call_ints(call, "padding");
    const struct {
        const char *name;
        int64_t value;
    } define[] = {
        {"N", out[0].min},     {"CO", out[1].min},
        {"OH", out[2].min},    {"OW", out[3].min},
        {"CI", data[1].min},   {"H", data[2].min},
        {"W", data[3].min},    {"KH", weight[2].min},
        {"KW", weight[3].min}, {"SH", stride[0]},
        {"SW", stride[1]},     {"PT", padding[0]},
        {"PL", padding[1]},    {"CO_BLOCK", optune_config_split(config, "tile_co")[1]},
    };
    const int module = optune_plan_module(plan);
    for (size_t i = 0; i < sizeof define / sizeof define[0]; i++)
        optune_plan_define(plan, module, define[i].name, define[i].value);
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = module,
                  .function = "conv2d",
                  .n_args = 3,
                  .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
              });
}

static const optune_impl rows_impl = {
    .op = "conv2d",
    .name = "conv2d_rows.narrow",
    .summary = "rows of outputs, some channels at once",
    .applies = rows_applies,
    .space = rows_space,
    .fallback = rows_fallback,
    .plan = rows_plan,
    .source = rows_body,
};

/* ---- conv2d's strategy on this target ---------------------------------------------------- */

static bool conv2d_dim(const optune_call *call, const char *name, optune_dim *value)
{
    if (strcmp(name, "ow") == 0)
        *value = call->output[0].dim[3];
    else if (strcmp(name, "kh") == 0)
        *value = call->input[1].type.dim[2];
    else
        return false;
    return true;
}

static const optune_strategy_row conv2d_rows[] = {
    {.impl = "conv2d_direct.cpu"},
    {.impl = "conv2d_rows.narrow", .plevel = 5, .when = "ow >= 8 && kh > 1"},
    {.impl = NULL},
};

static const optune_strategy conv2d_strategy = {
    .op = "conv2d", .key = "narrow", .rows = conv2d_rows, .dim = conv2d_dim};

/* ---- and that of all scans --------------------------------------------------------------- */

/* loop.cpu is cumsum_loop.cpu, cumprod_loop.cpu and so on, whatever there is of the family. */
static const optune_strategy_row scan_rows[] = {{.impl = "loop.cpu"}, {.impl = NULL}};

static const optune_strategy scan_strategy = {
    .family = "scan",
    .keys = (const char *const[]){"narrow", "slim", NULL},
    .rows = scan_rows,
};

/* ---- an operator ------------------------------------------------------------------------- */

/* One expression, for references, for the elementwise templates of every target, and for
 * epilogues: conv2d(...) -> hard_swish() is a workload. Source: Howard et al., Searching for
 * MobileNetV3, 2019. */
OPTUNE_SCALAR(hard_swish_scalar, 4, x0<-3 ? 0 : x0> 3 ? x0 : x0 *(x0 + 3) / 6);

static const optune_op hard_swish = {
    .name = "hard_swish",
    .summary = "x * min(max(x + 3, 0), 6) / 6",
    .inputs =
        (const optune_op_input[]){{.name = "data", .type = "tensor", .description = "any"},
                                  {0}},
    .support_level = 10,
    .presets =
        (const optune_preset[]){
            {.name = "mobilenetv3",
             .description = "an early activation of MobileNetV3",
             .workloads = (const char *const[]){"hard_swish(f32[1,16,112,112])", NULL}},
            {0}},
    .samples = (const char *const[]){"hard_swish(f32[37])", NULL},
    OPTUNE_ELEMWISE_OP(hard_swish_scalar),
};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "narrow",
    .ops = (const optune_op *const[]){&hard_swish, NULL},
    .impls = (const optune_impl *const[]){&rows_impl, NULL},
    .strategies = (const optune_strategy *const[]){&conv2d_strategy, &scan_strategy, NULL},
    .targets = (const optune_target_row *const[]){&narrow, NULL},
};
