/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd.cpu: 3x3 convolutions with fewer multiplications, by tiles of 1, 2, 4 or 7
 * outputs in each direction on its own: what divides the output wastes least. Stride 1 is
 * F(2,3), F(4,3) or F(7,3); stride 2 splits the inputs into even and odd ones, see the body.
 *
 * It is fused over blocks of tile rows, so that only the weights, which are constant mostly,
 * live outside the caches; see the body. They are kept as transformed points, up to nine times as
 * many as there are taps, or as taps, which every run transforms: more to compute and less to
 * read, which decides where a model's other layers pass through the caches between two runs.
 */
#include <string.h>

#include "kernels/convolution/winograd/winograd_blocks.h"
#include "kernels/convolution/winograd/winograd_cpu.h"

/* Bytes of points that a call keeps untuned, where the weight is constant: of larger ones, which
 * are up to nine times as many as weights, a model would hold more than it may have memory for. */
enum { MOST_KEPT = 64 << 20 };

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    static const int64_t co[] = {1, 2, 3, 4}, chunk[] = {1, 2, 4, 8}, unroll[] = {1, 2},
                         ahead[] = {0, 64, 128, 256};
    int64_t p[WINOGRAD_MOST_P];
    for (int i = 0; i < WINOGRAD_MOST_P; i++)
        p[i] = i + 1;
    int64_t rows[WINOGRAD_MOST_ROWS];
    optune_space_ints(space, "tile_h", WINOGRAD_TILES, winograd_tile_sizes);
    optune_space_ints(space, "tile_w", WINOGRAD_TILES, winograd_tile_sizes);
    optune_space_ints(space, "block_rows", winograd_block_rows(&s, rows), rows);
    optune_space_ints(space, "tile_p", WINOGRAD_MOST_P, p);
    optune_space_ints(space, "tile_co", WINOGRAD_MOST_CO, co);
    optune_space_ints(space, "chunk_co", 4, chunk);
    optune_space_ints(space, "unroll", 2, unroll);
    optune_space_ints(space, "prefetch", 4, ahead);
    optune_space_words(space, "keep", task->call->input[CONV2D_WEIGHT].is_const ? 2 : 1,
                       (const char *const[]){"points", "taps"});
}

/* By any tile, over the smallest blocks that there are: the first one, nearly always. */
static bool any_fits(const optune_task *task, const conv2d_shape *s)
{
    enum { SIZES = WINOGRAD_TILES * WINOGRAD_TILES };
    int64_t rows[WINOGRAD_MOST_ROWS];
    const int n = winograd_block_rows(s, rows);
    for (int i = 0; i < n * SIZES; i++) {
        const winograd_choice c = {.tile_h = winograd_tile_sizes[i % WINOGRAD_TILES],
                                   .tile_w = winograd_tile_sizes[i % SIZES / WINOGRAD_TILES],
                                   .rows = rows[i / SIZES],
                                   .chunk = 1};
        winograd_sizes z = winograd_sizes_of_tile(task, s, c.tile_h, c.tile_w);
        if (c.rows > z.all_rows)
            continue;
        winograd_add_block(&z, s, c.tile_h, c.rows);
        winograd_add_channels(&z, s, winograd_best_co(task, s, z.tiles), 1);
        if (winograd_fits(s, &z) && winograd_precise(s, c.tile_h, c.tile_w))
            return true;
    }
    return false;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.kh != 3 || s.kw != 3)
        return optune_refuse(why, "needs a 3x3 kernel, this one is %ldx%ld", (long)s.kh,
                             (long)s.kw);
    if (s.sh > 2 || s.sw > 2 || s.dh != 1 || s.dw != 1)
        return optune_refuse(why, "needs strides of 1 or 2 and dilation 1");
    if (s.groups != 1)
        return optune_refuse(why, "needs groups=1, these are %ld", (long)s.groups);
    /* A tile spreads its rounding errors over all its outputs: one that sums up few products,
     * or none, cannot keep its own bound. */
    if (host_max(host_max(s.pt, s.pb), host_max(s.pl, s.pr)) > 2)
        return optune_refuse(why, "needs a padding of at most 2");
    if (s.ci < 8)
        return optune_refuse(why, "needs 8 input channels, these are %ld", (long)s.ci);
    if (!winograd_three_precise(&s, 2, 1) && !winograd_three_precise(&s, 1, 2))
        return optune_refuse(why, "sums of so few products are too imprecise by any tile");
    return any_fits(task, &s) || optune_refuse(why, "needs more than 1 GiB of scratch");
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const winograd_choice best = winograd_choose(task, &s);
    optune_config_choose_int(config, space, "tile_h", best.tile_h);
    optune_config_choose_int(config, space, "tile_w", best.tile_w);
    optune_config_choose_int(config, space, "block_rows", best.rows);
    optune_config_choose_int(config, space, "tile_p", best.tile_p);
    optune_config_choose_int(config, space, "tile_co", best.tile_co);
    optune_config_choose_int(config, space, "chunk_co", best.chunk);
    optune_config_choose_int(config, space, "unroll", best.tile_p * best.tile_co > 16 ? 1 : 2);
    const int64_t kept = winograd_sizes_of(task, &s, &best).u * conv2d_elem(&s);
    optune_config_choose_int(config, space, "prefetch", kept > host_l2(task) / 2 ? 128 : 0);
    if (task->call->input[CONV2D_WEIGHT].is_const && kept > MOST_KEPT)
        optune_config_choose_word(config, space, "keep", "taps");
    optune_config_nearest(config, space);
}

