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
#include <math.h>
#include <string.h>

#include "kernels/convolution/winograd/winograd_cpu.h"

typedef struct sizes {
    int64_t lanes, points, all_rows, cols, tiles, panels, chunks;
    int64_t v, m, u, band;     /* elements; v, m and band of one thread */
    int64_t taps, depth, part; /* taps, input channels of them at a time, their points */
    int threads;
    bool split_blocks;
} sizes;

enum { TILES = 4, MOST_ROWS = 32, MOST_P = 28 };
/* Bytes of points that a call keeps untuned, where the weight is constant: of larger ones, which
 * are up to nine times as many as weights, a model would hold more than it may have memory for. */
enum { MOST_KEPT = 64 << 20 };
static const int64_t tile_sizes[TILES] = {1, 2, 4, 7};

/* Tile rows of a block: fractions of all rows, for every height of tile. */
static int block_rows(const conv2d_shape *s, int64_t value[])
{
    static const int part[] = {1, 2, 3, 4, 7, 14, 28};
    int n = 0;
    for (int t = 0; t < TILES; t++)
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
            const int64_t rows = host_ceil(s->n * host_ceil(s->oh, tile_sizes[t]), part[i]);
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
    static const int64_t co[] = {1, 2, 3, 4}, chunk[] = {1, 2, 4, 8}, unroll[] = {1, 2},
                         ahead[] = {0, 64, 128, 256};
    int64_t p[MOST_P];
    for (int i = 0; i < MOST_P; i++)
        p[i] = i + 1;
    int64_t rows[MOST_ROWS];
    optune_space_ints(space, "tile_h", TILES, tile_sizes);
    optune_space_ints(space, "tile_w", TILES, tile_sizes);
    optune_space_ints(space, "block_rows", block_rows(&s, rows), rows);
    optune_space_ints(space, "tile_p", MOST_P, p);
    optune_space_ints(space, "tile_co", 4, co);
    optune_space_ints(space, "chunk_co", 4, chunk);
    optune_space_ints(space, "unroll", 2, unroll);
    optune_space_ints(space, "prefetch", 4, ahead);
    optune_space_words(space, "keep", task->call->input[CONV2D_WEIGHT].is_const ? 2 : 1,
                       (const char *const[]){"points", "taps"});
}

/* Points of a tile in one direction. */
static int64_t points_of(int64_t tile, int64_t stride)
{
    return stride == 1 ? tile + 2 : 2 * tile + 1;
}

/* And of its weights: odd inputs of stride 2 share one. */
static int64_t weights_of(int64_t tile)
{
    return tile + 2;
}

static int64_t l2_of(const optune_task *task)
{
    return task->device->l2 > 0 ? task->device->l2 : 256 * 1024;
}

static sizes sizes_of(const optune_task *task, const conv2d_shape *s, int64_t tile_h,
                      int64_t tile_w, int64_t rows, int64_t tile_co, int64_t chunk)
{
    sizes z = {.lanes = conv2d_lanes(task, s), .threads = task->device->threads};
    if (z.threads < 1)
        z.threads = 1;
    z.points = points_of(tile_h, s->sh) * points_of(tile_w, s->sw);
    const int64_t image_rows = host_ceil(s->oh, tile_h);
    z.all_rows = s->n * image_rows;
    z.cols = host_ceil(s->ow, tile_w);
    z.tiles = rows * z.cols;
    z.panels = host_ceil(s->co, tile_co * z.lanes);
    z.chunks = host_ceil(z.panels, chunk);
    z.split_blocks = host_ceil(z.all_rows, rows) >= 2 * z.threads;
    const int64_t v_row = (host_ceil(s->ci, z.lanes) + 1) * z.lanes;
    z.v = z.points * (z.tiles * v_row + z.lanes);
    z.m = chunk * z.points * (z.tiles * tile_co * z.lanes + z.lanes);
    const int64_t u_points = weights_of(tile_h) * weights_of(tile_w), nr = tile_co * z.lanes;
    z.u = z.panels * u_points * s->ci * nr;
    const int64_t band = host_min(rows, image_rows) * tile_h;
    z.band = host_max(((band - 1) * s->sh + 3) * s->w, band * s->ow) * z.lanes +
             s->w * host_max(z.lanes, s->data_block);
    /* Points of taps in half of the L2; what is summed up is read again for each few channels. */
    const int64_t l2 = l2_of(task);
    z.depth = host_min(s->ci, host_max(32, l2 / 2 / (u_points * nr * conv2d_elem(s)) / 8 * 8));
    z.taps = z.panels * 9 * s->ci * nr;
    z.part = u_points * (z.depth * nr + z.lanes);
    return z;
}

