/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_cudnn.cuda: cuDNN's convolution as its users have it: the fastest of all its engines that
 * serve the call, found by trying, over and over or with empty caches, or the one that its
 * heuristics put first.
 */
#include "kernels/convolution/conv2d.h"
#include "kernels/host/cuda_types.h"

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!cuda_library_applies(task, why))
        return false;
    if (!conv2d_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW");
    if (s.pt != s.pb || s.pl != s.pr)
        return optune_refuse(why, "cuDNN pads alike on both sides");
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_words(space, "engine", 3,
                       (const char *const[]){"fastest", "fastest_cold", "first"});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    (void)task;
    optune_config_choose_word(config, space, "engine", "fastest");
}

/* What an explicit GEMM needs, within bounds. */
static int64_t workspace_of(const conv2d_shape *s)
{
    const int64_t least = (int64_t)64 << 20, most = (int64_t)1 << 30;
    const int64_t columns = s->n * s->ci * s->kh * s->kw * s->oh * s->ow * 8;
    return columns < least ? least : columns > most ? most : columns;
}

static const char *const setup[] = {
    "cudnnCreate",
    "cudnnSetStream",
    "ot_stream",
    "cudnnBackendCreateDescriptor",
    "cudnnBackendSetAttribute",
    "cudnnBackendGetAttribute",
    "cudnnBackendFinalize",
    "cudnnBackendDestroyDescriptor",
    "cudnnGetErrorString",
};
static const char *const teardown[] = {
    "cudnnDestroy",
    "ot_stream",
};

static void add_symbols(optune_stage *stage, const char *const *symbol, size_t n)
{
    for (size_t i = 0; i < n; i++)
        stage->arg[stage->n_args++] = optune_symbol_arg(symbol[i]);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const char *const engine = optune_config_word(config, "engine");
    const int m = cuda_library_module(task, plan);
    const int workspace = optune_plan_scratch(plan, "workspace", workspace_of(&s), false);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"N", s.n},
        {"CI", s.ci},
        {"H", s.h},
        {"W", s.w},
        {"CO", s.co},
        {"KH", s.kh},
        {"KW", s.kw},
        {"OH", s.oh},
        {"OW", s.ow},
        {"SH", s.sh},
        {"SW", s.sw},
        {"PH", s.pt},
        {"PW", s.pl},
        {"DH", s.dh},
        {"DW", s.dw},
        {"CI_G", s.ci_g},
        {"FASTEST", strcmp(engine, "first") != 0},
        {"COLD", strcmp(engine, "fastest_cold") == 0},
        {"WORKSPACE", workspace_of(&s)},
        {"TF32", cuda_library_tf32(task->call)},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_stage begin = {.phase = OPTUNE_PREPACK, .module = m, .function = "begin"};
    optune_stage end = {.phase = OPTUNE_TEARDOWN, .module = m, .function = "end"};
    add_symbols(&begin, setup, sizeof setup / sizeof setup[0]);
    add_symbols(&end, teardown, sizeof teardown / sizeof teardown[0]);
    optune_plan_stage(plan, &begin);
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = m,
                  .function = "conv2d",
                  .n_args = 7,
                  .arg = {optune_symbol_arg("cudnnBackendExecute"),
                          optune_scratch_arg(workspace), optune_input_arg(CONV2D_DATA),
                          optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0),
                          optune_symbol_arg("ot_clock"), optune_symbol_arg("ot_stream")}});
    optune_plan_stage(plan, &end);
}

OPTUNE_IMPL(convolution, cudnn) = {
    .op = "conv2d",
    .name = "conv2d_cudnn.cuda",
    .summary = "cuDNN, the fastest of its engines, or its heuristic's first",
    .library = "cudnn",
    .math = "ieee tf32",
    .error_scale = 16, /* winograd and FFT are among its engines */
    .fewer_operations = true,
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .plan = plan,
};
