/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_amx.x86: products of 16-bit floats and of 8-bit integers by the tiles of AMX: 16 rows by 16
 * columns of sums each, a step of 64 bytes of depth.
 */
#include "kernels/matmul/dense.h"
#include "kernels/matmul/dot.h"

enum { TILE = 16, TILE_WORDS = TILE * TILE };

static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64};

static optune_dtype in_of(const optune_task *task)
{
    return task->call->input[DENSE_DATA].type.dtype;
}

/* Steps of a row: 16 words each. */
static int64_t steps(dot_step step, int64_t k)
{
    return host_ceil(dot_row_words(step, k), TILE);
}

static int64_t weight_bytes(const dense_shape *s, dot_step step, int64_t tile_n)
{
    return host_ceil(s->n, TILE * tile_n) * tile_n * steps(step, s->k) * TILE_WORDS * 4;
}

static int64_t data_bytes(const dense_shape *s, dot_step step)
{
    return host_ceil(s->m, TILE) * steps(step, s->k) * TILE_WORDS * dot_row_copies(step) * 4;
}

/* A tile reads whole steps. */
static bool must_pack(const dense_shape *s, dot_step step)
{
    return dot_row_copies(step) > 1 || s->k % (dot_word(step) * TILE) != 0;
}

static bool applies(const optune_task *task, char *why)
{
    if (!dense_narrow(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    const dot_step step = dot_tiles(task, in_of(task));
    if (step == DOT_NONE)
        return optune_refuse(why, "needs 16-bit floats or int8 and the tiles of AMX for it");
    return matmul_packed_fits(weight_bytes(&s, step, 1), s.n * s.k * in_of(task).bits / 8,
                              why) &&
           matmul_scratch_fits(data_bytes(&s, step), why);
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    const bool must = must_pack(&s, dot_tiles(task, in_of(task)));
    dot_tile_knobs(space);
    matmul_up_to(space, "block_m", counts, 7, host_ceil(s.m, TILE));
    optune_space_bools(space, "pack_data", must ? 1 : 2, (bool[]){must, true});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t tn = optune_config_int(config, "tile_n");
    return dot_tiles_fit(config, s.m, s.n, why) &&
           matmul_packed_fits(weight_bytes(&s, dot_tiles(task, in_of(task)), tn),
                              s.n * s.k * in_of(task).bits / 8, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const dot_step step = dot_tiles(task, in_of(task));
    dot_choose_tiles(space, config, s.m, s.n);
    const int64_t tm = optune_config_int(config, "tile_m");
    const int64_t tn = optune_config_int(config, "tile_n");
    const int64_t row = dot_row_words(step, s.k) * dot_row_copies(step) * 4;
    const int64_t held = matmul_block_rows(task, s.m, row, host_ceil(s.n, TILE * tn));
    const int64_t blocks = host_max(host_ceil(held, TILE * tm), 1);
    optune_config_choose_int(config, space, "block_m",
                             blocks * TILE * tm < s.m ? blocks : host_ceil(s.m, TILE));
    optune_config_nearest(config, space);
}

/* Tasks of `block_m` blocks of rows at most, and of a part of the columns each: as many as threads
 * share evenly, by columns where there are enough of them, as each task reads its weights once. */
static void define_tasks(const optune_task *task, const optune_config *config,
                         const dense_shape *s, optune_plan *plan, int module)
{
    const int64_t blocks = host_ceil(s->m, TILE * optune_config_int(config, "tile_m"));
    const int64_t panels = host_ceil(s->n, TILE * optune_config_int(config, "tile_n"));
    const int64_t threads = matmul_threads(task);
    int64_t rows = host_ceil(blocks, optune_config_int(config, "block_m")), parts = 1;
    if (rows % threads != 0) {
        const int64_t even = host_ceil(rows, threads) * threads;
        const bool few = panels % threads != 0 && panels < 4 * threads;
        if (few && even <= blocks)
            rows = even;
        else
            parts = host_min(panels, threads);
    }
    optune_plan_define(plan, module, "ROW_TASKS", rows);
    optune_plan_define(plan, module, "PARTS", parts);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const dot_step step = dot_tiles(task, in_of(task));
    const int64_t tn = optune_config_int(config, "tile_n");
    const bool pack_data = optune_config_bool(config, "pack_data");
    const int module = optune_plan_module(plan);
    dot_define(plan, module, step, in_of(task), task->call->output[0].dtype, s.k);
    optune_plan_define(plan, module, "M", s.m);
    optune_plan_define(plan, module, "N", s.n);
    optune_plan_define(plan, module, "BIAS", s.bias);
    optune_plan_define(plan, module, "PACK_DATA", pack_data);
    dot_define_tiles(plan, module, config);
    define_tasks(task, config, &s, plan, module);
    const optune_arg weight = dense_pack(plan, module, &s, weight_bytes(&s, step, tn));
    const optune_arg data = pack_data ? dense_pack_data(plan, module, &s, data_bytes(&s, step))
                                      : optune_input_arg(DENSE_DATA);
    dense_compute(task, plan, module, "amx", &s, data, weight);
}

OPTUNE_IMPL(matmul, dense_amx) = {
    .op = "dense",
    .name = "dense_amx.x86",
    .summary = "16-bit floats and 8-bit integers by the tiles of AMX",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
