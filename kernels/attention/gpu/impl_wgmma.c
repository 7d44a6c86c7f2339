/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_wgmma.cuda: products of warpgroups fed by the copy engine, one's softmax while the
 * other multiplies. For 16-bit floats on devices of compute capability 9.0.
 *
 * With `turns` warpgroups issue products in turn; with `persistent` there are as many blocks as
 * multiprocessors, and each goes on to other rows; `heads_at_once` are those whose blocks come
 * together.
 */
#include "kernels/attention/gpu/attention_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"

enum {
    CORES = 132,  /* where a device does not tell: those of most of them */
    ROWS = 64,    /* of a warpgroup */
    SLACK = 1024, /* WARPGROUP_SLACK of kernels/common/wgmma_gpu.kernel.h */
};

typedef struct wgmma {
    int64_t consumers, keys, stages, band;
    bool turns, persistent;
} wgmma;

static wgmma wgmma_of(const optune_config *config)
{
    return (wgmma){.consumers = optune_config_int(config, "consumers"),
                   .keys = optune_config_int(config, "block_k"),
                   .stages = optune_config_int(config, "stages"),
                   .band = optune_config_int(config, "heads_at_once"),
                   .turns = optune_config_int(config, "turns"),
                   .persistent = optune_config_int(config, "persistent")};
}

static bool applies(const optune_task *task, char *why)
{
    attention_shape s;
    if (!gpu_has_warpgroups(task, why) || !attention_gpu_applies(task, &s, why))
        return false;
    if (task->call->input[ATTENTION_Q].type.dtype.bits != 16)
        return optune_refuse(why, "needs float16 or bfloat16");
    if (s.d % 8 || s.dv % 8)
        return optune_refuse(why, "copies 16 bytes at once: heads are multiples of 8 wide");
    if (s.heads * s.rows > INT32_MAX / 2)
        return optune_refuse(why, "too many rows");
    return (s.d <= 256 && s.dv <= 256) || optune_refuse(why, "heads are wider than 256");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "consumers", 3, (const int64_t[]){1, 2, 3});
    optune_space_ints(space, "block_k", 4, (const int64_t[]){64, 128, 192, 256});
    optune_space_ints(space, "stages", 3, (const int64_t[]){2, 3, 4});
    optune_space_ints(space, "turns", 2, (const int64_t[]){0, 1});
    optune_space_ints(space, "heads_at_once", 4, (const int64_t[]){1, 4, 16, 64});
    optune_space_ints(space, "persistent", 2, (const int64_t[]){0, 1});
}

/* ---- limits ------------------------------------------------------------------------------ */

static int64_t cores_of(const optune_task *task)
{
    return task->device->cores > 0 ? task->device->cores : CORES;
}

static int64_t tiles_of(const attention_shape *s, const wgmma *c)
{
    return host_ceil(s->rows, ROWS * c->consumers) * s->heads;
}

static int64_t blocks_of(const optune_task *task, const attention_shape *s, const wgmma *c)
{
    return c->persistent ? host_min(tiles_of(s, c), cores_of(task)) : tiles_of(s, c);
}

static int64_t padded(int64_t n)
{
    return host_ceil(n, 64) * 64;
}

static int64_t pool(const attention_shape *s, const wgmma *c)
{
    return SLACK + 2 * padded(s->d) * ROWS * c->consumers +
           c->stages * 2 * c->keys * (padded(s->d) + padded(s->dv)) +
           8 * (2 + 4 * c->stages + c->consumers);
}

/* Sums of both products, weights, what rows keep and addresses; a mask that rows do not share is
 * on its way beside them. */
static int64_t registers(const attention_shape *s, const wgmma *c)
{
    const bool each = s->has_mask && (s->mask_stride[1] || s->mask_stride[2]);
    return padded(s->dv) / 2 + c->keys / 2 + c->keys / 4 + (each ? 72 : 32);
}

