/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_gemm.cpu: the blocked product of many rows of data; blocks of the weight become
 * floats once for all of a task's rows.
 */
#include "kernels/nbits/nbits_cpu.h"

static const int64_t depths[] = {64, 128, 256, 512, 1024};
static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64};

/* Depth of a block, in groups. */
static int64_t block_groups(const nbits_shape *s, int64_t block_k)
{
    const int64_t group = nbits_cpu_group(s);
    return host_min(host_max(1, block_k / group), host_ceil(s->k, group));
}

static int64_t buffer_bytes(const optune_task *task, const nbits_shape *s,
                            const optune_config *config)
{
    const int64_t columns = optune_config_int(config, "tile_n") * matmul_lanes(task, false);
    return matmul_threads(task) * optune_config_int(config, "block_n") * columns * 4 *
           block_groups(s, optune_config_int(config, "block_k")) * nbits_cpu_group(s);
}

static void space(const optune_task *task, optune_space *space)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t vectors = host_ceil(s.n, matmul_lanes(task, false));
    matmul_tile_knobs(space, s.m, vectors);
    matmul_up_to(space, "block_k", depths, 5, s.k);
    matmul_up_to(space, "block_m", counts, 7, s.m);
    matmul_up_to(space, "block_n", counts, 7, vectors);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    return matmul_tile_fits(task, mr, nv, why) &&
           matmul_packed_fits(nbits_cpu_bytes(task, &s, nv), s.n * s.row_bytes, why) &&
           matmul_scratch_fits(buffer_bytes(task, &s, config), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t lanes = matmul_lanes(task, false), threads = matmul_threads(task);
    /* Two vectors leave a register to spare, and cover few columns that are not there. */
    const int64_t most = host_min(s.m, (matmul_registers(task) - 4) / 2);
    optune_config_choose_int(config, space, "tile_m", host_ceil(s.m, host_ceil(s.m, most)));
    optune_config_choose_int(config, space, "tile_n", 2);
    optune_config_choose_int(config, space, "unroll_k", 2);
    optune_config_choose_int(config, space, "block_k", 256);
    optune_config_choose_int(config, space, "block_m", s.m);
    /* The buffer takes a quarter of the L2; a thread has four tasks or more. */
    const int64_t columns = optune_config_int(config, "tile_n") * lanes;
    const int64_t depth =
        block_groups(&s, optune_config_int(config, "block_k")) * nbits_cpu_group(&s);
    const int64_t held = matmul_l2(task) / 4 / (columns * 4 * depth);
    const int64_t shared = s.n / columns / (4 * threads);
    optune_config_choose_int(config, space, "block_n", host_max(1, host_min(held, shared)));
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    const int module = nbits_cpu_module(task, plan, &s, mr, nv);
    optune_plan_define(plan, module, "GEMM_KU", optune_config_int(config, "unroll_k"));
    optune_plan_define(plan, module, "BLOCK_GROUPS",
                       block_groups(&s, optune_config_int(config, "block_k")));
    optune_plan_define(plan, module, "ROW_TILES", optune_config_int(config, "block_m"));
    optune_plan_define(plan, module, "COL_PANELS", optune_config_int(config, "block_n"));
    const optune_arg buffers = optune_scratch_arg(
        optune_plan_scratch(plan, "blocks", buffer_bytes(task, &s, config), false));
    nbits_cpu_stages(task, plan, module, &s, nv, "gemm", &buffers);
}

OPTUNE_IMPL(nbits, gemm) = {
    .op = "dense_nbits",
    .name = "dense_nbits_gemm.cpu",
    .summary = "blocks of the weight become floats once and meet many rows of data",
    .applies = nbits_cpu_applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
