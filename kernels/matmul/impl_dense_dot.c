/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_dot.cpu: products of narrow numbers (16-bit floats, 8-bit integers) in a tile of registers,
 * by instructions that add up several products where the device has them.
 */
#include "kernels/matmul/dense.h"
#include "kernels/matmul/dot.h"

static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64};

static optune_dtype in_of(const optune_task *task)
{
    return task->call->input[DENSE_DATA].type.dtype;
}

static int64_t weight_bytes(const optune_task *task, const dense_shape *s, dot_step step,
                            int64_t nv)
{
    const int64_t columns = nv * matmul_lanes(task, false);
    return host_ceil(s->n, columns) * dot_panel_bytes(step, s->k, columns);
}

static bool packs(const optune_task *task, const dense_shape *s, dot_step step, int64_t nv,
                  char *why)
{
    return matmul_packed_fits(weight_bytes(task, s, step, nv),
                              s->n * s->k * in_of(task).bits / 8, why) &&
           matmul_scratch_fits(s->m * dot_row_words(step, s->k) * 4, why);
}

static bool applies(const optune_task *task, char *why)
{
    if (!dense_narrow(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    return packs(task, &s, dot_any(in_of(task)), 1, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    matmul_tile_knobs(space, s.m, host_ceil(s.n, matmul_lanes(task, false)));
    matmul_up_to(space, "block_m", counts, 7, s.m);
    dot_knob(task, in_of(task), space);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t vectors = host_ceil(s.n, matmul_lanes(task, false));
    int64_t mr, nv;
    matmul_best_tile(task, s.m, vectors, &mr, &nv);
    const dot_step step = s.m <= DENSE_FEW_ROWS ? dot_shortest(task, in_of(task))
                                                : dot_best(task, in_of(task));
    const int64_t row = dot_row_words(step, s.k) * 4;
    const int64_t held = matmul_block_rows(task, s.m, row, host_ceil(vectors, nv));
    const int64_t tiles = host_max(host_ceil(held, mr), host_min(8, host_ceil(s.m, mr)));
    matmul_choose_tile(task, space, config, s.m, vectors);
    dot_choose(space, config, step);
    optune_config_choose_int(config, space, "block_m", tiles * mr < s.m ? tiles : s.m);
    optune_config_nearest(config, space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t nv = optune_config_int(config, "tile_n");
    return matmul_tile_fits(task, optune_config_int(config, "tile_m"), nv, why) &&
           packs(task, &s, dot_chosen(config), nv, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const dot_step step = dot_chosen(config);
    const bool pack_data = dot_packs_rows(step, s.k);
    const int module = optune_plan_module(plan);
    dot_define(plan, module, step, in_of(task), task->call->output[0].dtype, s.k);
    optune_plan_define(plan, module, "M", s.m);
    optune_plan_define(plan, module, "N", s.n);
    optune_plan_define(plan, module, "BIAS", s.bias);
    optune_plan_define(plan, module, "PACK_DATA", pack_data);
    dot_define_tile(plan, module, config);
    optune_plan_define(plan, module, "ROW_TILES", optune_config_int(config, "block_m"));
    const optune_arg weight = dense_pack(
        plan, module, &s, weight_bytes(task, &s, step, optune_config_int(config, "tile_n")));
    const optune_arg data =
        pack_data ? dense_pack_data(plan, module, &s, s.m * dot_row_words(step, s.k) * 4)
                  : optune_input_arg(DENSE_DATA);
    dense_compute(task, plan, module, "dot", &s, data, weight);
}

OPTUNE_IMPL(matmul, dense_dot) = {
    .op = "dense",
    .name = "dense_dot.cpu",
    .summary = "16-bit floats and 8-bit integers by instructions that add up products",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