static bool keeps_taps(const optune_config *config)
{
    return strcmp(optune_config_word(config, "keep"), "taps") == 0;
}

/* Tiles of 7 lose digits, the more the fewer products hide them; two tiles of 1 save nothing. */
static bool precise(const conv2d_shape *s, int64_t tile_h, int64_t tile_w)
{
    return (tile_h > 1 || tile_w > 1) && winograd_three_precise(s, tile_h, tile_w);
}

/* Whether its scratch is bearable. */
static bool fits(const conv2d_shape *s, const sizes *z)
{
    const int64_t most = (INT64_C(1) << 30) / conv2d_elem(s);
    return host_max(host_max(z->v, z->m), z->band) * z->threads <= most && z->u <= most;
}

/* Whether a core's other thread has work, too. */
typedef enum core_use { ALONE, SHARED } core_use;

static double larger(double a, double b) /* and no call of fmax in the innermost loop */
{
    return a > b ? a : b;
}

/* Estimated cycles of two steps of a register tile: two multiply-adds and two loads a cycle, sums
 * that are ready after four cycles. Of a core that is shared a thread issues three operations a
 * cycle: a product, a load of weights, the prefetching behind it, and a broadcast, which is part of
 * the product where a 512-bit register meets no other of its step. */
static double two_steps(int64_t vec_bytes, int64_t p, int64_t co, core_use use)
{
    const double sums = (double)(p * co), loads = (double)(p + co);
    const double broadcasts = co == 1 && vec_bytes == 64 ? 0 : (double)p;
    const double issued = sums + broadcasts + (double)(2 * co + 3);
    return larger(larger(larger(sums, loads), 8), use == SHARED ? issued / 1.5 : 0) + 1;
}

/* The same over all tiles of a block and all channels, with a little for every tile. */
static double steps(const optune_task *task, const conv2d_shape *s, int64_t tiles, int64_t p,
                    int64_t co, core_use use)
{
    const int64_t lanes = conv2d_lanes(task, s), bytes = lanes * conv2d_elem(s);
    const int64_t rest = tiles % p;
    const double last = rest ? two_steps(bytes, rest, co, use) : 0;
    return (double)host_ceil(s->co, co * lanes) *
           ((double)(tiles / p) * two_steps(bytes, p, co, use) + last);
}

/* The register tile that covers `tiles` best; two vectors of channels where that is as good. */
static void best_tile(const optune_task *task, const conv2d_shape *s, int64_t tiles, int64_t *p,
                      int64_t *co, core_use use)
{
    static const int64_t order[] = {2, 1, 3, 4};
    const int64_t lanes = conv2d_lanes(task, s);
    double least = INFINITY;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const int64_t v = order[i];
        const int64_t most =
            host_min((conv2d_registers(task) - 1) / v - 1, host_min(tiles, MOST_P));
        double mine = INFINITY;
        int64_t best = 1;
        for (int64_t q = 1; q <= most && (v - 1) * lanes < s->co; q++) {
            const double cycles = steps(task, s, tiles, q, v, use);
            if (cycles < mine) {
                mine = cycles;
                best = q;
            }
        }
        if (mine < 0.97 * least) {
            least = mine;
            *p = best;
            *co = v;
        }
    }
}

/* Whether a register tile comes near that. */
static bool efficient(const optune_task *task, const conv2d_shape *s, int64_t tiles, int64_t p,
                      int64_t co)
{
    int64_t best_p = 1, best_co = 1;
    best_tile(task, s, tiles, &best_p, &best_co, ALONE);
    return steps(task, s, tiles, p, co, ALONE) * 4 <=
           steps(task, s, tiles, best_p, best_co, ALONE) * 5;
}

