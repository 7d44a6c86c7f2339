/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemv.cpu: matrix-vector products for up to eight rows of data, limited by how fast the
 * weight can be read. Reads the weight in place, or reordered once into one stream.
 */
#include "kernels/matmul/dense.h"

enum { MAX_ROWS = 8 }; /* of data: beyond this a GEMM reuses the weight better */

static bool applies(const optune_task *task, char *why)
{
    if (!dense_applies(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    if (s.m > MAX_ROWS)
        return optune_refuse(why, "is for at most %d rows of data, not %" PRId64, MAX_ROWS,
                             s.m);
    if (2 * s.m + 1 > matmul_registers(task))
        return optune_refuse(why, "%" PRId64 " rows of data do not fit %" PRId64 " registers",
                             s.m, matmul_registers(task));
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "rows", 6, (int64_t[]){1, 2, 4, 6, 8, 12});
    optune_space_ints(space, "vectors", 4, (int64_t[]){1, 2, 4, 8});
    optune_space_words(space, "weight", 2, (const char *const[]){"plain", "packed"});
    optune_space_ints(space, "prefetch", 6, (int64_t[]){0, 512, 1024, 2048, 4096, 8192});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t rows = optune_config_int(config, "rows");
    const int64_t vectors = optune_config_int(config, "vectors");
    const int64_t registers = matmul_registers(task);
    const int64_t need = s.m * (rows * vectors + 1) + 1;
    if (rows > s.n)
        return optune_refuse(why, "%" PRId64 " rows at once, the weight has %" PRId64, rows,
                             s.n);
    if (need > registers)
        return optune_refuse(why,
                             "%" PRId64 " sums and operands do not fit %" PRId64 " registers",
                             need, registers);
    if (vectors > 1 && vectors * matmul_lanes(task, s.f64) > s.k)
        return optune_refuse(why, "%" PRId64 " vectors are longer than the depth", vectors);
    return strcmp(optune_config_word(config, "weight"), "plain") == 0 ||
           matmul_scratch_fits((s.n + rows) * s.k * dense_elem(&s), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    /* Two rows, and as many sums along each as hide the latency of additions. */
    const dense_shape s = dense_shape_of(task->call);
    const int64_t lanes = matmul_lanes(task, s.f64);
    const int64_t room = ((matmul_registers(task) - 1) / s.m - 1) / 2;
    const int64_t rows = s.n > 1 && room >= 1 ? 2 : 1;
    int64_t vectors = 1;
    while (vectors < 4 && vectors * 2 <= room && vectors * 2 * lanes <= s.k)
        vectors *= 2;
    optune_config_choose_int(config, space, "rows", rows);
    optune_config_choose_int(config, space, "vectors", vectors);
    if (s.weight_phase == OPTUNE_PREPACK)
        optune_config_choose_word(config, space, "weight", "packed");
    optune_config_choose_int(config, space, "prefetch", 2048);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t rows = optune_config_int(config, "rows");
    const bool packed = strcmp(optune_config_word(config, "weight"), "packed") == 0;
    const int module = optune_plan_module(plan);
    dense_define(plan, module, &s);
    optune_plan_define(plan, module, "ROWS", rows);
    optune_plan_define(plan, module, "VECTORS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, module, "PACKED", packed);
    optune_plan_define(plan, module, "AHEAD", optune_config_int(config, "prefetch"));

    optune_arg weight = optune_input_arg(DENSE_WEIGHT);
    if (packed) {
        const int64_t bytes = host_ceil(s.n, rows) * rows * s.k * dense_elem(&s);
        weight = dense_pack(plan, module, &s, bytes);
    }
    dense_compute(task, plan, module, "gemv", &s, optune_input_arg(DENSE_DATA), weight);
}

OPTUNE_IMPL(matmul, dense_gemv) = {
    .op = "dense",
    .name = "dense_gemv.cpu",
    .summary = "matrix-vector products for few rows of data, reading the weight once",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