static winograd_choice choice_of(const optune_config *config)
{
    return (winograd_choice){.tile_h = optune_config_int(config, "tile_h"),
                             .tile_w = optune_config_int(config, "tile_w"),
                             .rows = optune_config_int(config, "block_rows"),
                             .tile_p = optune_config_int(config, "tile_p"),
                             .tile_co = optune_config_int(config, "tile_co"),
                             .chunk = optune_config_int(config, "chunk_co")};
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const winograd_choice c = choice_of(config);
    const winograd_sizes z = winograd_sizes_of(task, &s, &c);
    const int64_t p = c.tile_p, co = c.tile_co;
    if (c.rows > z.all_rows)
        return optune_refuse(why, "only %ld rows of tiles", (long)z.all_rows);
    if (!winograd_precise(&s, c.tile_h, c.tile_w))
        return optune_refuse(why, "these tiles are too imprecise, or none at all");
    if (p > z.tiles)
        return optune_refuse(why, "only %ld tiles in a block", (long)z.tiles);
    if ((p + 1) * co + 1 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(p * co),
                             conv2d_registers(task));
    if (optune_config_int(config, "unroll") > 1 &&
        optune_config_int(config, "unroll") * p * co > 32)
        return optune_refuse(why, "%ld sums hide their loop without unrolling", (long)(p * co));
    if (!winograd_efficient(task, &s, z.tiles, p, co))
        return optune_refuse(why, "%ldx%ld sums cover %ld tiles badly", (long)p, (long)co,
                             (long)z.tiles);
    if (co > 1 && (co - 1) * z.lanes >= s.co)
        return optune_refuse(why, "only %ld output channels", (long)s.co);
    if (c.chunk > 1 && c.chunk > z.panels)
        return optune_refuse(why, "only %ld panels of output channels", (long)z.panels);
    if (!winograd_fits(&s, &z))
        return optune_refuse(why, "more than 1 GiB of scratch");
    return true;
}

/* The module of loops, which needs no knob; or of transforms, which needs the tile's size alone. */
static int module_apart(optune_plan *plan, const conv2d_shape *s, const optune_config *config,
                        bool transforms)
{
    static const winograd_knob knobs[] = {{"TILE_H", "tile_h"}, {"TILE_W", "tile_w"}};
    const int module = winograd_module(plan, s, config, knobs,
                                       transforms ? sizeof knobs / sizeof knobs[0] : 0);
    if (transforms)
        optune_plan_define(plan, module, "TRANSFORMS", 1);
    optune_plan_define(plan, module, "GEMM_MR", 1);
    optune_plan_define(plan, module, "GEMM_NV", 1);
    return module;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const winograd_choice c = choice_of(config);
    const winograd_sizes z = winograd_sizes_of(task, &s, &c);
    static const winograd_knob knobs[] = {
        {"GEMM_MR", "tile_p"},
        {"GEMM_NV", "tile_co"},
        {"GEMM_KU", "unroll"},
    };
    const int module = winograd_module(plan, &s, config, knobs, sizeof knobs / sizeof knobs[0]);
    const bool taps = strcmp(optune_config_word(config, "keep"), "taps") == 0;
    const winograd_taps kept = winograd_taps_of(task, &s, &z, c.tile_co);
    optune_plan_define(plan, module, "PRODUCTS", 1);
    optune_plan_define(plan, module, "PREFETCH", optune_config_int(config, "prefetch") > 0);
    optune_plan_define(plan, module, "REST", z.tiles % c.tile_p);
    const int loops = module_apart(plan, &s, config, false);
    const winograd_apart apart = {.module = loops,
                                  .transforms = module_apart(plan, &s, config, true),
                                  .split_blocks = z.split_blocks && z.threads > 1,
                                  .rows = c.rows,
                                  .vectors = c.tile_co,
                                  .chunk = c.chunk,
                                  .ahead = optune_config_int(config, "prefetch"),
                                  .points = taps ? kept.part * z.threads : 0,
                                  .depth = taps ? kept.depth : 0};
    winograd_stages(task, plan, module, &s, "winograd",
                    &(winograd_scratch){.weights = taps ? kept.taps : z.u,
                                        .inputs = z.v * (z.split_blocks ? z.threads : 1),
                                        .products = z.m * z.threads,
                                        .bands = z.band * z.threads},
                    &apart);
}

OPTUNE_IMPL(convolution_winograd, winograd) = {
    WINOGRAD_IMPL,
    .name = "conv2d_winograd.cpu",
    .summary = "3x3 of stride 1 or 2, winograd by tiles of up to 7, fused over blocks of tiles",
    /* The largest error of F(4x4,3x3), as a multiple of the bound of plain summation: 0.035
     * with 512 input channels, 0.3 with 8, 1.3 with 8 at corners padded by 2, which sum up one
     * tap. */
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
