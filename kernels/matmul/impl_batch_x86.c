/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul.x86: TVM's template of this name, knob for knob. Nothing is packed: tile_y and
 * tile_x give the block of outputs in registers, tile_k how much of the depth goes at once.
 */
#include "kernels/matmul/batch_matmul.h"

enum { MAX_UNROLL = 16 };

/* Vectors run along the depth when both operands do, else along the columns. */
static bool along_depth(const batch_matmul_shape *s)
{
    return !s->transpose_a && s->transpose_b;
}

/* What tile_y divides: as in TVM, where the template takes a transposed x's dims as they come, so
 * that rows are split by divisors of the depth, and the depth by those of the rows. */
static int64_t split_rows(const batch_matmul_shape *s)
{
    return s->transpose_a ? s->k : s->m;
}

static void space(const optune_task *task, optune_space *space)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    optune_space_split(space, "tile_y", split_rows(&s), 2, NULL);
    optune_space_split(space, "tile_x", s.n, 2, NULL);
    optune_space_split(space, "tile_k", s.transpose_a ? s.m : s.k, 2, NULL);
}

/* The widest power of two that divides `size` and fits a register. */
static int64_t lanes_of(int64_t size, int64_t lanes)
{
    const int64_t power = size & -size;
    return power < lanes ? power : lanes;
}

/* Registers that a block needs: sums, one row of the right operand, one of the left. */
static int64_t needed(const optune_task *task, const batch_matmul_shape *s, int64_t y,
                      int64_t x, int64_t k)
{
    const int64_t lanes = matmul_lanes(task, s->f64);
    if (along_depth(s))
        return y * x * (k / lanes_of(k, lanes)) + x + 1;
    return (y + 1) * (x / lanes_of(x, lanes)) + 1;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int64_t y = host_min(optune_config_split(config, "tile_y")[1], s.m);
    const int64_t x = optune_config_split(config, "tile_x")[1];
    const int64_t k = optune_config_split(config, "tile_k")[1];
    const int64_t need = needed(task, &s, y, x, k);
    if (need > matmul_registers(task))
        return optune_refuse(why,
                             "tiles of %" PRId64 " x %" PRId64 " x %" PRId64 " need %" PRId64
                             " of %" PRId64 " registers",
                             y, x, k, need, matmul_registers(task));
    if (!along_depth(&s) && k > MAX_UNROLL && k < s.k)
        return optune_refuse(why, "unrolls at most %d steps of depth", MAX_UNROLL);
    return true;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int64_t lanes = matmul_lanes(task, s.f64);
    int64_t k = 1;
    const int64_t most = along_depth(&s) ? lanes : 4;
    while (k < most && (s.transpose_a ? s.m : s.k) % (2 * k) == 0)
        k *= 2;
    /* The block that multiplies most for what it loads; lanes count in the second form. */
    int64_t best_y = 1, best_x = 1;
    double best = 0;
    for (int64_t y = 1; y <= host_min(s.m, 16); y++)
        for (int64_t x = 1; x <= host_min(s.n, 4 * lanes); x++) {
            if (split_rows(&s) % y || s.n % x ||
                needed(task, &s, y, x, k) > matmul_registers(task))
                continue;
            const int64_t loads = along_depth(&s) ? x : x / lanes_of(x, lanes);
            const double gain = (double)(y * x) / (double)(y + loads);
            if (gain > best) {
                best = gain;
                best_y = y;
                best_x = x;
            }
        }
    optune_config_choose_split(config, space, "tile_y", (int64_t[]){0, best_y});
    optune_config_choose_split(config, space, "tile_x", (int64_t[]){0, best_x});
    optune_config_choose_split(config, space, "tile_k", (int64_t[]){0, k});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int64_t x = optune_config_split(config, "tile_x")[1];
    const int64_t k = optune_config_split(config, "tile_k")[1];
    const bool depth = along_depth(&s);
    const int module = optune_plan_module(plan);
    batch_matmul_define(plan, module, &s);
    optune_plan_define(plan, module, "X_ROW", s.transpose_a ? 1 : s.k);
    optune_plan_define(plan, module, "X_K", s.transpose_a ? s.m : 1);
    optune_plan_define(plan, module, "Y_COL", s.transpose_b ? s.k : 1);
    optune_plan_define(plan, module, "Y_K", s.transpose_b ? 1 : s.n);
    optune_plan_define(plan, module, "YI",
                       host_min(optune_config_split(config, "tile_y")[1], s.m));
    optune_plan_define(plan, module, "XI", x);
    optune_plan_define(plan, module, "KI", depth ? k : host_min(k, MAX_UNROLL));
    optune_plan_define(plan, module, "ALONG_K", depth);
    optune_plan_define(plan, module, "LANES",
                       lanes_of(depth ? k : x, matmul_lanes(task, s.f64)));
    optune_stage stage = batch_matmul_stage(module);
    optune_plan_fuse(task, plan, &stage, 2);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(matmul, batch_x86) = {
    .op = "batch_matmul",
    .name = "batch_matmul.x86",
    .summary = "TVM's template, nothing packed",
    .task_args = "x y out_shape out_dtype transpose_a transpose_b",
    .applies = batch_matmul_applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
