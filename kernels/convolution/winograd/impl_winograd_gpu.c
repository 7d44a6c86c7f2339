/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd.gpu: 3x3 convolutions of stride 1 with fewer multiplications, F(2x2,3x3) or
 * F(4x4,3x3) by the knob `tile`. All stages are inside the time but the transform of constant
 * weights. Untuned, the tile with the smaller estimate of products and of what passes through
 * memory between the stages is taken. Serves CUDA and OpenCL.
 */
#include <math.h>

#include "kernels/convolution/winograd/winograd_error.h"
#include "kernels/matmul/gpu/product_tile.h"

enum { FLAT = 128, MOST_PADDING = 2, LEAST_CHANNELS = 8 };

#define TOO_LARGE "more than 4 GiB between the stages"

typedef struct sizes {
    int64_t points, p; /* p: tiles of all images */
    int64_t ci_pad, co_pad, p_pad;
    int64_t u, v, m; /* elements */
} sizes;

static int64_t padded(int64_t n, int64_t block)
{
    return host_ceil(n, block) * block;
}

static sizes sizes_of(const conv2d_shape *s, int64_t tile, const gpu_tile *t)
{
    sizes z = {.points = (tile + 2) * (tile + 2)};
    z.p = s->n * host_ceil(s->oh, tile) * host_ceil(s->ow, tile);
    z.ci_pad = padded(s->ci, t->bk);
    z.co_pad = padded(s->co, t->bn);
    z.p_pad = padded(z.p, t->bm);
    z.u = z.points * z.ci_pad * z.co_pad;
    z.v = z.points * z.ci_pad * z.p_pad;
    z.m = z.points * z.co_pad * z.p_pad;
    return z;
}

static bool fits(const conv2d_shape *s, int64_t tile, const gpu_tile *t)
{
    const sizes z = sizes_of(s, tile, t);
    const double u = (double)z.ci_pad * (double)z.co_pad;
    const double images = (double)(z.ci_pad + z.co_pad) * (double)z.p_pad;
    return (double)z.points * (u + images) * (double)conv2d_elem(s) <= 4.0 * (1 << 30);
}

/* Whatever blocks are chosen. */
static bool always_fits(const conv2d_shape *s, int64_t tile)
{
    return fits(s, tile, &(gpu_tile){.bm = 256, .bn = 256, .bk = 32}); /* the largest knobs */
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW");
    if (s.kh != 3 || s.kw != 3)
        return optune_refuse(why, "needs a 3x3 kernel, this one is %" PRId64 "x%" PRId64, s.kh,
                             s.kw);
    if (s.sh != 1 || s.sw != 1 || s.dh != 1 || s.dw != 1)
        return optune_refuse(why, "needs strides and dilation of 1");
    if (s.groups != 1)
        return optune_refuse(why, "needs groups=1, these are %" PRId64, s.groups);
    /* A tile spreads its rounding errors over all its outputs: one that sums up few products,
     * or none, cannot keep its own bound. */
    if (s.pt > MOST_PADDING || s.pb > MOST_PADDING || s.pl > MOST_PADDING ||
        s.pr > MOST_PADDING)
        return optune_refuse(why, "needs a padding of at most %d", MOST_PADDING);
    if (s.ci < LEAST_CHANNELS)
        return optune_refuse(why, "needs %d input channels, these are %" PRId64, LEAST_CHANNELS,
                             s.ci);
    if (s.h * s.w > INT32_MAX / 2 || s.oh * s.ow > INT32_MAX / 2 || s.co > 16 * 65535)
        return optune_refuse(why, "one plane is too large for 32-bit offsets");
    if (!winograd_three_precise(&s, 2, 2))
        return optune_refuse(why, "sums of so few products are too imprecise by any tile");
    return always_fits(&s, 2) || (always_fits(&s, 4) && winograd_three_precise(&s, 4, 4)) ||
           optune_refuse(why, TOO_LARGE);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "tile", 2, (const int64_t[]){2, 4});
    gpu_tile_knobs(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const gpu_tile t = gpu_tile_of(config);
    const sizes z = sizes_of(&s, optune_config_int(config, "tile"), &t);
    const int64_t tile = optune_config_int(config, "tile");
    if (!winograd_three_precise(&s, tile, tile))
        return optune_refuse(why, "tiles of %" PRId64 " are too imprecise", tile);
    if (t.bk > 8 && t.bk / 2 >= s.ci)
        return optune_refuse(why, "half of a tile lies outside the input channels");
    if (!fits(&s, tile, &t))
        return optune_refuse(why, TOO_LARGE);
    return gpu_tile_unrolls(task, &t, optune_config_int(config, "unroll_k"), why) &&
           gpu_tile_valid(task, &t, z.p, s.co, conv2d_elem(&s), 0, 0, why);
}

