/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/matmul_gpu.h declares. */
#include "kernels/matmul/gpu/matmul_gpu.h"

int64_t matmul_gpu_vector(const matmul_gpu *p, int64_t line, int64_t part)
{
    int64_t v = 16 / matmul_gpu_elem(p);
    while (v > 1 && (line % v || part % v))
        v /= 2;
    return v;
}

bool matmul_gpu_splits_fit(const matmul_gpu *p, int64_t splits, int64_t step, char *why)
{
    if (splits == 1)
        return true;
    if (host_ceil(p->k, step) < 2 * splits)
        return optune_refuse(why, "less than two steps of depth for each of %" PRId64 " blocks",
                             splits);
    return matmul_scratch_fits(splits * matmul_gpu_outputs(p) * matmul_gpu_elem(p), why);
}

double matmul_gpu_sharing(const optune_task *task, const matmul_gpu *p, int64_t splits)
{
    const gpu_work w = {
        .blocks = host_ceil(matmul_gpu_outputs(p), 512),
        .threads = 128,
        .instructions = 20 + 6 * (double)splits,
        .bytes = 512 * (double)((splits + 1) * matmul_gpu_elem(p)),
        .waits = 1 + (double)splits / 4,
    };
    return splits > 1 ? gpu_cost(task, &w) : 0;
}

static int64_t matmul_gpu_sum_threads(const optune_task *task)
{
    return host_min(128, gpu_max_threads(task));
}

void matmul_gpu_define(const optune_task *task, optune_plan *plan, int m, const matmul_gpu *p,
                       int64_t splits)
{
    const bool wide = p->m * p->k > INT32_MAX / 2 || p->n * p->k > INT32_MAX / 2 ||
                      p->m * p->n > INT32_MAX / 2;
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"ELEM", matmul_gpu_elem(p)},
        {"B", p->b},
        {"M", p->m},
        {"N", p->n},
        {"K", p->k},
        {"B_VARIES", p->b_varies},
        {"M_VARIES", p->m_varies},
        {"X_ALONG", p->x_along},
        {"Y_ALONG", p->y_along},
        {"X_SHARED", p->x_shared},
        {"Y_SHARED", p->y_shared},
        {"BIAS", p->has_bias},
        {"SPLITS", splits},
        {"SUM_THREADS", matmul_gpu_sum_threads(task)},
    };
    optune_plan_define_text(plan, m, "DTYPE", p->f64 ? "double" : "float");
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
}

void matmul_gpu_dims(optune_stage *stage, const matmul_gpu *p, bool bias)
{
    if (bias && p->has_bias)
        stage->arg[stage->n_args++] = p->bias;
    if (p->b_varies)
        stage->arg[stage->n_args++] = p->batches;
    if (p->m_varies)
        stage->arg[stage->n_args++] = p->rows;
}

void matmul_gpu_stages(const optune_task *task, optune_plan *plan, const matmul_gpu *p,
                       optune_stage stage, int64_t splits, int64_t vn)
{
    const int64_t threads = matmul_gpu_sum_threads(task);
    stage.phase = OPTUNE_TIMED;
    stage.function = "matmul";
    stage.n_args = 2;
    stage.arg[0] = optune_input_arg(0);
    stage.arg[1] = optune_input_arg(1);
    optune_arg to = optune_output_arg(0);
    if (splits > 1)
        to = optune_scratch_arg(optune_plan_scratch(
            plan, "parts", splits * matmul_gpu_outputs(p) * matmul_gpu_elem(p), false));
    stage.arg[stage.n_args++] = to;
    matmul_gpu_dims(&stage, p, splits == 1);
    if (splits == 1)
        optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
    if (splits == 1)
        return;
    optune_stage sum = {
        .phase = OPTUNE_TIMED,
        .module = stage.module,
        .function = "add_splits",
        .n_args = 2,
        .arg = {to, optune_output_arg(0)},
        .grid = {host_ceil(matmul_gpu_outputs(p), threads * vn), 1, 1},
        .block = {threads, 1, 1},
    };
    matmul_gpu_dims(&sum, p, true);
    optune_plan_fuse(task, plan, &sum, 0);
    optune_plan_stage(plan, &sum);
}
