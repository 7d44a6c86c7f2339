/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd_rows.cpu: winograd along rows only, for kernels of 3 and more columns, strides
 * of 1 or 2 and plain input: for first layers and wide kernels. With few input channels a
 * kernel's rows join them in one reduction, and the transforms stay cheap. A 7x7 kernel of
 * stride 2 takes 13 products for 4 outputs instead of 28.
 */
#include "kernels/convolution/winograd/winograd_cpu.h"

enum { MOST_POINTS = 9 };
static const int64_t block_rows[] = {2, 4, 8, 14, 16, 28, 32, 56};

typedef struct sizes {
    int64_t points, shared, panels;
    int64_t u, v, m, band; /* elements; v, m and band of one thread */
    int threads;
} sizes;

/* Points, infinity included, of the taps of one residue of the stride. */
static int64_t points_of(const conv2d_shape *s, int64_t tile, int64_t part)
{
    return tile + (s->kw - part + s->sw - 1) / s->sw - 1;
}

static sizes sizes_with(const optune_task *task, const conv2d_shape *s, int64_t tile,
                        int64_t tile_co, int64_t rows)
{
    const int64_t lanes = conv2d_lanes(task, s), nr = tile_co * lanes;
    const int64_t step = tile * s->sw, nq = host_ceil(s->ow, tile);
    const int64_t qp = host_ceil(nq, lanes) * lanes;
    sizes z = {.threads = task->device->threads < 1 ? 1 : task->device->threads};
    z.points = points_of(s, tile, 0);
    z.shared = points_of(s, tile, s->sw - 1);
    z.panels = host_ceil(s->co, nr);
    const int64_t units = z.shared * s->sw + z.points - z.shared;
    z.u = z.panels * units * s->kh * s->ci * nr;
    z.v = units * ((rows - 1) * s->sh + s->kh) * s->ci * qp + z.points * lanes;
    z.m = z.points * (nq * nr + lanes);
    const int64_t phase = qp + host_ceil(s->kw, step) + 1;
    const int64_t split = host_ceil(phase * step, 2 * lanes * step) * 2 * lanes * step;
    z.band = host_max(2 * split, nq * tile * lanes);
    return z;
}

static sizes sizes_of(const optune_task *task, const conv2d_shape *s,
                      const optune_config *config)
{
    return sizes_with(task, s, optune_config_int(config, "tile"),
                      optune_config_int(config, "tile_co"),
                      optune_config_int(config, "block_rows"));
}

static bool scratch_fits(const conv2d_shape *s, const sizes *z, char *why)
{
    const int64_t most = (INT64_C(1) << 28) / conv2d_elem(s);
    return (host_max(z->v, z->m) * z->threads <= most && z->u <= most) ||
           optune_refuse(why, "more than 256 MiB of scratch");
}

static double point(int64_t points, int i)
{
    return points <= 4   ? ROW_POINT_4(i)
           : points == 5 ? ROW_POINT_5(i)
           : points == 6 ? ROW_POINT_6(i)
           : points == 7 ? ROW_POINT_7(i)
                         : ROW_POINT_9(i);
}

/* Whether tiles of so many outputs keep the error bound with so few products. */
static bool precise(const conv2d_shape *s, int64_t tile)
{
    const int64_t points = points_of(s, tile, 0);
    if (points > MOST_POINTS)
        return false;
    double finite[MOST_POINTS];
    for (int i = 0; i < points - 1; i++)
        finite[i] = point(points, i);
    winograd_way along = {.tile = (int)tile};
    for (int64_t part = 0; part < s->sw; part++)
        winograd_points(&along, finite, (int)((s->kw - part + s->sw - 1) / s->sw), (int)points);
    return winograd_keeps_bound(s, NULL, &along, (int)s->sw);
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.kw < 3 || s.kw > 7 || s.sw > 2)
        return optune_refuse(why,
                             "needs a kernel of 3 to 7 columns and a column stride of 1 or 2");
    if (s.dh != 1 || s.dw != 1)
        return optune_refuse(why, "needs dilation 1");
    if (s.groups != 1)
        return optune_refuse(why, "needs groups=1, these are %ld", (long)s.groups);
    if (s.data_block)
        return optune_refuse(why, "needs NCHW input");
    if (host_max(s.pl, s.pr) > s.kw / 2 || host_max(s.pt, s.pb) > s.kh / 2)
        return optune_refuse(why, "needs a padding of at most half the kernel");
    if (!precise(&s, 2) && !precise(&s, 4) && !precise(&s, 6))
        return optune_refuse(why, "%ld products in an output are too few to keep its digits",
                             (long)(s.ci * s.kh * s.kw));
    for (int64_t tile = 2; tile <= 6; tile += 2) {
        const sizes least = sizes_with(task, &s, tile, 1, 2);
        if (precise(&s, tile) && scratch_fits(&s, &least, why))
            return true;
    }
    return false;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    static const int64_t tile[] = {2, 4, 6}, co[] = {1, 2, 3, 4}, unroll[] = {1, 2, 4};
    static const int64_t q[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 28};
    optune_space_ints(space, "tile", 3, tile);
    optune_space_ints(space, "block_rows", sizeof block_rows / sizeof block_rows[0],
                      block_rows);
    optune_space_ints(space, "tile_q", sizeof q / sizeof q[0], q);
    optune_space_ints(space, "tile_co", 4, co);
    optune_space_ints(space, "unroll", 3, unroll);
}

