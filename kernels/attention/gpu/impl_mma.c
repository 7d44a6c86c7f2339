/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_mma.cuda: both products by tensor cores, the softmax in registers between them. For
 * 16-bit floats from compute capability 8.0 on.
 */
#include "kernels/attention/gpu/attention_gpu.h"

typedef struct mma {
    int64_t warps, rows, keys, stages;
    bool hold;
} mma;

static mma mma_of(const optune_config *config)
{
    return (mma){.warps = optune_config_int(config, "warps"),
                 .rows = optune_config_int(config, "rows"),
                 .keys = optune_config_int(config, "block_k"),
                 .stages = optune_config_int(config, "stages"),
                 .hold = optune_config_int(config, "hold")};
}

static bool applies(const optune_task *task, char *why)
{
    attention_shape s;
    if (!gpu_is_cuda(task, 80, why) || !attention_gpu_applies(task, &s, why))
        return false;
    if (task->call->input[ATTENTION_Q].type.dtype.bits != 16)
        return optune_refuse(why, "needs float16 or bfloat16");
    if (s.d % 8 || s.dv % 8)
        return optune_refuse(why, "copies 16 bytes at once: heads are multiples of 8 wide");
    return (s.d <= 256 && s.dv <= 256) || optune_refuse(why, "heads are wider than 256");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "warps", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "rows", 2, (const int64_t[]){16, 32});
    optune_space_ints(space, "block_k", 4, (const int64_t[]){16, 32, 64, 128});
    optune_space_ints(space, "stages", 3, (const int64_t[]){1, 2, 3});
    optune_space_ints(space, "hold", 2, (const int64_t[]){0, 1});
}

static int64_t pitch(int64_t n)
{
    return host_ceil(n, 64) * 128;
}

static int64_t pool(const attention_shape *s, const mma *c)
{
    return c->warps * c->rows * pitch(s->d) +
           c->stages * c->keys * (pitch(s->d) + pitch(s->dv));
}

/* Sums of both products, queries, a step of fragments, what rows keep, and addresses. */
static int64_t registers(const attention_shape *s, const mma *c)
{
    const int64_t mt = c->rows / 16, steps = c->hold ? host_ceil(s->d, 16) : 1;
    return mt * (8 * host_ceil(s->dv, 16) + 8 * (c->keys / 16) + 4 * steps + 8) + 8 + 28;
}

static bool fits(const optune_task *task, const attention_shape *s, const mma *c, char *why)
{
    if (c->warps * c->rows > 16 && c->warps * c->rows / 2 >= s->rows)
        return optune_refuse(why, "half of the block has no queries");
    if (c->keys > 16 && c->keys / 2 >= s->skv)
        return optune_refuse(why, "half of the tile has no keys");
    if (c->stages > 1 && (c->stages - 1) * c->keys >= s->skv)
        return optune_refuse(why, "more stages than tiles of keys");
    if (c->keys * (host_ceil(s->d, 16) + host_ceil(s->dv, 16)) * 2 > 32 * 32 * c->warps)
        return optune_refuse(why, "a thread copies more than 32 chunks of a tile");
    return gpu_fits(task, (const int64_t[]){32 * c->warps, 1, 1}, pool(s, c), registers(s, c),
                    why);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const mma c = mma_of(config);
    return fits(task, &s, &c, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    enum { PRODUCT = 2, SHARED = 128, SOFTMAX = 9 }; /* cycles, bytes a cycle, instructions */
    attention_shape s;
    attention_shape_of(task->call, &s);
    const mma c = mma_of(config);
    const int64_t mt = c.rows / 16, block = c.warps * c.rows;
    const double steps = attention_gpu_tiles(&s, block, c.keys);
    const double products =
        (double)(mt * (c.keys / 8 * host_ceil(s.d, 16) + host_ceil(s.dv, 8) * (c.keys / 16)));
    const double line = (double)(c.keys * (pitch(s.d) + pitch(s.dv)));
    const double reads = line + (c.hold ? 0 : (double)(c.rows * pitch(s.d)));
    const double scores = (double)(c.rows * c.keys) / 32;
    const double warps = (double)c.warps;
    const double shared = (warps * reads + line) / SHARED;
    const double pipe =
        warps * products * PRODUCT > shared ? warps * products * PRODUCT : shared;
    const double step = products + reads / 512 + line / (512 * warps) + SOFTMAX * scores + 30;
    const gpu_work w = {
        .blocks = host_ceil(s.rows, block) * s.heads,
        .threads = 32 * c.warps,
        .registers = registers(&s, &c),
        .shared = pool(&s, &c),
        .instructions = steps * step,
        .bytes = (double)(block * (s.d + s.dv) * 2),
        .cached = steps * line,
        .waits = 2 + gpu_exposed(steps, c.stages - 1, 2 * step),
        .barriers = 2 * steps,
        .pipe = steps * pipe,
    };
    return gpu_cost(task, &w);
}

/* The most rows a warp whose sums fit, as that reads shared memory least; then as many blocks as
 * there are cores. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const int64_t units = task->device->cores > 0 ? task->device->cores : 108;
    mma c = {.warps = 4, .rows = 32, .keys = 64, .stages = 2, .hold = true};
    while (c.keys > 16 && c.keys / 2 >= s.skv)
        c.keys /= 2;
    if (registers(&s, &c) > 230)
        c.hold = false;
    if (registers(&s, &c) > 230)
        c.keys = host_min(c.keys, 32);
    if (registers(&s, &c) > 230 || s.rows * s.heads / 128 < units)
        c.rows = 16;
    while (c.warps > 1 && (c.warps * c.rows / 2 >= s.rows ||
                           host_ceil(s.rows, c.warps * c.rows) * s.heads < units))
        c.warps /= 2;
    if (c.warps * c.rows / 2 >= s.rows)
        c.rows = 16;
    while (c.stages > 1 && !fits(task, &s, &c, NULL))
        c.stages--;
    optune_config_choose_int(config, space, "warps", c.warps);
    optune_config_choose_int(config, space, "rows", c.rows);
    optune_config_choose_int(config, space, "block_k", c.keys);
    optune_config_choose_int(config, space, "stages", c.stages);
    optune_config_choose_int(config, space, "hold", c.hold);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const mma c = mma_of(config);
    const bool brain = task->call->input[ATTENTION_Q].type.dtype.code == OPTUNE_DTYPE_BFLOAT;
    const int m = optune_plan_module(plan);
    attention_define(plan, m, task, &s);
    optune_plan_define(plan, m, "WARPS", c.warps);
    optune_plan_define(plan, m, "MT", c.rows / 16);
    optune_plan_define(plan, m, "TK", c.keys);
    optune_plan_define(plan, m, "STAGES", c.stages);
    optune_plan_define(plan, m, "HOLD", c.hold);
    optune_plan_define_text(plan, m, "MMA", brain ? "mma_bf16" : "mma_f16");
    optune_plan_define_text(plan, m, "PAIR", brain ? "bfloats_of_floats" : "halves_of_floats");
    optune_plan_define(plan, m, "POOL", pool(&s, &c));
    optune_stage stage = attention_gpu_stage(&s, m, "attention", optune_output_arg(0));
    stage.grid[0] = host_ceil(s.rows, c.warps * c.rows);
    stage.grid[1] = s.heads;
    stage.block[0] = 32 * c.warps;
    stage.grid[2] = stage.block[1] = stage.block[2] = 1;
    stage.shared = pool(&s, &c);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(attention_gpu, mma) = {
    .op = "attention",
    .name = "attention_mma.cuda",
    .summary = "tensor cores, an online softmax in registers between two products",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
