/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_wgmma.cuda: prompts on devices of compute capability 9.0, in bfloat16. Integers
 * become what they mean, rounded to bfloat16, in shared memory, on their way to products of whole
 * warpgroups (template `wgmma`, kernels/matmul/gpu/matmul_gpu_wgmma.h). Knobs are those that
 * dense's has where nothing of the weight is copied.
 */
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"
#include "kernels/nbits/gpu/nbits_gpu.h"

enum {
    CHUNK = 32,
    MOST_SUMS = 128
}; /* elements of one scale that a thread unpacks; of a thread */

/* Of a tile of the weight in shared memory, and of each of its rows of 64 elements: what the
 * copying warpgroup took by 70 configs on an H200. */
static const double STEP_CYCLES = 800, ROW_CYCLES = 8, ROW_CYCLES_FLOAT = 9;

static matmul_gpu product_of(const optune_call *call)
{
    const nbits_shape s = nbits_shape_of(call);
    const bool pairs =
        s.bits == 4 && call->input[NBITS_SCALE].type.dtype.code == OPTUNE_DTYPE_BFLOAT;
    return (matmul_gpu){.b = 1,
                        .m = s.m,
                        .n = s.n,
                        .k = s.k,
                        .y_step = STEP_CYCLES,
                        .y_cycles = pairs ? ROW_CYCLES : ROW_CYCLES_FLOAT,
                        .y_bytes = 8 * (double)s.bits};
}

static bool applies(const optune_task *task, char *why)
{
    if (!gpu_has_warpgroups(task, why) || !nbits_gpu_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    const matmul_gpu p = product_of(task->call);
    if (task->call->output[0].dtype.code != OPTUNE_DTYPE_BFLOAT)
        return optune_refuse(why, "needs bfloat16, whose range all scales have");
    if (s.m_varies)
        return optune_refuse(why, "needs constant shapes");
    if (s.zero_real)
        return optune_refuse(why, "needs zero points that are integers");
    if (s.k % CHUNK || (s.groups > 1 && s.group % CHUNK))
        return optune_refuse(why, "needs rows and groups of a multiple of %d elements",
                             (int)CHUNK);
    return matmul_gpu_wgmma_applies(task, &p, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "block_m", 3, (const int64_t[]){64, 128, 256});
    optune_space_ints(space, "block_n", 3, (const int64_t[]){64, 128, 256});
    optune_space_ints(space, "block_k_bytes", 1, (const int64_t[]){128});
    optune_space_ints(space, "stages", 6, (const int64_t[]){2, 3, 4, 5, 6, 8});
    optune_space_ints(space, "consumers", 2, (const int64_t[]){1, 2});
    optune_space_words(space, "copies", 1, (const char *const[]){"warpgroup"});
    optune_space_ints(space, "group_m", 4, (const int64_t[]){4, 8, 16, 32});
    optune_space_ints(space, "cluster", 1, (const int64_t[]){1});
    optune_space_ints(space, "persistent", 2, (const int64_t[]){0, 1});
    optune_space_words(space, "stores", 2, (const char *const[]){"boxes", "pairs"});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const matmul_gpu p = product_of(task->call);
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const int64_t sums = w.bm / w.consumers * w.bn / 128;
    if (sums > MOST_SUMS)
        return optune_refuse(why, "%" PRId64 " sums in a thread, at most %d", sums,
                             (int)MOST_SUMS);
    return matmul_gpu_wgmma_valid(task, &p, config, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const matmul_gpu p = product_of(task->call);
    return matmul_gpu_wgmma_estimate(task, &p, config);
}

/* Of tiles of a thread's at most 128 sums what is estimated to be the fastest. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const matmul_gpu p = product_of(task->call);
    matmul_gpu_wgmma_least(task, &p, MOST_SUMS, space, config);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const nbits_shape s = nbits_shape_of(call);
    const matmul_gpu p = product_of(call);
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const optune_dtype type = call->output[0].dtype;
    const int m = optune_plan_module(plan);
    optune_stage stage = matmul_gpu_wgmma_stage(task, plan, m, &p, config);
    nbits_define_weight(plan, m, &s);
    nbits_gpu_types(task, plan, m, &s);
    optune_plan_define(plan, m, "BRAIN", 1);
    optune_plan_define(plan, m, "SCALE_BRAIN",
                       call->input[NBITS_SCALE].type.dtype.code == OPTUNE_DTYPE_BFLOAT);
    optune_plan_define_text(plan, m, "PAIR", "bfloats_of_floats");
    stage.arg[stage.n_args++] =
        matmul_gpu_wgmma_map(plan, optune_input_arg(NBITS_DATA), type, 1, s.m, s.k, w.bm);
    for (int i = NBITS_WEIGHT; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    stage.arg[stage.n_args++] =
        w.boxes ? matmul_gpu_wgmma_map(plan, optune_output_arg(0), type, 1, s.m, s.n, 16)
                : optune_output_arg(0);
    optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(nbits_gpu, wgmma) = {
    .op = "dense_nbits",
    .name = "dense_nbits_wgmma.cuda",
    .summary =
        "products of warpgroups of a weight unpacked on its way, for compute capability 9.0",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
