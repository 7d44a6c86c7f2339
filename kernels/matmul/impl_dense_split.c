/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_split.x86: float32 by the tiles of AMX, each number as three of bfloat16, at float32's
 * accuracy (kernels/matmul/split.kernel.h).
 */
#include "kernels/matmul/dense.h"
#include "kernels/matmul/split.h"

static const int64_t counts[] = {1, 2, 4, 8, 16}, chunks[] = {8, 16, 32, 64};

typedef struct blocks {
    int64_t rows, parts, steps; /* panels of rows, parts of the columns, steps of depth */
} blocks;

static int64_t row_panels(const dense_shape *s)
{
    return host_ceil(s->m, SPLIT_PANEL);
}

static int64_t panels(const dense_shape *s)
{
    return host_ceil(s->n, SPLIT_PANEL);
}

static blocks blocks_of(const optune_config *config)
{
    return (blocks){optune_config_int(config, "block_m"), optune_config_int(config, "parts"),
                    optune_config_int(config, "block_k")};
}

static int64_t data_bytes(const optune_task *task, const blocks *b)
{
    return host_threads(task) * b->rows * b->steps * SPLIT_STEP_BYTES;
}

/* None where all of the depth is one chunk. */
static int64_t sum_bytes(const optune_task *task, const dense_shape *s, const blocks *b)
{
    return b->steps >= split_steps(s->k) ? 64
                                         : host_threads(task) * b->rows *
                                               host_ceil(panels(s), b->parts) * SPLIT_SUM_BYTES;
}

static bool applies(const optune_task *task, char *why)
{
    if (!split_here(task, why) || !dense_applies(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    if (s.f64)
        return optune_refuse(why, "needs float32");
    if (s.m_varies)
        return optune_refuse(why, "needs constant shapes");
    return matmul_packed_fits(split_kept_bytes(panels(&s), s.k), s.n * s.k * 4, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    matmul_up_to(space, "block_m", counts, 5, row_panels(&s));
    matmul_up_to(space, "parts", counts, 5, host_min(panels(&s), 32));
    matmul_up_to(space, "block_k", chunks, 4, split_steps(s.k));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const blocks b = blocks_of(config);
    return matmul_scratch_fits(data_bytes(task, &b), why) &&
           matmul_scratch_fits(sum_bytes(task, &s, &b), why);
}

/* Rows that stay in half of the second-level cache; columns are shared where there are too few. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t threads = host_threads(task), steps = split_steps(s.k);
    const int64_t room = matmul_l2(task) / 2 / SPLIT_STEP_BYTES;
    const int64_t all = row_panels(&s), chunk = steps > room / 4 ? host_min(steps, 32) : steps;
    const int64_t rows = host_max(1, host_min(all, room / chunk));
    const int64_t tasks = host_ceil(all, rows);
    optune_config_choose_int(config, space, "block_m", rows);
    optune_config_choose_int(config, space, "block_k", chunk);
    optune_config_choose_int(config, space, "parts",
                             tasks % threads == 0 || tasks >= 4 * threads ? 1 : threads);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const blocks b = blocks_of(config);
    const int module = optune_plan_module(plan);
    optune_plan_define_text(plan, module, "DTYPE", "float");
    optune_plan_define(plan, module, "M", s.m);
    optune_plan_define(plan, module, "N", s.n);
    optune_plan_define(plan, module, "K", s.k);
    optune_plan_define(plan, module, "BIAS", s.bias);
    optune_plan_define(plan, module, "ROW_BLOCK", b.rows);
    optune_plan_define(plan, module, "PARTS", b.parts);
    optune_plan_define(plan, module, "CHUNK", b.steps);
    const optune_arg weight = dense_pack(plan, module, &s, split_kept_bytes(panels(&s), s.k));
    const int data = optune_plan_scratch(plan, "data", data_bytes(task, &b), false);
    const int sums = optune_plan_scratch(plan, "sums", sum_bytes(task, &s, &b), false);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "split",
                          .n_args = 5,
                          .arg = {optune_input_arg(DENSE_DATA), weight, optune_output_arg(0),
                                  optune_scratch_arg(data), optune_scratch_arg(sums)}};
    if (s.bias)
        stage.arg[stage.n_args++] = optune_input_arg(DENSE_BIAS);
    optune_plan_fuse(task, plan, &stage, 1);
    optune_plan_stage(plan, &stage);
    optune_plan_in_place(plan);
}

OPTUNE_IMPL(matmul, dense_split) = {
    .op = "dense",
    .name = "dense_split.x86",
    .summary = "float32 as three of bfloat16 each by the tiles of AMX",
    .fewer_operations = true, /* of float32's units */
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
