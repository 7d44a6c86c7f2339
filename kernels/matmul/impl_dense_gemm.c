/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemm.cpu: the blocked GEMM. The weight becomes zero-padded panels as wide as a register
 * tile (untimed when it is const), the data may be packed too, and three block sizes say what
 * the caches hold. Any shape, float32 and float64.
 */
#include "kernels/matmul/dense.h"

static const int64_t depths[] = {128, 192, 256, 384, 512, 768, 1024, 1536};
static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64};

enum { NEAR_STEPS = 8, DEEP = 768 /* untuned, of a block */ };

/* Bytes of packed operands; data strips have room for what packing writes beyond them. */
static int64_t weight_bytes(const optune_task *task, const dense_shape *s, int64_t nv)
{
    const int64_t nr = nv * matmul_lanes(task, s->f64);
    return host_ceil(s->n, nr) * nr * s->k * dense_elem(s);
}

static int64_t data_bytes(const optune_task *task, const dense_shape *s, int64_t mr)
{
    const int64_t lanes = matmul_lanes(task, s->f64);
    const int64_t strip = (host_ceil(s->k * mr, lanes) + 1) * lanes;
    return host_ceil(s->m, mr) * strip * dense_elem(s);
}

static bool packs(const optune_task *task, const dense_shape *s, int64_t nv, char *why)
{
    return matmul_packed_fits(weight_bytes(task, s, nv), s->n * s->k * dense_elem(s), why);
}

static bool applies(const optune_task *task, char *why)
{
    if (!dense_applies(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    return packs(task, &s, 1, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t vectors = host_ceil(s.n, matmul_lanes(task, s.f64));
    matmul_tile_knobs(space, s.m, vectors);
    matmul_up_to(space, "block_k", depths, 8, s.k);
    matmul_up_to(space, "block_m", counts, 7, s.m);
    matmul_up_to(space, "block_n", counts, 7, vectors);
    optune_space_words(space, "inner", 2, (const char *const[]){"rows", "panels"});
    optune_space_bools(space, "pack_data", 2, (bool[]){false, true});
    optune_space_words(space, "prefetch", 3, (const char *const[]){"none", "near", "panel"});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t elem = dense_elem(&s), vectors = host_ceil(s.n, matmul_lanes(task, s.f64));
    int64_t mr, nv;
    matmul_best_tile(task, s.m, vectors, &mr, &nv);
    /* A task is one panel, which meets all rows of its block. */
    int64_t depth = s.k, panels = 1;
    int64_t held = matmul_block_rows(task, s.m, s.k * elem, host_ceil(vectors, nv));
    if (held < s.m && s.k > DEEP && matmul_threads(task) == 1) {
        /* Or several, a part of their depth after the other: the rows that all of these meet stay
         * in the cache, and so do sums. */
        depth = DEEP;
        held = matmul_block_rows(task, s.m, depth * elem, host_ceil(vectors, nv));
        panels = matmul_l2(task) / 4 / (held * nv * matmul_lanes(task, s.f64) * elem);
    }
    int64_t tiles = host_ceil(held, mr);
    if (tiles < 8) /* fewer would not pay for reading the panel */
        tiles = host_min(8, host_ceil(s.m, mr));
    const bool far = s.n * s.k * elem > matmul_l2(task);
    optune_config_choose_int(config, space, "tile_m", mr);
    optune_config_choose_int(config, space, "tile_n", nv);
    optune_config_choose_int(config, space, "unroll_k", 2);
    optune_config_choose_int(config, space, "block_k", depth);
    optune_config_choose_int(config, space, "block_m", tiles * mr < s.m ? tiles : s.m);
    optune_config_choose_int(config, space, "block_n", host_max(1, panels));
    optune_config_choose_word(config, space, "inner", "rows");
    optune_config_choose_word(config, space, "prefetch",
                              !far         ? "none"
                              : tiles >= 8 ? "panel"
                                           : "near");
    optune_config_nearest(config, space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    return matmul_tile_fits(task, mr, nv, why) && packs(task, &s, nv, why) &&
           (!optune_config_bool(config, "pack_data") ||
            matmul_packed_fits(data_bytes(task, &s, mr),
                               s.m_varies ? 0 : s.m * s.k * dense_elem(&s), why));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const bool pack_data = optune_config_bool(config, "pack_data");
    const char *const prefetch = optune_config_word(config, "prefetch");
    const bool rows_inner = strcmp(optune_config_word(config, "inner"), "rows") == 0;
    const int module = optune_plan_module(plan);
    dense_define(plan, module, &s);
    matmul_define_tile(plan, module, config);
    optune_plan_define(plan, module, "GEMM_AHEAD",
                       strcmp(prefetch, "near") == 0 ? NEAR_STEPS : 0);
    optune_plan_define(plan, module, "NEXT_PANEL", strcmp(prefetch, "panel") == 0);
    optune_plan_define(plan, module, "KC", optune_config_int(config, "block_k"));
    optune_plan_define(plan, module, "ROW_TILES", optune_config_int(config, "block_m"));
    optune_plan_define(plan, module, "COL_PANELS", optune_config_int(config, "block_n"));
    optune_plan_define(plan, module, "ROWS_INNER", rows_inner);
    optune_plan_define(plan, module, "PACK_DATA", pack_data);

    const int64_t bytes = weight_bytes(task, &s, optune_config_int(config, "tile_n"));
    const optune_arg weight = dense_pack(plan, module, &s, bytes);
    const optune_arg data =
        pack_data ? dense_pack_data(plan, module, &s,
                                    data_bytes(task, &s, optune_config_int(config, "tile_m")))
                  : optune_input_arg(DENSE_DATA);
    dense_compute(task, plan, module, "gemm", &s, data, weight);
}

OPTUNE_IMPL(matmul, dense_gemm) = {
    .op = "dense",
    .name = "dense_gemm.cpu",
    .summary = "blocked GEMM over packed panels of the weight",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
