/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_depthwise_conv2d.cpu: the value between the convolutions stays in the nearest caches, a
 * few rows of a few vectors of channels; any kernel, stride, padding, dilation and layout.
 */
#include "kernels/convolution/chain/chain.h"

enum { MOST_PARTS = 4, MOST_PASS = 4 };

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!chain_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes but for the batch");
    for (int i = 0; i < task->call->n_inputs; i++)
        if (!tensor_is_float(&task->call->input[i].type))
            return optune_refuse(why, "needs float32 or float64 throughout");
    return s.kh * s.kw <= 128 || optune_refuse(why, "a kernel of more than 128 taps");
}

/* A block that is narrower than a register, and a proper part of it, sets the vector's width. */
static int64_t lanes_of(const optune_task *task, const conv2d_shape *s)
{
    int64_t lanes = conv2d_lanes(task, s);
    while (s->out_block > 0 && lanes > s->out_block && lanes * conv2d_elem(s) > 16)
        lanes /= 2;
    return lanes;
}

static int64_t vectors(const optune_task *task, const conv2d_shape *s)
{
    return host_ceil(s->co, lanes_of(task, s));
}

static int threads_of(const optune_task *task)
{
    return task->device->threads > 1 ? task->device->threads : 1;
}

/* Of an ascending list those up to `most`, each once; returns how many. */
static int distinct(int64_t *list, int n, int64_t most)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (list[i] <= most && (kept == 0 || list[i] > list[kept - 1]))
            list[kept++] = list[i];
    return kept;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    chain_shape_of(task->call, &s);
    static const int64_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14};
    static const int64_t vecs[] = {1, 2, 3, 4};
    static const int64_t cols[] = {2, 4, 7, 8, 14};
    static const int64_t passes[] = {1, 2, MOST_PASS};
    int64_t step[] = {1, 2, 4, 8 < s.oh ? 8 : s.oh, s.oh};
    int64_t band[] = {host_ceil(s.oh, MOST_PARTS), host_ceil(s.oh, 2), s.oh};
    optune_space_ints(space, "tile_pixels", sizeof pixels / sizeof *pixels, pixels);
    optune_space_ints(space, "tile_vectors", sizeof vecs / sizeof *vecs, vecs);
    optune_space_ints(space, "tile_ow", sizeof cols / sizeof *cols, cols);
    optune_space_ints(space, "step", distinct(step, sizeof step / sizeof *step, s.oh), step);
    optune_space_ints(space, "pass", sizeof passes / sizeof *passes, passes);
    optune_space_ints(space, "block_oh", distinct(band, sizeof band / sizeof *band, s.oh),
                      band);
}

/* Elements of a thread's ring, for one vector of channels. */
static int64_t ring(const conv2d_shape *s, int64_t lanes, int64_t step)
{
    const int64_t span = (step - 1) * s->sh + (s->kh - 1) * s->dh + 1;
    const int64_t pitch = host_max(s->w + s->pl, (s->ow - 1) * s->sw + (s->kw - 1) * s->dw + 1);
    return (span < s->h ? span : s->h) * pitch * lanes;
}

static int64_t buffer(const optune_task *task, const conv2d_shape *s,
                      const optune_config *config)
{
    const int64_t lanes = lanes_of(task, s), step = optune_config_int(config, "step");
    return optune_config_int(config, "pass") * optune_config_int(config, "tile_vectors") *
               ring(s, lanes, step) +
           step * s->ow * lanes;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    chain_shape_of(task->call, &s);
    const int registers = conv2d_registers(task);
    const int64_t pixels = optune_config_int(config, "tile_pixels");
    const int64_t vecs = optune_config_int(config, "tile_vectors");
    const int64_t cols = optune_config_int(config, "tile_ow");
    const int64_t pass = optune_config_int(config, "pass");
    const int64_t tiles = host_ceil(vectors(task, &s), vecs);
    if (pixels > s.w)
        return optune_refuse(why, "a tile of %ld pixels exceeds a row", (long)pixels);
    if (vecs > vectors(task, &s) || (pass > 1 && pass > tiles))
        return optune_refuse(why, "more vectors than there are channels for");
    if (pixels * vecs + vecs + 1 > registers || cols + 2 > registers)
        return optune_refuse(why, "a tile exceeds %d registers", registers);
    if (cols > s.ow && cols > 2)
        return optune_refuse(why, "a tile of %ld columns exceeds the output", (long)cols);
    if (optune_config_int(config, "step") > optune_config_int(config, "block_oh"))
        return optune_refuse(why, "a step of more rows than a block has");
    if (buffer(task, &s, config) * threads_of(task) * conv2d_elem(&s) > INT64_C(1) << 28 &&
        optune_config_int(config, "step") > 1)
        return optune_refuse(why, "more than 256 MiB of scratch");
    return true;
}

