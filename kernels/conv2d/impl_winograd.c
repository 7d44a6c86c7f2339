/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd.cpu: 3x3 convolutions with fewer multiplications, by tiles of 2 or 4 outputs
 * in each direction on its own: 7 rows of output want tiles of 2, 56 want tiles of 4. Stride 1
 * is F(2,3) or F(4,3); stride 2 splits the inputs into even and odd ones, see the body.
 *
 * It is fused over blocks of tile rows, so that only the transformed weights, which are
 * constant mostly, live outside the caches; see the body.
 */
#include "kernels/conv2d/conv2d.h"

typedef struct sizes {
    int64_t lanes, points, all_rows, cols, tiles, panels, chunks;
    int64_t v, m, u, band; /* elements; v, m and band of one thread */
    int threads;
    bool split_blocks;
} sizes;

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
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
    if (max64(max64(s.pt, s.pb), max64(s.pl, s.pr)) > 2)
        return optune_refuse(why, "needs a padding of at most 2");
    if (s.ci < 8)
        return optune_refuse(why, "needs 8 input channels, these are %ld", (long)s.ci);
    return true;
}

/* Tile rows of a block: fractions of all rows, for either height of tile. */
static int block_rows(const conv2d_shape *s, int64_t value[])
{
    static const int part[] = {1, 2, 3, 4, 7, 14, 28};
    int n = 0;
    for (int64_t tile = 2; tile <= 4; tile += 2)
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
            const int64_t rows = ceil_div(s->n * ceil_div(s->oh, tile), part[i]);
            int at = 0;
            while (at < n && value[at] < rows)
                at++;
            if (at < n && value[at] == rows)
                continue;
            for (int j = n++; j > at; j--)
                value[j] = value[j - 1];
            value[at] = rows;
        }
    return n;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    static const int64_t tile[] = {2, 4}, co[] = {1, 2, 3, 4}, chunk[] = {1, 2, 4, 8},
                         unroll[] = {1, 2, 4}, ahead[] = {0, 16, 64, 128, 256};
    static const int64_t p[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 28};
    int64_t rows[16];
    optune_space_ints(space, "tile_h", 2, tile);
    optune_space_ints(space, "tile_w", 2, tile);
    optune_space_ints(space, "block_rows", block_rows(&s, rows), rows);
    optune_space_ints(space, "tile_p", sizeof p / sizeof p[0], p);
    optune_space_ints(space, "tile_co", 4, co);
    optune_space_ints(space, "chunk_co", 4, chunk);
    optune_space_ints(space, "unroll", 3, unroll);
    optune_space_ints(space, "prefetch", 5, ahead);
}

/* Points of a tile in one direction. */
static int64_t points_of(int64_t tile, int64_t stride)
{
    return stride == 1 ? tile + 2 : 2 * tile + 1;
}

static sizes sizes_of(const optune_task *task, const conv2d_shape *s, int64_t tile_h,
                      int64_t tile_w, int64_t rows, int64_t tile_co, int64_t chunk)
{
    sizes z = {.lanes = conv2d_lanes(task, s), .threads = task->device->threads};
    if (z.threads < 1)
        z.threads = 1;
    z.points = points_of(tile_h, s->sh) * points_of(tile_w, s->sw);
    const int64_t image_rows = ceil_div(s->oh, tile_h);
    z.all_rows = s->n * image_rows;
    z.cols = ceil_div(s->ow, tile_w);
    z.tiles = rows * z.cols;
    z.panels = ceil_div(s->co, tile_co * z.lanes);
    z.chunks = ceil_div(z.panels, chunk);
    z.split_blocks = ceil_div(z.all_rows, rows) >= 2 * z.threads;
    const int64_t v_row = (ceil_div(s->ci, z.lanes) + 1) * z.lanes;
    z.v = z.points * (z.tiles * v_row + z.lanes);
    z.m = chunk * z.points * (z.tiles * tile_co * z.lanes + z.lanes);
    z.u = z.panels * z.points * s->ci * tile_co * z.lanes;
    const int64_t band = min64(rows, image_rows) * tile_h;
    z.band = max64(((band - 1) * s->sh + 3) * s->w, band * s->ow) * z.lanes;
    return z;
}

/* Steps of the products for a tile size. A weight that is used by few tiles costs what it takes
 * to fetch it, about ten steps. */