/* Of the product for each point, padded as its blocks ask, and of what passes through memory. */
static double cost(const optune_task *task, const conv2d_shape *s, int64_t tile,
                   const gpu_tile *t)
{
    const sizes z = sizes_of(s, tile, t);
    const gpu_product p = {.m = z.p_pad,
                           .n = z.co_pad,
                           .k = z.ci_pad,
                           .batches = z.points,
                           .elem = conv2d_elem(s)};
    return gpu_tile_cost(task, &p, t, 1) + 2 * gpu_tile_launch() +
           gpu_tile_traffic(task, 2 * (z.v + z.m) * conv2d_elem(s));
}

static double estimate(const optune_task *task, const optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    gpu_tile t = gpu_tile_of(config);
    t.unroll = optune_config_int(config, "unroll_k");
    return task->device->warp > 1 ? cost(task, &s, optune_config_int(config, "tile"), &t) : NAN;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    double least = 1e300;
    for (int64_t tile = 2; tile <= 4; tile += 2) {
        if (tile > 2 && !winograd_three_precise(&s, tile, tile))
            break;
        if (!always_fits(&s, tile))
            continue;
        const sizes z = sizes_of(&s, tile, &(gpu_tile){.bm = 1, .bn = 1, .bk = 1});
        const gpu_product p = {.m = z.p,
                               .n = s.co,
                               .k = s.ci,
                               .batches = z.points,
                               .most_splits = 1,
                               .elem = conv2d_elem(&s)};
        int64_t split;
        const gpu_tile t = gpu_tile_best(task, &p, &split);
        const double cycles = cost(task, &s, tile, &t);
        if (cycles < least) {
            least = cycles;
            optune_config_choose_int(config, space, "tile", tile);
            gpu_tile_choose(config, space, &t);
        }
    }
    optune_config_nearest(config, space);
}

static void define(optune_plan *plan, int m, const conv2d_shape *s, const sizes *z,
                   const optune_config *config)
{
    const gpu_tile t = gpu_tile_of(config);
    const bool wide = z->u > INT32_MAX / 2 || z->v > INT32_MAX / 2 || z->m > INT32_MAX / 2 ||
                      s->n * s->ci * s->h * s->w > INT32_MAX / 2 ||
                      s->n * s->co * s->oh * s->ow > INT32_MAX / 2;
    conv2d_define(plan, m, s);
    gpu_tile_define(plan, m, &t, config, conv2d_elem(s));
    optune_plan_define(plan, m, "TILE", optune_config_int(config, "tile"));
    optune_plan_define(plan, m, "CI_PAD", z->ci_pad);
    optune_plan_define(plan, m, "CO_PAD", z->co_pad);
    optune_plan_define(plan, m, "P_PAD", z->p_pad);
    optune_plan_define(plan, m, "FLAT", FLAT);
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
}

/* A stage with a thread for each of `threads` pieces. */
static void add_flat(optune_plan *plan, int m, optune_phase phase, const char *function,
                     optune_arg from, optune_arg to, int64_t threads)
{
    optune_plan_stage(plan, &(optune_stage){.phase = phase,
                                            .module = m,
                                            .function = function,
                                            .n_args = 2,
                                            .arg = {from, to},
                                            .grid = {host_ceil(threads, FLAT)},
                                            .block = {FLAT}});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const gpu_tile t = gpu_tile_of(config);
    const sizes z = sizes_of(&s, optune_config_int(config, "tile"), &t);
    const int64_t elem = conv2d_elem(&s);
    const int module = optune_plan_module(plan);
    define(plan, module, &s, &z, config);
    const bool constant = task->call->input[CONV2D_WEIGHT].is_const;
    const optune_arg u =
        optune_scratch_arg(optune_plan_scratch(plan, "weights", z.u * elem, constant));
    const optune_arg v =
        optune_scratch_arg(optune_plan_scratch(plan, "inputs", z.v * elem, false));
    const optune_arg m =
        optune_scratch_arg(optune_plan_scratch(plan, "products", z.m * elem, false));
    add_flat(plan, module, conv2d_weight_phase(task->call), "transform_weight",
             optune_input_arg(CONV2D_WEIGHT), u, z.ci_pad * s.co);
    add_flat(plan, module, OPTUNE_TIMED, "transform_data", optune_input_arg(CONV2D_DATA), v,
             z.ci_pad * z.p);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "multiply",
                                            .n_args = 3,
                                            .arg = {v, u, m},
                                            .grid = {z.p_pad / t.bm, z.co_pad / t.bn, z.points},
                                            .block = {gpu_tile_threads(&t)},
                                            .shared = gpu_tile_shared(&t, elem, 0)});
    add_flat(plan, module, OPTUNE_TIMED, "transform_back", m, optune_output_arg(0), s.co * z.p);
}

OPTUNE_IMPL(convolution_winograd, winograd_gpu) = {
    WINOGRAD_IMPL,
    .name = "conv2d_winograd.gpu",
    .summary = "3x3 of stride 1, F(2x2,3x3) or F(4x4,3x3), a product for each point",
    /* The same transforms as conv2d_winograd.cpu's, and the same largest error. */
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