/* Rows of the value between that the busiest thread computes: threads take equal runs of blocks, so
 * few large blocks leave some idle, and small ones compute the rows that they share twice. */
static int64_t busiest(const optune_task *task, const conv2d_shape *s, int64_t tiles,
                       int64_t band)
{
    const int64_t blocks = s->n * tiles * host_ceil(s->oh, band);
    return host_ceil(blocks, threads_of(task)) * ((band - 1) * s->sh + (s->kh - 1) * s->dh + 1);
}

static int64_t best_band(const optune_task *task, const conv2d_shape *s, int64_t tiles)
{
    const int64_t band[] = {s->oh, host_ceil(s->oh, 2), host_ceil(s->oh, MOST_PARTS)};
    int64_t best = band[0];
    for (size_t i = 1; i < sizeof band / sizeof *band; i++)
        if (busiest(task, s, tiles, band[i]) < busiest(task, s, tiles, best))
            best = band[i];
    return best;
}

/* Output rows behind each other: a small plane as a whole, of others the fewest that fill a square
 * that is turned over on its way out, where the output is no array of vectors. */
static int64_t best_step(const optune_task *task, const conv2d_shape *s)
{
    const int64_t lanes = lanes_of(task, s);
    int64_t step = s->h * s->w <= 256 ? s->oh : 1;
    while (s->out_block == 0 && step * s->ow < lanes && 2 * step <= s->oh)
        step *= 2;
    return step;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    chain_shape_of(task->call, &s);
    const bool many = conv2d_registers(task) >= 32;
    const int64_t vecs = vectors(task, &s) > 1 ? 2 : 1;
    const int64_t most = many ? 14 : vecs > 1 ? 6 : 12;
    optune_config_choose_int(config, space, "tile_vectors", vecs);
    optune_config_choose_int(config, space, "tile_pixels", s.w < most ? s.w : most);
    optune_config_choose_int(config, space, "tile_ow", s.ow < 7 ? s.ow : s.ow == 8 ? 8 : 7);
    optune_config_choose_int(config, space, "step", best_step(task, &s));
    optune_config_choose_int(config, space, "pass", 1);
    optune_config_choose_int(config, space, "block_oh",
                             best_band(task, &s, host_ceil(vectors(task, &s), vecs)));
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    chain_shape_of(task->call, &s);
    const int64_t elem = conv2d_elem(&s), vecs = optune_config_int(config, "tile_vectors");
    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, &s);
    conv2d_light(plan, module);
    optune_plan_define(plan, module, "BIAS", task->call->n_inputs > CHAIN_BIAS);
    optune_plan_define(plan, module, "BETWEEN", chain_between_of(task->call));
    optune_plan_define(plan, module, "VEC_BYTES", lanes_of(task, &s) * elem);
    optune_plan_define(plan, module, "TP", optune_config_int(config, "tile_pixels"));
    optune_plan_define(plan, module, "TV", vecs);
    optune_plan_define(plan, module, "TW", optune_config_int(config, "tile_ow"));
    optune_plan_define(plan, module, "STEP", optune_config_int(config, "step"));
    optune_plan_define(plan, module, "PASS", optune_config_int(config, "pass"));
    optune_plan_define(plan, module, "BAND", optune_config_int(config, "block_oh"));
    /* Only the transposition of kernels/matmul/gemm.kernel.h is used. */
    optune_plan_define(plan, module, "GEMM_MR", 1);
    optune_plan_define(plan, module, "GEMM_NV", 1);
    const int64_t channels = host_ceil(vectors(task, &s), vecs) * vecs * lanes_of(task, &s);
    const optune_arg packed =
        chain_pack(task, plan, module, channels * (s.ci + s.kh * s.kw + 1) * elem);
    const int buffers = optune_plan_scratch(
        plan, "rows", buffer(task, &s, config) * threads_of(task) * elem, false);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "chain",
                          .n_args = 4,
                          .arg = {optune_input_arg(CHAIN_DATA), packed, optune_output_arg(0),
                                  optune_scratch_arg(buffers)}};
    conv2d_fuse(task, plan, &stage);
    optune_plan_stage(plan, &stage);
    if (!optune_dim_known(&task->call->input[CHAIN_DATA].type.dim[0]))
        optune_plan_repeat(plan, CHAIN_DATA, 1u << CHAIN_DATA);
}

OPTUNE_IMPL(convolution_chain, chain) = {
    .op = "pointwise_depthwise_conv2d",
    .name = "pointwise_depthwise_conv2d.cpu",
    .summary = "rows of what is in between stay in the nearest caches",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