/* Rows that pass until all are done in blocks of so many, those of the kernel that each block
 * transforms anew weighed as a quarter: they are no products. */
static double share(const optune_task *task, const conv2d_shape *s, int64_t rows)
{
    const int64_t blocks = host_ceil(s->n * host_ceil(s->oh, rows), host_threads(task));
    const double beside = (double)(s->kh - 1) / 4;
    const double most = (double)host_min(blocks * rows, s->n * s->oh) + (double)blocks * beside;
    return most + host_wait(task, most, (double)host_min(rows, s->oh) + beside);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t lanes = conv2d_lanes(task, &s);
    int64_t tile = s.ow > 4 * lanes ? 6 : s.ow > 2 * lanes ? 4 : 2;
    while (tile > 2 && !precise(&s, tile))
        tile -= 2;
    const int64_t nq = host_ceil(s.ow, tile);
    const int64_t co = conv2d_registers(task) >= 32 && s.co > lanes ? 2 : 1;
    const int64_t most = (conv2d_registers(task) - 2) / co - 1;
    optune_config_choose_int(config, space, "tile", tile);
    optune_config_choose_int(config, space, "tile_co", co);
    optune_config_choose_int(config, space, "tile_q",
                             host_ceil(nq, host_ceil(nq, most < nq ? most : nq)));
    optune_config_choose_int(config, space, "unroll", 2);
    /* The transformed rows of a block in half of the L2, and the blocks shared evenly. */
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 * 1024;
    int64_t rows = 0;
    for (size_t i = 0; i < sizeof block_rows / sizeof block_rows[0]; i++)
        if (rows == 0 ||
            (sizes_with(task, &s, tile, co, block_rows[i]).v * conv2d_elem(&s) <= l2 / 2 &&
             share(task, &s, block_rows[i]) <= share(task, &s, rows)))
            rows = block_rows[i];
    optune_config_choose_int(config, space, "block_rows", rows);
    optune_config_nearest(config, space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const sizes z = sizes_of(task, &s, config);
    const int64_t q = optune_config_int(config, "tile_q");
    const int64_t co = optune_config_int(config, "tile_co");
    const int64_t tiles = host_ceil(s.ow, optune_config_int(config, "tile"));
    if (!precise(&s, optune_config_int(config, "tile")))
        return optune_refuse(why, "%ld points lose too many digits", (long)z.points);
    if (q > tiles && q > 1)
        return optune_refuse(why, "only %ld tiles in a row", (long)tiles);
    if ((q + 1) * co + 1 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(q * co),
                             conv2d_registers(task));
    if (co > 1 && (co - 1) * conv2d_lanes(task, &s) >= s.co)
        return optune_refuse(why, "only %ld output channels", (long)s.co);
    return scratch_fits(&s, &z, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const sizes z = sizes_of(task, &s, config);
    static const winograd_knob knobs[] = {
        {"TILE", "tile"},       {"ROWS", "block_rows"}, {"GEMM_MR", "tile_q"},
        {"GEMM_NV", "tile_co"}, {"GEMM_KU", "unroll"},
    };
    const int module = winograd_module(plan, &s, config, knobs, sizeof knobs / sizeof knobs[0]);
    winograd_stages(task, plan, module, &s, "winograd_rows",
                    &(winograd_scratch){.weights = z.u,
                                        .inputs = z.v * z.threads,
                                        .products = z.m * z.threads,
                                        .bands = z.band * z.threads},
                    NULL);
}

OPTUNE_IMPL(convolution_winograd, winograd_rows) = {
    WINOGRAD_IMPL,
    .name = "conv2d_winograd_rows.cpu",
    .summary = "winograd along rows of NCHW, kernels of 3 to 7 columns",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