/* Of a thread that computes, beside a warpgroup that copies: the body asks for as many. */
static int64_t most_registers(const wgmma *c)
{
    return c->consumers == 3 ? 160 : c->consumers == 2 ? 240 : 255;
}

static bool fits(const optune_task *task, const attention_shape *s, const wgmma *c, char *why)
{
    const int64_t block[3] = {128 * (c->consumers + 1), 1, 1};
    if (c->consumers > 1 && ROWS * (c->consumers - 1) >= s->rows)
        return optune_refuse(why, "a warpgroup of the block has no queries");
    if (c->keys > 64 && c->keys - 64 >= s->skv)
        return optune_refuse(why, "a large part of the tile has no keys");
    if (c->stages > 2 && !c->persistent && (c->stages - 1) * c->keys >= s->skv)
        return optune_refuse(why, "more stages than tiles of keys");
    if (c->turns && c->consumers == 1)
        return optune_refuse(why, "one warpgroup has nobody to take turns with");
    if (c->band > 1 && c->band / 4 >= s->heads)
        return optune_refuse(why, "fewer heads than are to come together");
    if (c->persistent && tiles_of(s, c) <= cores_of(task))
        return optune_refuse(why, "no block would have a second tile");
    if (registers(s, c) > most_registers(c))
        return optune_refuse(why, "%" PRId64 " registers a thread, at most %" PRId64,
                             registers(s, c), most_registers(c));
    return gpu_fits(task, block, pool(s, c), 128, why);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const wgmma c = wgmma_of(config);
    return fits(task, &s, &c, why);
}

/* ---- defaults ---------------------------------------------------------------------------- */

/* What all rows of a wave of blocks take, over waves. */
static int64_t waves_of(const optune_task *task, const attention_shape *s, wgmma c,
                        int64_t consumers)
{
    c.consumers = consumers;
    return host_ceil(tiles_of(s, &c), cores_of(task)) * consumers;
}

/* There and back evens out what comes in one order. Of causal rows each band of heads begins anew
 * with its longest, and a core may meet the long ones of several: then blocks are better handed out
 * as cores become free. (On an H200, 64 heads of 4096 keys: 432 to 619 us by bands.) */
static bool evens_out(const attention_shape *s, const wgmma *c)
{
    return !s->causal || c->band >= s->heads;
}

