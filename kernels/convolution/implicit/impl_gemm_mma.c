/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_implicit_gemm_mma.cuda: the implicit product by tensor cores, float16, bfloat16 and
 * int8, and float32 where the call permits tf32; sums in float32 (int32). Knobs and limits are
 * those of dense's template `mma`. The stage that turns the input over is inside the time,
 * packing of weights is not where they are constant.
 */
#include "kernels/convolution/implicit/implicit_mma_rows.h"

enum { FLAT = 256, MOST_PIXELS = 16 };

static conv2d_shape shape_of(const optune_call *call)
{
    conv2d_shape s;
    conv2d_shape_of(call, &s);
    return s;
}

static matmul_gpu product_of(const optune_call *call)
{
    const conv2d_shape s = shape_of(call);
    return implicit_mma_product(call, &s);
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    if (!matmul_gpu_mma_takes(task->call, why)) /* a chunk of 16 bytes holds some of them */
        return false;
    const matmul_gpu p = product_of(task->call);
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW");
    if (s.n * s.groups > 65535)
        return optune_refuse(why, "more planes than a grid's depth");
    if (s.h * s.w > INT32_MAX / 2 || s.oh * s.ow > INT32_MAX / 2 || p.k > INT32_MAX / 2 ||
        s.ci_g > 32 * 65535)
        return optune_refuse(why, "one plane is too large for 32-bit offsets");
    const int64_t channels = s.groups * implicit_mma_channels(task->call, &s);
    if (conv2d_taps_apart(&s) > INT32_MAX / 2 / channels)
        return optune_refuse(why, "taps too far apart for 32-bit offsets");
    return matmul_gpu_mma_applies(task, &p, why);
}

MATMUL_GPU_ASK(product, matmul_gpu_mma_space, matmul_gpu_mma_fallback, matmul_gpu_mma_estimate,
               product_of)

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const matmul_gpu p = product_of(task->call);
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    if (!matmul_gpu_mma_fits(task, &p, &c, why))
        return false;
    const int64_t own = c.bn * (c.kb / 16) / matmul_gpu_mma_threads(&c);
    return own <= MOST_PIXELS ||
           optune_refuse(why, "a thread looks after %" PRId64 " pixels, at most %d", own,
                         (int)MOST_PIXELS);
}

typedef struct sizes {
    int64_t ci_pad, co_pad, depth, tiles;
    int64_t turned, packed, outputs; /* elements */
} sizes;

static sizes sizes_of(const optune_call *call, const conv2d_shape *s, const matmul_gpu_mma *c)
{
    sizes z = {.ci_pad = implicit_mma_channels(call, s)};
    z.co_pad = host_ceil(s->co_g, c->bm) * c->bm;
    z.depth = c->kb / implicit_mma_size(call);
    z.tiles = host_ceil(z.ci_pad * s->kh * s->kw, z.depth);
    z.turned = s->n * s->h * s->w * s->groups * z.ci_pad;
    z.packed = s->groups * z.co_pad * z.tiles * z.depth;
    z.outputs = s->n * s->co * s->oh * s->ow;
    return z;
}

static void define(optune_plan *plan, int m, const optune_call *call, const conv2d_shape *s,
                   const matmul_gpu_mma *c, const sizes *z)
{
    const bool wide =
        z->turned > INT32_MAX / 2 || z->packed > INT32_MAX / 2 || z->outputs > INT32_MAX / 2;
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", c->bm},       {"BN", c->bn},         {"WM", c->wm},
        {"WN", c->wn},       {"KB", c->kb},         {"STAGES", c->stages},
        {"GROUP", c->group}, {"SPLITS", c->splits}, {"DEPTH", z->depth},
        {"TILES", z->tiles}, {"CI_PAD", z->ci_pad}, {"CO_PAD", z->co_pad},
        {"A_ACROSS", 0},     {"B_ACROSS", 0},       {"FLAT", FLAT},
    };
    conv2d_define(plan, m, s);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
    matmul_gpu_mma_types(call, plan, m);
}

/* Weights to rows of depth, and the input's planes turned over. Returns what they fill. */
static void add_layouts(const optune_task *task, optune_plan *plan, int m,
                        const conv2d_shape *s, const sizes *z, optune_arg *turned,
                        optune_arg *packed)
{
    const int64_t size = implicit_mma_size(task->call);
    const bool constant = task->call->input[CONV2D_WEIGHT].is_const;
    *packed =
        optune_scratch_arg(optune_plan_scratch(plan, "weights", z->packed * size, constant));
    *turned = implicit_mma_turn(task->call, plan, m, s);
    optune_plan_stage(plan, &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                            .module = m,
                                            .function = "pack",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_WEIGHT), *packed},
                                            .grid = {host_ceil(z->packed, FLAT)},
                                            .block = {FLAT}});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const conv2d_shape s = shape_of(task->call);
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    const sizes z = sizes_of(task->call, &s, &c);
    const int m = optune_plan_module(plan);
    define(plan, m, task->call, &s, &c, &z);
    optune_arg turned, packed, sums = optune_output_arg(0);
    add_layouts(task, plan, m, &s, &z, &turned, &packed);
    if (c.splits > 1)
        sums = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", c.splits * z.outputs * 4, false));
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "convolve",
                              .n_args = 3,
                              .arg = {turned, packed, sums},
                              .grid = {z.co_pad / c.bm * host_ceil(s.n * s.oh * s.ow, c.bn), 1,
                                       s.groups * c.splits},
                              .block = {matmul_gpu_mma_threads(&c)},
                              .shared = matmul_gpu_mma_shared(&c)});
    if (c.splits > 1)
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                                .module = m,
                                                .function = "finish",
                                                .n_args = 2,
                                                .arg = {sums, optune_output_arg(0)},
                                                .grid = {host_ceil(z.outputs, FLAT)},
                                                .block = {FLAT}});
}

OPTUNE_IMPL(convolution_implicit, gemm_mma) = {
    .op = "conv2d",
    .name = "conv2d_implicit_gemm_mma.cuda",
    .summary = "the product over pixels by tensor cores, channels turned innermost",
    .math = "ieee tf32",
    .applies = applies,
    .space = product_space,
    .fallback = product_fallback,
    .valid = valid,
    .plan = plan,
    .estimate = product_estimate,
};
