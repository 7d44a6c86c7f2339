/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_decode.cuda: a few rows by tensor cores, the weight on their left, each warp with a
 * ring of its own; bfloat16 and float16 from compute capability 8.0 on. The tile is chosen by the
 * estimate.
 */
#include <math.h>

#include "kernels/matmul/gpu/matmul_gpu_mma.h"
#include "kernels/nbits/gpu/nbits_gpu.h"

enum { MAX_ROWS = 32, SIZE = 2 /* bytes of an element of the data */ };

typedef struct decode {
    int64_t nt, warps_n, warps_k, bytes, stages, splits,
        resident; /* bytes: of a row of the weight in a tile; resident: blocks of a multiprocessor,
                     which take tiles of rows in turns, or 0: a block for each */
} decode;

static decode decode_of(const optune_config *config)
{
    return (decode){
        .nt = optune_config_int(config, "tiles_n"),
        .warps_n = optune_config_int(config, "warps_n"),
        .warps_k = optune_config_int(config, "warps_k"),
        .bytes = optune_config_int(config, "block_k_bytes"),
        .stages = optune_config_int(config, "stages"),
        .splits = optune_config_int(config, "splits"),
        .resident = optune_config_int(config, "resident"),
    };
}

static int64_t threads_of(const decode *d)
{
    return 32 * d->warps_n * d->warps_k;
}

static int64_t depth_of(const nbits_shape *s, const decode *d)
{
    return d->bytes * 8 / s->bits;
}

static int64_t part_tiles(const nbits_shape *s, const decode *d)
{
    return host_ceil(host_ceil(s->k, depth_of(s, d)), d->splits);
}

static int64_t tile_groups(const nbits_shape *s, const decode *d)
{
    return s->groups > 1 && s->group < depth_of(s, d) ? depth_of(s, d) / s->group : 1;
}

/* Rows of the weight that a block has. */
static int64_t rows_of(const decode *d)
{
    return 16 * d->nt * d->warps_n;
}

static int64_t tiles_m(const nbits_shape *s)
{
    return host_ceil(s->m, 8);
}

/* Side by side along rows of the weight, and how many turns each has. */
static int64_t blocks_of(const optune_task *task, const nbits_shape *s, const decode *d)
{
    const int64_t tiles = host_ceil(s->n, rows_of(d));
    return d->resident ? host_min(tiles, d->resident * host_max(task->device->cores, 1))
                       : tiles;
}

static int64_t turns_of(const optune_task *task, const nbits_shape *s, const decode *d)
{
    return host_ceil(host_ceil(s->n, rows_of(d)), blocks_of(task, s, d));
}

/* Bytes of a row's parameters, of `bytes` each, that a ring copies at once; 0: they are loaded one
 * tile ahead, as those of tiles that lie within a group. */
static int64_t copy_of(const nbits_shape *s, const decode *d, int64_t bytes)
{
    if (s->groups == 1 || s->group > depth_of(s, d))
        return 0;
    const int64_t here = tile_groups(s, d) * bytes, row = s->groups * bytes;
    for (int64_t copy = 16; copy >= 4; copy /= 2)
        if (here % copy == 0 && row % copy == 0)
            return copy;
    return 0;
}

/* Of them in a tile, in the ring. */
static int64_t ringed(const nbits_shape *s, const decode *d, int64_t bytes)
{
    return copy_of(s, d, bytes) ? tile_groups(s, d) * bytes : 0;
}

/* Columns of a product that a row of the data has, as the body says. */
static int64_t shared_by(const nbits_shape *s, const decode *d)
{
    const int64_t most = s->m == 1 ? 8 : s->m == 2 ? 4 : s->m <= 4 ? 2 : 1;
    return copy_of(s, d, s->scale_bytes) ? host_min(most, tile_groups(s, d)) : 1;
}

