/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_gemm.cpu: register tiles over panels of y. Packing is part of the time unless y
 * is const; `pack_y` says who packs: each task its own panel, a stage of its own, or nobody
 * where y has its columns side by side already. Any shape, float32 and float64.
 */
#include "kernels/matmul/batch_matmul.h"

static const int64_t depths[] = {64, 128, 256, 384, 512, 1024};

static bool applies(const optune_task *task, char *why)
{
    if (!batch_matmul_applies(task, why))
        return false;
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    return !s.k_varies || matmul_scratch_fits(matmul_threads(task) * matmul_lanes(task, s.f64) *
                                                  s.k * batch_matmul_elem(&s),
                                              why);
}

static void space(const optune_task *task, optune_space *space)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int64_t vectors = host_ceil(s.n, matmul_lanes(task, s.f64));
    matmul_tile_knobs(space, s.m, vectors);
    matmul_up_to(space, "block_k", depths, 6, s.k);
    optune_space_words(space, "pack_y", s.transpose_b ? 2 : 3,
                       (const char *const[]){"task", "before", "none"});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    const int64_t nr = nv * matmul_lanes(task, s.f64), elem = batch_matmul_elem(&s);
    if (!matmul_tile_fits(task, mr, nv, why))
        return false;
    const int64_t batches = s.y_shared ? 1 : s.b;
    const bool varies = s.n_varies || s.k_varies || (s.b_varies && !s.y_shared);
    return strcmp(optune_config_word(config, "pack_y"), "before") == 0
               ? matmul_packed_fits(batches * host_ceil(s.n, nr) * nr * s.k * elem,
                                    varies ? 0 : batches * s.n * s.k * elem, why)
               : nv == 1 || matmul_scratch_fits(matmul_threads(task) * nr * s.k * elem, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    /* Of columns that vary the last panel is computed whole: it should not be wide. */
    const int64_t vectors = host_ceil(s.n, matmul_lanes(task, s.f64));
    matmul_choose_tile(task, space, config, s.m, s.n_varies ? host_min(vectors, 2) : vectors);
    optune_config_choose_int(config, space, "block_k", s.k);
    optune_config_choose_word(config, space, "pack_y",
                              s.y_const       ? "before"
                              : s.transpose_b ? "task"
                                              : "none");
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int64_t nv = optune_config_int(config, "tile_n");
    const char *const pack = optune_config_word(config, "pack_y");
    const bool before = strcmp(pack, "before") == 0;
    const int module = optune_plan_module(plan);
    batch_matmul_define(plan, module, &s);
    matmul_define_tile(plan, module, config);
    optune_plan_define(plan, module, "KC", optune_config_int(config, "block_k"));
    optune_plan_define(plan, module, "PACKED_BEFORE", before);
    optune_plan_define(plan, module, "DIRECT", strcmp(pack, "none") == 0);
    optune_plan_define(plan, module, "TRANSPOSE_A", s.transpose_a);
    optune_plan_define(plan, module, "TRANSPOSE_B", s.transpose_b);

    const int64_t nr = nv * matmul_lanes(task, s.f64);
    const int64_t panel = nr * s.k * batch_matmul_elem(&s);
    optune_stage stage = batch_matmul_stage(module);
    if (before) {
        const int64_t batches = s.y_shared ? 1 : s.b;
        const optune_arg packed = optune_scratch_arg(
            optune_plan_scratch(plan, "y", batches * host_ceil(s.n, nr) * panel, s.y_const));
        stage.arg[1] = packed;
        optune_stage packing = {
            .phase = s.y_const ? OPTUNE_PREPACK : OPTUNE_TIMED,
            .module = module,
            .function = "pack_y",
            .n_args = 2,
            .arg = {optune_input_arg(BATCH_MATMUL_Y), packed},
        };
        if (!s.y_const)
            batch_matmul_dims(&packing, &s, false);
        optune_plan_stage(plan, &packing);
    } else {
        stage.arg[stage.n_args++] = optune_scratch_arg(
            optune_plan_scratch(plan, "panels", matmul_threads(task) * panel, false));
    }
    batch_matmul_dims(&stage, &s, true);
    optune_plan_fuse(task, plan, &stage, 2);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(matmul, batch_gemm) = {
    .op = "batch_matmul",
    .name = "batch_matmul_gemm.cpu",
    .summary = "register tiles over packed panels",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "x.0 x.1 x.2 y.0 y.1 y.2",
};
