/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nopack.x86: TVM's template of this name, knob for knob. Nothing is packed: tile_y and
 * tile_x give the block of outputs in registers, and the last of tile_k how many elements of
 * the depth are multiplied at once.
 */
#include "kernels/matmul/dense.h"

static bool applies(const optune_task *task, char *why)
{
    return dense_applies(task, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    optune_space_split(space, "tile_y", s.m, 2, NULL);
    optune_space_split(space, "tile_x", s.n, 2, NULL);
    optune_space_split(space, "tile_k", s.k, 2, NULL);
}

/* The widest power of two that divides a step and fits a register. */
static int64_t step_lanes(int64_t step, int64_t lanes)
{
    const int64_t power = step & -step;
    return power < lanes ? power : lanes;
}

static bool fits(const optune_task *task, int64_t y, int64_t x, int64_t vectors)
{
    return y * x * vectors + x + 1 <= matmul_registers(task);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t y = optune_config_split(config, "tile_y")[1];
    const int64_t x = optune_config_split(config, "tile_x")[1];
    const int64_t step = optune_config_split(config, "tile_k")[1];
    const int64_t vectors = step / step_lanes(step, matmul_lanes(task, s.f64));
    if (!fits(task, y, x, vectors))
        return optune_refuse(why,
                             "%" PRId64 " x %" PRId64 " outputs of %" PRId64
                             " vectors do not fit %" PRId64 " registers",
                             y, x, vectors, matmul_registers(task));
    return true;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t lanes = matmul_lanes(task, s.f64);
    /* One whole vector of depth where the depth allows it, then the squarest block. */
    int64_t step = 1;
    while (step < lanes && s.k % (2 * step) == 0)
        step *= 2;
    int64_t y = 1, x = 1;
    for (int64_t i = 1; i <= host_min(s.m, 8); i++)
        for (int64_t j = 1; j <= host_min(s.n, 8); j++)
            if (s.m % i == 0 && s.n % j == 0 && fits(task, i, j, 1) &&
                i * j * (x + y) > x * y * (i + j)) {
                y = i;
                x = j;
            }
    optune_config_choose_split(config, space, "tile_y", (int64_t[]){0, y});
    optune_config_choose_split(config, space, "tile_x", (int64_t[]){0, x});
    optune_config_choose_split(config, space, "tile_k", (int64_t[]){0, step});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t step = optune_config_split(config, "tile_k")[1];
    const int64_t lanes = step_lanes(step, matmul_lanes(task, s.f64));
    const int module = optune_plan_module(plan);
    dense_define(plan, module, &s);
    optune_plan_define(plan, module, "YI", optune_config_split(config, "tile_y")[1]);
    optune_plan_define(plan, module, "XI", optune_config_split(config, "tile_x")[1]);
    optune_plan_define(plan, module, "KLANES", lanes);
    optune_plan_define(plan, module, "KVECS", step / lanes);
    dense_compute(task, plan, module, "dense", &s, optune_input_arg(DENSE_DATA),
                  optune_input_arg(DENSE_WEIGHT));
}

OPTUNE_IMPL(matmul, dense_nopack) = {
    .op = "dense",
    .name = "dense_nopack.x86",
    .summary = "TVM's template without packing, vectors along the depth",
    .task_args = "data weight bias? out_dtype",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