/* Whether rows of a tile have no padding: a thread has words side by side, as the body says. */
static bool is_wide(const nbits_shape *s, const decode *d)
{
    const int64_t span = 16 * (32 / s->bits); /* elements of sixteen words */
    const int64_t groups = s->groups > 1 && s->group < span ? span / s->group : 1;
    const int64_t columns = shared_by(s, d);
    return d->bytes % 64 == 0 && columns > 1 && groups <= columns && (!s->zero || groups == 1);
}

/* Of a block, as the body lays it out: the data, zeros, the rings and the sums, or the sums in
 * place of these where the block has but one turn. */
static int64_t shared_of(const optune_task *task, const nbits_shape *s, const decode *d)
{
    const int64_t zeros = shared_by(s, d) > 1 ? depth_of(s, d) * SIZE : 0;
    const int64_t data =
        s->m * (part_tiles(s, d) * depth_of(s, d) + 128 / s->bits) * SIZE + zeros;
    const int64_t params = ringed(s, d, s->scale_bytes) + (s->zero ? ringed(s, d, 1) : 0);
    const int64_t row = d->bytes + (is_wide(s, d) ? 0 : 16) + params;
    const int64_t rings = rows_of(d) * d->warps_k * d->stages * row;
    const int64_t columns = shared_by(s, d) > 1 ? 4 : 8 * tiles_m(s);
    const int64_t sums = d->warps_k * columns * (rows_of(d) + 4) * 4;
    return turns_of(task, s, d) > 1 ? data + rings + sums : host_max(data + rings, sums);
}

/* Parameters of a row that are loaded at once. */
static int64_t at_once(const nbits_shape *s, const decode *d, int64_t bytes)
{
    const int64_t groups = tile_groups(s, d), copy = copy_of(s, d, bytes);
    return copy ? copy / bytes : s->groups % groups == 0 && groups * bytes <= 16 ? groups : 1;
}

/* Sums, those of a group, what a row's scales and the data take, fragments and addresses. */
static int64_t registers_of(const nbits_shape *s, const decode *d)
{
    const int64_t sums = 4 * d->nt * tiles_m(s);
    const int64_t params = 2 * d->nt * host_ceil(tile_groups(s, d) * (2 + s->zero), 2);
    return (s->groups > 1 ? 2 : 1) * sums + 2 * params + 4 * tiles_m(s) + 2 * d->nt + 48;
}

/* Blocks of a multiprocessor where shared memory leaves it one or two, which then have plenty of
 * registers; 0: more, of which the compiler knows better. */
static int64_t few_blocks(const optune_task *task, const nbits_shape *s, const decode *d)
{
    const gpu_work w = {.threads = threads_of(d), .shared = shared_of(task, s, d)};
    const int64_t blocks = gpu_resident(task, &w);
    return blocks <= 2 && blocks * w.threads <= 512 ? blocks : 0;
}

static bool fits(const optune_task *task, const nbits_shape *s, const decode *d, char *why)
{
    const int64_t depth = depth_of(s, d), tiles = host_ceil(s->k, depth);
    const int64_t each = part_tiles(s, d);
    if (rows_of(d) > 16 && rows_of(d) / 2 >= s->n)
        return optune_refuse(why, "half of the block lies outside the output");
    if (d->resident && turns_of(task, s, d) == 1)
        return optune_refuse(why, "there is a block for each tile of rows anyway");
    if (s->groups > 1 && depth % s->group && s->group % depth)
        return optune_refuse(why,
                             "groups of %" PRId64 " and tiles of %" PRId64
                             " elements of depth do not divide each other",
                             s->group, depth);
    if (d->warps_k > 1 && d->warps_k > each)
        return optune_refuse(why, "%" PRId64 " warps share %" PRId64 " tiles of depth",
                             d->warps_k, each);
    if (d->splits > 1 && each * (d->splits - 1) >= tiles)
        return optune_refuse(why,
                             "%" PRId64 " tiles of depth do not divide into %" PRId64 " parts",
                             tiles, d->splits);
    if (d->splits > 1 && !matmul_scratch_fits(d->splits * s->m * s->n * 4, why))
        return false;
    return gpu_fits(task, (const int64_t[]){threads_of(d), 1, 1}, shared_of(task, s, d),
                    registers_of(s, d), why);
}