/* As many rows as there are warpgroups for, less where waves of blocks or cores would be left
 * partly empty; heads together whose keys fit the cache. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    enum { CACHE = 24 << 20 };
    attention_shape s;
    attention_shape_of(task->call, &s);
    const int64_t head = 2 * s.skv * (s.d + s.dv);
    wgmma c = {.consumers = 3, .keys = 128, .stages = 2, .band = 64};
    if (s.skv <= 64)
        c.keys = 64;
    if (registers(&s, &c) > most_registers(&c) ||
        waves_of(task, &s, c, 2) < waves_of(task, &s, c, 3))
        c.consumers = 2;
    while (c.keys > 64 &&
           (registers(&s, &c) > most_registers(&c) || pool(&s, &c) > gpu_max_shared(task)))
        c.keys -= 64;
    while (c.consumers > 1 &&
           (registers(&s, &c) > most_registers(&c) || ROWS * (c.consumers - 1) >= s.rows ||
            tiles_of(&s, &c) < cores_of(task)))
        c.consumers--;
    while (c.band > 1 && (c.band / 4 >= s.heads || c.band * head > CACHE))
        c.band /= 4;
    c.turns = c.consumers > 1;
    c.persistent = tiles_of(&s, &c) > cores_of(task) && evens_out(&s, &c);
    while (c.stages < 4) {
        c.stages++;
        if (!fits(task, &s, &c, NULL)) {
            c.stages--;
            break;
        }
    }
    optune_config_choose_int(config, space, "consumers", c.consumers);
    optune_config_choose_int(config, space, "block_k", c.keys);
    optune_config_choose_int(config, space, "stages", c.stages);
    optune_config_choose_int(config, space, "turns", c.turns);
    optune_config_choose_int(config, space, "heads_at_once", c.band);
    optune_config_choose_int(config, space, "persistent", c.persistent);
    optune_config_nearest(config, space);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    enum { PRODUCTS = 2048, SOFTMAX = 5, EXPONENTIAL = 8 }; /* a cycle; instructions; cycles */
    attention_shape s;
    attention_shape_of(task->call, &s);
    const wgmma c = wgmma_of(config);
    const int64_t rows = ROWS * c.consumers;
    const double steps = attention_gpu_tiles(&s, rows, c.keys);
    const double line = (double)(2 * c.keys * (padded(s.d) + padded(s.dv)));
    const double products =
        (double)(rows * c.keys * (host_ceil(s.d, 16) * 16 + padded(s.dv))) / PRODUCTS;
    const double scores = (double)(ROWS * c.keys) / 128; /* of a thread */
    const double weights = (SOFTMAX + EXPONENTIAL) * scores;
    /* Who does not take turns has both at once only by chance. */
    const double alone = c.consumers == 1 ? 0.7 : c.turns ? 0.1 : 0.3;
    const double longest =
        c.persistent && !evens_out(&s, &c) ? 1.4 : 1; /* of a core, over mean */
    const gpu_work w = {
        .blocks = tiles_of(&s, &c),
        .threads = 128 * (c.consumers + 1),
        .registers = 65536 / (128 * (c.consumers + 1)) / 8 * 8,
        .shared = pool(&s, &c),
        .instructions = steps * (SOFTMAX * scores + (double)padded(s.dv) / 2 + 60),
        .bytes = (double)(rows * (s.d + s.dv) * 2),
        .cached = steps * line,
        .waits = 3 - c.persistent + gpu_exposed(steps, c.stages - 1, products),
        .barriers = 2 * steps,
        .pipe = steps * (products + alone * weights),
    };
    return longest * gpu_cost(task, &w);
}

/* ---- the plan ---------------------------------------------------------------------------- */

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const wgmma c = wgmma_of(config);
    const optune_dtype dtype = task->call->input[ATTENTION_Q].type.dtype;
    const bool brain = dtype.code == OPTUNE_DTYPE_BFLOAT;
    const int m = optune_plan_module(plan);
    attention_define(plan, m, task, &s);
    optune_plan_define(plan, m, "CONSUMERS", c.consumers);
    optune_plan_define(plan, m, "TK", c.keys);
    optune_plan_define(plan, m, "STAGES", c.stages);
    optune_plan_define(plan, m, "TURNS", c.turns);
    optune_plan_define(plan, m, "BAND", c.band);
    optune_plan_define(plan, m, "BLOCKS", blocks_of(task, &s, &c));
    optune_plan_define(plan, m, "COLUMNS", padded(s.dv));
    optune_plan_define_text(plan, m, "TYPE", brain ? "bf16" : "f16");
    optune_plan_define_text(plan, m, "PAIR", brain ? "bfloats_of_floats" : "halves_of_floats");
    optune_stage stage = attention_gpu_stage(&s, m, "attention", optune_output_arg(0));
    const int64_t columns[] = {s.d, s.d, s.dv};
    for (int i = 0; i < 3; i++)
        stage.arg[i] =
            matmul_gpu_wgmma_map(plan, stage.arg[i], dtype, s.heads, i ? s.skv : s.rows,
                                 columns[i], i ? c.keys : ROWS * c.consumers);
    stage.grid[0] = blocks_of(task, &s, &c);
    stage.block[0] = 128 * (c.consumers + 1);
    stage.grid[1] = stage.grid[2] = stage.block[1] = stage.block[2] = 1;
    stage.shared = pool(&s, &c);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(attention_gpu, wgmma) = {
    .op = "attention",
    .name = "attention_wgmma.cuda",
    .summary = "products of warpgroups fed by the copy engine, for compute capability 9.0",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
