/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemm.cpu: the blocked GEMM. The weight becomes zero-padded panels as wide as a register
 * tile (untimed when it is const), the data may be packed too, and three block sizes say what
 * the caches hold. Any shape, float32 and float64.
 */
#include "kernels/dense/dense.h"

/* Depth of a block: 0 in the order of knobs would hide it, so the whole depth is its number. */
static const int64_t depths[] = {128, 192, 256, 384, 512, 768, 1024, 1536};
static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64};

static bool applies(const optune_task *task, char *why)
{
    return dense_applies(task, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14};
    const int64_t vectors = matmul_ceil(s.n, matmul_lanes(task, s.f64));
    int n_rows = 0;
    while (n_rows < 12 && rows[n_rows] <= s.m)
        n_rows++;
    optune_space_ints(space, "tile_m", n_rows, rows);
    optune_space_ints(space, "tile_n", (int)matmul_min(4, vectors), (int64_t[]){1, 2, 3, 4});
    optune_space_ints(space, "unroll_k", 4, (int64_t[]){1, 2, 4, 8});
    matmul_up_to(space, "block_k", depths, 8, s.k);
    matmul_up_to(space, "block_m", counts, 7, s.m);
    matmul_up_to(space, "block_n", counts, 7, vectors);
    optune_space_words(space, "inner", 2, (const char *const[]){"rows", "panels"});
    optune_space_bools(space, "pack_data", 2, (bool[]){false, true});
    optune_space_ints(space, "prefetch", 4, (int64_t[]){0, 4, 8, 16});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t lanes = matmul_lanes(task, s.f64), elem = dense_elem(&s);
    int64_t mr, nv;
    matmul_best_tile(task, s.m, matmul_ceil(s.n, lanes), &mr, &nv);
    optune_config_choose_int(config, space, "tile_m", mr);
    optune_config_choose_int(config, space, "tile_n", nv);
    optune_config_choose_int(config, space, "unroll_k", 2);
    optune_config_choose_int(config, space, "block_k", s.k);
    /* Rows of data that fill half of the L2 are one block; threads share the columns. */
    const int64_t tiles = matmul_l2(task) / 2 / (s.k * elem * mr);
    optune_config_choose_int(config, space, "block_m", tiles > 1 ? tiles : 1);
    optune_config_choose_int(config, space, "block_n", 1);
    optune_config_choose_word(config, space, "inner", "rows");
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    return matmul_tile_fits(task, optune_config_int(config, "tile_m"), optune_config_int(config, "tile_n"), why);
}
static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    const int64_t lanes = matmul_lanes(task, s.f64);
    const bool pack = optune_config_bool(config, "pack_data");
    const int module = optune_plan_module(plan);
    dense_define(plan, module, &s);
    optune_plan_define(plan, module, "GEMM_MR", mr);
    optune_plan_define(plan, module, "GEMM_NV", nv);
    optune_plan_define(plan, module, "GEMM_KU", optune_config_int(config, "unroll_k"));
    optune_plan_define(plan, module, "GEMM_AHEAD", optune_config_int(config, "prefetch"));
    optune_plan_define(plan, module, "KC", optune_config_int(config, "block_k"));
    optune_plan_define(plan, module, "ROW_TILES", optune_config_int(config, "block_m"));
    optune_plan_define(plan, module, "COL_PANELS", optune_config_int(config, "block_n"));
    optune_plan_define(plan, module, "ROWS_INNER", strcmp(optune_config_word(config, "inner"), "rows") == 0);
    optune_plan_define(plan, module, "PACK_DATA", pack);
    const int64_t nr = nv * lanes;
    const int weight = optune_plan_scratch(plan, "weight", matmul_ceil(s.n, nr) * nr * s.k * dense_elem(&s), s.weight_phase == OPTUNE_PREPACK);
    optune_plan_stage(plan, &(optune_stage){.phase = s.weight_phase, .module = module, .function = "pack_weight", .n_args = 2, .arg = {optune_input_arg(DENSE_WEIGHT), optune_scratch_arg(weight)}});
    optune_arg a = optune_input_arg(DENSE_DATA);
    if (pack) {
        a = optune_scratch_arg(optune_plan_scratch(plan, "data", matmul_ceil(s.m, mr) * (matmul_ceil(s.k * mr, lanes) + 1) * lanes * dense_elem(&s), false));
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED, .module = module, .function = "pack_data", .n_args = 2, .arg = {optune_input_arg(DENSE_DATA), a}});
    }
    optune_stage st = {.phase = OPTUNE_TIMED, .module = module, .function = "gemm", .n_args = 2, .arg = {a, optune_scratch_arg(weight)}};
    dense_finish(&st, &s);
    optune_plan_stage(plan, &st);
}
OPTUNE_IMPL(dense, gemm) = {.op = "dense", .name = "dense_gemm.cpu", .applies = applies, .space = space, .fallback = fallback, .valid = valid, .plan = plan};