static bool applies(const optune_task *task, char *why)
{
    if (!gpu_is_cuda(task, 80, why) || !nbits_gpu_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    if (task->call->output[0].dtype.bits != 16)
        return optune_refuse(why, "needs float16 or bfloat16");
    if (s.zero_real)
        return optune_refuse(why, "needs zero points that are integers");
    if (s.groups > 1 && s.group % (128 / s.bits))
        return optune_refuse(why,
                             "needs groups of a multiple of %" PRId64 ", these are of %" PRId64,
                             128 / s.bits, s.group);
    if (s.m > MAX_ROWS)
        return optune_refuse(why, "more than %d rows", MAX_ROWS);
    const decode least = {
        .nt = 1, .warps_n = 1, .warps_k = 1, .bytes = 32, .stages = 2, .splits = 16};
    return gpu_fits(task, (const int64_t[]){threads_of(&least), 1, 1},
                    shared_of(task, &s, &least), 0, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "tiles_n", 3, (const int64_t[]){1, 2, 4});
    optune_space_ints(space, "warps_n", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "warps_k", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "block_k_bytes", 3, (const int64_t[]){32, 64, 128});
    optune_space_ints(space, "stages", 4, (const int64_t[]){2, 3, 4, 6});
    optune_space_ints(space, "splits", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "resident", 4, (const int64_t[]){0, 1, 2, 4});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const decode d = decode_of(config);
    return fits(task, &s, &d, why);
}

/* Instructions for a word of the weight: what loads it and makes floats of its integers. */
static double word_cost(const optune_task *task, const nbits_shape *s)
{
    const bool brain = task->call->output[0].dtype.code == OPTUNE_DTYPE_BFLOAT;
    if (s->bits == 8)
        return brain ? 12 : 7;
    return brain ? 12 + 4 * (double)s->zero : 10;
}

static double cost(const optune_task *task, const nbits_shape *s, const decode *d)
{
    const int64_t threads = threads_of(d), mt = tiles_m(s), depth = depth_of(s, d);
    const int64_t each = part_tiles(s, d), groups = tile_groups(s, d);
    const double turns = (double)turns_of(task, s, d);
    const double tiles = turns * (double)host_ceil(each, d->warps_k); /* of a warp */
    const double units = (double)d->bytes / 16, nt = (double)d->nt;
    const double products = units * nt * (double)(mt * 8 / s->bits); /* of a tile */
    const double rows = turns * (double)rows_of(d);                  /* of a block */
    const double weight = rows * (double)(each * d->bytes);
    const double data = (double)(s->m * each * depth * SIZE);
    const double tile =
        units * (2 * nt * word_cost(task, s) + 1.5 * (double)mt) + products +
        (double)groups * 2 * nt *
            ((double)(2 * mt + 3) / (double)shared_by(s, d) + 3 * (double)s->zero) +
        3 * nt * (double)d->bytes / 32 + 24;
    const gpu_work w = {
        .blocks = blocks_of(task, s, d) * d->splits,
        .threads = threads,
        .registers = registers_of(s, d),
        .shared = shared_of(task, s, d),
        .instructions = tiles * tile + 8 * data / (double)(16 * threads) +
                        (double)(8 * mt) * rows * 3 / (double)threads * (double)d->warps_k + 80,
        .bytes = weight *
                 (1 + (double)(task->call->input[NBITS_SCALE].type.dtype.bits + 8 * s->zero) /
                          (double)(s->bits * host_max(s->group, 1))),
        .cached = weight + data + (double)(s->m * (d->splits > 1 ? 4 : SIZE)) * rows,
        /* A ring that holds all of a warp's depth waits once. */
        .waits = 2 + gpu_exposed(tiles, d->stages - 1, 2 * tile),
        .barriers = 1 + 2 * turns,
        .pipe = (double)(threads / 32) * tiles * products * 2,
    };
    return gpu_cost(task, &w) + nbits_gpu_finish_cost(task, s, d->splits);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const decode d = decode_of(config);
    return cost(task, &s, &d);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    static const struct {
        int64_t nt, warps_n, warps_k;
    } shapes[] = {
        {1, 2, 8}, {1, 1, 8}, {2, 1, 8}, {1, 2, 4}, {2, 2, 4}, /* eight warps and more */
        {2, 4, 2}, {2, 4, 1}, {2, 2, 2}, {1, 1, 4}, {2, 1, 4}, {1, 1, 1}};
    const nbits_shape s = nbits_shape_of(task->call);
    decode best = {1, 1, 1, 32, 2, 1, 0};
    double least = INFINITY;
    static const int64_t resident[] = {0, 1, 4};
    enum { SHAPES = sizeof shapes / sizeof shapes[0], MANY = 5 };
    enum { STAGES = 3, SPLITS = 5, RESIDENT = 3, EACH = STAGES * SPLITS * RESIDENT };
    /* Whole lines of memory and many warps where they fit: an H200 takes 6 % longer by halves of a
     * line, and has too little to do between two waits with four warps. */
    for (int64_t bytes = 128; bytes >= 32 && isinf(least); bytes /= 2)
        for (int at = 0; at < SHAPES * EACH && (at < MANY * EACH || isinf(least)); at++) {
            const int shape = at / EACH;
            const decode d = {shapes[shape].nt,
                              shapes[shape].warps_n,
                              shapes[shape].warps_k,
                              bytes,
                              4 - at / RESIDENT / SPLITS % STAGES,
                              1 << at / RESIDENT % SPLITS,
                              resident[at % RESIDENT]};
            const double here = fits(task, &s, &d, NULL) ? cost(task, &s, &d) : INFINITY;
            if (here < least) {
                least = here;
                best = d;
            }
        }
    optune_config_choose_int(config, space, "tiles_n", best.nt);
    optune_config_choose_int(config, space, "warps_n", best.warps_n);
    optune_config_choose_int(config, space, "warps_k", best.warps_k);
    optune_config_choose_int(config, space, "block_k_bytes", best.bytes);
    optune_config_choose_int(config, space, "stages", best.stages);
    optune_config_choose_int(config, space, "splits", best.splits);
    optune_config_choose_int(config, space, "resident", best.resident);
}

static int module_of(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     const decode *d)
{
    const bool brain = task->call->output[0].dtype.code == OPTUNE_DTYPE_BFLOAT;
    const int m = nbits_gpu_module(task, plan, s);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"NT", d->nt},
        {"MT", tiles_m(s)},
        {"WARPS_N", d->warps_n},
        {"WARPS_K", d->warps_k},
        {"DEPTH", depth_of(s, d)},
        {"STAGES", d->stages},
        {"SPLITS", d->splits},
        {"BLOCKS", blocks_of(task, s, d)},
        {"ROW_COPY", nbits_gpu_copy(s->row_bytes)},
        {"SCALE_V", at_once(s, d, s->scale_bytes)},
        {"SCALE_COPY", copy_of(s, d, s->scale_bytes)},
        {"SCALE_BYTES", s->scale_bytes},
        {"ZERO_V", at_once(s, d, 1)},
        {"ZERO_COPY", copy_of(s, d, 1)},
        {"BRAIN", brain},
        {"POOL_BYTES", shared_of(task, s, d)},
        {"RESIDENT", few_blocks(task, s, d)},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    matmul_gpu_mma_types(task->call, plan, m);
    return m;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const decode d = decode_of(config);
    const int m = module_of(task, plan, &s, &d);
    nbits_gpu_split(task, plan, &s, d.splits,
                    (optune_stage){.module = m,
                                   .grid = {blocks_of(task, &s, &d), 1, d.splits},
                                   .block = {threads_of(&d), 1, 1},
                                   .shared = shared_of(task, &s, &d)});
}

OPTUNE_IMPL(nbits_gpu, decode) = {
    .op = "dense_nbits",
    .name = "dense_nbits_decode.cuda",
    .summary = "a few rows by tensor cores, each warp with a ring of the weight of its own",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
    .estimate = estimate,
};