/* By any tile, over the smallest blocks that there are: the first one, nearly always. */
static bool any_fits(const optune_task *task, const conv2d_shape *s)
{
    int64_t rows[MOST_ROWS], p = 1, co = 1;
    const int n = block_rows(s, rows);
    for (int i = 0; i < n * TILES * TILES; i++) {
        const int64_t h = tile_sizes[i % TILES], w = tile_sizes[i / TILES % TILES];
        const int64_t block = rows[i / (TILES * TILES)];
        best_tile(task, s, block * host_ceil(s->ow, w), &p, &co, ALONE);
        const sizes z = sizes_of(task, s, h, w, block, co, 1);
        if (block <= z.all_rows && fits(s, &z) && precise(s, h, w))
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
    if (!winograd_three_precise(&s, 1, 2) && !winograd_three_precise(&s, 2, 1))
        return optune_refuse(why, "sums of so few products are too imprecise by any tile");
    return any_fits(task, &s) || optune_refuse(why, "needs more than 1 GiB of scratch");
}

/* One choice of the knobs that decide how much is computed and moved. */
typedef struct choice {
    int64_t tile_h, tile_w, rows, tile_p, tile_co, chunk;
} choice;

/* Bytes that a core reads of the cache behind its L2 in a cycle: of one that many cores share over
 * a mesh, as those of hundreds of MiB are, few. */
static double far_bytes(const optune_task *task)
{
    return task->device->l3 > INT64_C(64) << 20 ? 6 : 16;
}

/* How much of that many bytes, read over and over, the L2 misses: nothing while they fit. */
static double missed(double bytes, int64_t l2)
{
    return fmin(1, fmax(0, bytes / (double)l2 - 0.9));
}

/* Estimated cycles, weights kept as points: the products, about two cycles for a vector transformed
 * either way, and what the L2 cannot keep: weights pass by once for every block, inputs once for
 * every chunk. A few times the L2 is a core's share of the next cache; what is larger comes from
 * memory. Weights are prefetched: half of them hides behind products, but no more than these
 * take. */
static double cost(const optune_task *task, const conv2d_shape *s, const choice *c)
{
    const sizes z = sizes_of(task, s, c->tile_h, c->tile_w, c->rows, c->tile_co, c->chunk);
    const int64_t l2 = l2_of(task), elem = conv2d_elem(s),
                  blocks = host_ceil(z.all_rows, c->rows);
    const double step = steps(task, s, z.tiles, c->tile_p, c->tile_co, SHARED) / 2;
    const double products = (double)(blocks * z.points * (s->ci + 6)) * step;
    const double vectors = (double)(z.all_rows * z.cols * z.points) *
                           (double)(host_ceil(s->ci, z.lanes) + z.panels * c->tile_co);
    const double all = (double)((z.u + z.v + z.m) * elem);
    const double slow = (z.v + z.m) * elem > 4 * l2 ? 4 : 1;
    double far = 0;
    if ((z.v + z.m) * elem > (all > (double)l2 ? l2 / 2 : l2 * 3 / 4))
        far += (double)(z.v * (z.chunks + 1) * blocks) * slow;
    if (z.m * elem > l2 / 2)
        far += (double)(z.m * z.chunks * 2 * blocks) * slow;
    const double each = (double)elem / far_bytes(task);
    double weights = (double)(z.u * blocks) * each * missed(all, l2);
    if (z.u * elem > 12 * l2)
        weights *= 1.5;
    weights = larger(weights / 2, weights - products);
    /* Threads share blocks, or the chunks of each. */
    const int64_t parts = z.split_blocks ? blocks : z.chunks;
    const double rounds = (double)(host_ceil(parts, z.threads) * z.threads) / (double)parts;
    return (products + 2 * vectors + far * each / 2 + weights) * rounds;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t lanes = conv2d_lanes(task, &s);
    int64_t rows[MOST_ROWS];
    const int n = block_rows(&s, rows);
    enum { EACH = TILES * 2 }; /* tile_h, and chunks of one panel and of four */
    int64_t tile_p[MOST_ROWS * TILES], tile_co[MOST_ROWS * TILES];
    double cycles[MOST_ROWS * TILES][EACH];
    for (int i = 0; i < n * TILES; i++) {
        choice c = {.tile_w = tile_sizes[i % TILES], .rows = rows[i / TILES]};
        c.tile_p = c.tile_co = 1;
        best_tile(task, &s, c.rows * host_ceil(s.ow, c.tile_w), &c.tile_p, &c.tile_co, SHARED);
        tile_p[i] = c.tile_p;
        tile_co[i] = c.tile_co;
        for (int k = 0; k < EACH; k++) {
            c.tile_h = tile_sizes[k / 2];
            c.chunk = k % 2 ? 4 : 1;
            cycles[i][k] = INFINITY;
            if (c.rows > s.n * host_ceil(s.oh, c.tile_h) ||
                (c.chunk > 1 && c.chunk > host_ceil(s.co, c.tile_co * lanes)))
                continue;
            const sizes z = sizes_of(task, &s, c.tile_h, c.tile_w, c.rows, c.tile_co, c.chunk);
            if (fits(&s, &z))
                cycles[i][k] = cost(task, &s, &c);
        }
    }
    choice best = {0};
    bool bad[TILES][TILES] = {0}; /* to know costs more than all else: the best are asked */
    for (int tile_h = -1, tile_w = 0; tile_h != TILES;) {
        double least = INFINITY;
        tile_h = TILES;
        for (int i = 0; i < n * TILES * EACH; i++) {
            const int at = i / EACH, k = i % EACH;
            if (cycles[at][k] < least && !bad[k / 2][at % TILES]) {
                least = cycles[at][k];
                tile_h = k / 2;
                tile_w = at % TILES;
                best = (choice){.tile_h = tile_sizes[tile_h],
                                .tile_w = tile_sizes[tile_w],
                                .rows = rows[at / TILES],
                                .tile_p = tile_p[at],
                                .tile_co = tile_co[at],
                                .chunk = k % 2 ? 4 : 1};
            }
        }
        if (tile_h == TILES || precise(&s, best.tile_h, best.tile_w))
            break;
        bad[tile_h][tile_w] = true;
    }
    optune_config_choose_int(config, space, "tile_h", best.tile_h);
    optune_config_choose_int(config, space, "tile_w", best.tile_w);
    optune_config_choose_int(config, space, "block_rows", best.rows);
    optune_config_choose_int(config, space, "tile_p", best.tile_p);
    optune_config_choose_int(config, space, "tile_co", best.tile_co);
    optune_config_choose_int(config, space, "chunk_co", best.chunk);
    optune_config_choose_int(config, space, "unroll", best.tile_p * best.tile_co > 16 ? 1 : 2);
    const sizes z =
        sizes_of(task, &s, best.tile_h, best.tile_w, best.rows, best.tile_co, best.chunk);
    const int64_t kept = z.u * conv2d_elem(&s);
    optune_config_choose_int(config, space, "prefetch", kept > l2_of(task) / 2 ? 128 : 0);
    if (task->call->input[CONV2D_WEIGHT].is_const && kept > MOST_KEPT)
        optune_config_choose_word(config, space, "keep", "taps");
    optune_config_nearest(config, space);
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
    if (!precise(&s, optune_config_int(config, "tile_h"), optune_config_int(config, "tile_w")))
        return optune_refuse(why, "these tiles are too imprecise, or none at all");
    if (p > z.tiles)
        return optune_refuse(why, "only %ld tiles in a block", (long)z.tiles);
    if ((p + 1) * co + 1 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(p * co),
                             conv2d_registers(task));
    if (optune_config_int(config, "unroll") > 1 &&
        optune_config_int(config, "unroll") * p * co > 32)
        return optune_refuse(why, "%ld sums hide their loop without unrolling", (long)(p * co));
    if (!efficient(task, &s, z.tiles, p, co))
        return optune_refuse(why, "%ldx%ld sums cover %ld tiles badly", (long)p, (long)co,
                             (long)z.tiles);
    if (co > 1 && (co - 1) * z.lanes >= s.co)
        return optune_refuse(why, "only %ld output channels", (long)s.co);
    if (chunk > 1 && chunk > z.panels)
        return optune_refuse(why, "only %ld panels of output channels", (long)z.panels);
    if (!fits(&s, &z))
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
    const sizes z = sizes_with(task, &s, config);
    static const winograd_knob knobs[] = {
        {"GEMM_MR", "tile_p"},
        {"GEMM_NV", "tile_co"},
        {"GEMM_KU", "unroll"},
    };
    const int module = winograd_module(plan, &s, config, knobs, sizeof knobs / sizeof knobs[0]);
    const bool taps = keeps_taps(config);
    optune_plan_define(plan, module, "PRODUCTS", 1);
    optune_plan_define(plan, module, "PREFETCH", optune_config_int(config, "prefetch") > 0);
    optune_plan_define(plan, module, "REST", z.tiles % optune_config_int(config, "tile_p"));
    const int loops = module_apart(plan, &s, config, false);
    const winograd_apart apart = {.module = loops,
                                  .transforms = module_apart(plan, &s, config, true),
                                  .split_blocks = z.split_blocks && z.threads > 1,
                                  .rows = optune_config_int(config, "block_rows"),
                                  .vectors = optune_config_int(config, "tile_co"),
                                  .chunk = optune_config_int(config, "chunk_co"),
                                  .ahead = optune_config_int(config, "prefetch"),
                                  .points = taps ? z.part * z.threads : 0,
                                  .depth = taps ? z.depth : 0};
    winograd_stages(task, plan, module, &s, "winograd",
                    &(winograd_scratch){.weights = taps ? z.taps : z.u,
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