static int64_t cost(const conv2d_shape *s, int64_t tile_h, int64_t tile_w)
{
    const int64_t tiles = s->n * ceil_div(s->oh, tile_h) * ceil_div(s->ow, tile_w);
    return points_of(tile_h, s->sh) * points_of(tile_w, s->sw) * max64(tiles, 10);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    int64_t tile_h = 4, tile_w = 4;
    for (int64_t h = 2; h <= 4; h += 2)
        for (int64_t w = 2; w <= 4; w += 2)
            if (cost(&s, h, w) < cost(&s, tile_h, tile_w))
                tile_h = h, tile_w = w;
    const int64_t lanes = conv2d_lanes(task, &s);
    const int64_t co = conv2d_registers(task) >= 32 && s.co > lanes ? 2 : 1;

    /* V in a little more than half of the L2, and blocks for every thread. */
    int64_t value[16], rows = 1;
    const int n = block_rows(&s, value);
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 * 1024;
    for (int i = 0; i < n; i++) {
        const sizes z = sizes_of(task, &s, tile_h, tile_w, value[i], co, 1);
        if (value[i] <= z.all_rows && z.v * conv2d_elem(&s) <= l2 * 5 / 8)
            rows = value[i];
    }
    optune_config_choose_int(config, space, "tile_h", tile_h);
    optune_config_choose_int(config, space, "tile_w", tile_w);
    optune_config_choose_int(config, space, "block_rows", rows);
    rows = optune_config_int(config, "block_rows");
    const int64_t tiles = rows * ceil_div(s.ow, tile_w);
    const int64_t most = (conv2d_registers(task) - 2) / co - 1;
    optune_config_choose_int(config, space, "tile_p",
                             ceil_div(tiles, ceil_div(tiles, min64(most, tiles))));
    optune_config_choose_int(config, space, "tile_co", co);
    optune_config_choose_int(config, space, "chunk_co", 1);
    optune_config_choose_int(config, space, "unroll", 2);
    const int64_t u = sizes_of(task, &s, tile_h, tile_w, rows, co, 1).u * conv2d_elem(&s);
    optune_config_choose_int(config, space, "prefetch", u > l2 ? 128 : 0);
}

static sizes sizes_with(const optune_task *task, const conv2d_shape *s,
                        const optune_config *config)
{
    return sizes_of(
        task, s, optune_config_int(config, "tile_h"), optune_config_int(config, "tile_w"),
        optune_config_int(config, "block_rows"), optune_config_int(config, "tile_co"),
        optune_config_int(config, "chunk_co"));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const sizes z = sizes_with(task, &s, config);
    const int64_t p = optune_config_int(config, "tile_p");
    const int64_t co = optune_config_int(config, "tile_co");
    const int64_t chunk = optune_config_int(config, "chunk_co");
    if (optune_config_int(config, "block_rows") > z.all_rows)
        return optune_refuse(why, "only %ld rows of tiles", (long)z.all_rows);
    if (p > z.tiles)
        return optune_refuse(why, "only %ld tiles in a block", (long)z.tiles);
    if ((p + 1) * co + 1 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(p * co),
                             conv2d_registers(task));
    if (co > 1 && (co - 1) * z.lanes >= s.co)
        return optune_refuse(why, "only %ld output channels", (long)s.co);
    if (chunk > 1 && chunk > z.panels)
        return optune_refuse(why, "only %ld panels of output channels", (long)z.panels);
    const int64_t most = (INT64_C(1) << 30) / conv2d_elem(&s);
    if (max64(max64(z.v, z.m), z.band) * z.threads > most || z.u > most)
        return optune_refuse(why, "more than 1 GiB of scratch");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const sizes z = sizes_with(task, &s, config);
    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, &s);
    const struct {
        const char *macro, *knob;
    } table[] = {
        {"TILE_H", "tile_h"},  {"TILE_W", "tile_w"},       {"ROWS", "block_rows"},
        {"GEMM_MR", "tile_p"}, {"GEMM_NV", "tile_co"},     {"CHUNK", "chunk_co"},
        {"GEMM_KU", "unroll"}, {"GEMM_AHEAD", "prefetch"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, module, table[i].macro,
                           optune_config_int(config, table[i].knob));
    optune_plan_define(plan, module, "SPLIT_BLOCKS", z.split_blocks);

    const bool is_const = task->call->input[CONV2D_WEIGHT].is_const;
    const int64_t elem = conv2d_elem(&s);
    const int u = optune_plan_scratch(plan, "weights", z.u * elem, is_const);
    const int v = optune_plan_scratch(plan, "inputs",
                                      z.v * elem * (z.split_blocks ? z.threads : 1), false);
    const int m = optune_plan_scratch(plan, "products", z.m * elem * z.threads, false);
    const int band = optune_plan_scratch(plan, "bands", z.band * elem * z.threads, false);
    optune_plan_stage(plan, &(optune_stage){
                                .phase = conv2d_weight_phase(task->call),
                                .module = module,
                                .function = "transform_weight",
                                .n_args = 2,
                                .arg = {optune_input_arg(CONV2D_WEIGHT), optune_scratch_arg(u)},
                            });
    optune_plan_stage(plan, &(optune_stage){
                                .phase = OPTUNE_TIMED,
                                .module = module,
                                .function = "winograd",
                                .n_args = 6,
                                .arg = {optune_input_arg(CONV2D_DATA), optune_scratch_arg(u),
                                        optune_output_arg(0), optune_scratch_arg(v),
                                        optune_scratch_arg(m), optune_scratch_arg(band)},
                            });
}

OPTUNE_IMPL(conv2d, winograd) = {
    .op = "conv2d",
    .name = "conv2d_winograd.cpu",
    .summary = "3x3 of stride 1 or 2, winograd F(2,3) and F(4,3), fused over blocks of tiles",
    /* The largest error of F(4x4,3x3), as a multiple of the bound of plain summation: 0.035
     * with 512 input channels, 0.3 with 8, 1.3 with 8 at corners padded by 2, which sum up one
     * tap. */
    .error_scale = 4,
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
