/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/nbits/gpu/nbits_gpu.h declares. */
#include "kernels/nbits/gpu/nbits_gpu.h"

enum { FINISH_THREADS = 256 };

bool nbits_gpu_applies(const optune_task *task, char *why)
{
    if (!nbits_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t per = 32 / s.bits, most = INT32_MAX / 2;
    if (s.k > most || s.n > most || s.m > most)
        return optune_refuse(why, "a dimension of more than 2^30");
    return (s.k % per == 0 && (s.groups == 1 || s.group % per == 0)) ||
           optune_refuse(why, "needs rows and groups of whole words, of %" PRId64 " elements",
                         per);
}

/* How an element is stored: 16-bit floats travel as u16. */
static const char *c_type(optune_dtype dtype)
{
    return host_is_real(dtype) && dtype.bits == 16 ? "u16"
           : host_is_real(dtype)                   ? "float"
           : dtype.code == OPTUNE_DTYPE_INT        ? "signed char"
                                                   : "unsigned char";
}

int nbits_gpu_module(const optune_task *task, optune_plan *plan, const nbits_shape *s)
{
    const int m = optune_plan_module(plan);
    nbits_define(plan, m, s);
    nbits_gpu_types(task, plan, m, s);
    return m;
}

void nbits_gpu_types(const optune_task *task, optune_plan *plan, int m, const nbits_shape *s)
{
    const optune_call *call = task->call;
    const optune_dtype data = call->output[0].dtype,
                       scale = call->input[NBITS_SCALE].type.dtype;
    const optune_dtype zero = s->zero ? call->input[NBITS_ZERO].type.dtype : scale;
    optune_plan_define_text(plan, m, "DTYPE", "float");
    optune_plan_define_text(plan, m, "X_T", c_type(data));
    optune_plan_define_text(plan, m, "X_OF", nbits_float_of(data));
    optune_plan_define_text(plan, m, "X_TO",
                            data.bits == 32                    ? ""
                            : data.code == OPTUNE_DTYPE_BFLOAT ? "bfloat_of_float"
                                                               : "half_of_float");
    optune_plan_define(plan, m, "XV", nbits_gpu_vector(call));
    optune_plan_define_text(plan, m, "SCALE_T", c_type(scale));
    optune_plan_define_text(plan, m, "SCALE_OF", nbits_float_of(scale));
    optune_plan_define_text(plan, m, "ZERO_T", c_type(zero));
    optune_plan_define_text(plan, m, "ZERO_OF", nbits_float_of(zero));
}

void nbits_gpu_stage(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     optune_stage stage)
{
    nbits_gpu_split(task, plan, s, 1, stage);
}

void nbits_gpu_split(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     int64_t splits, optune_stage stage)
{
    stage.phase = OPTUNE_TIMED;
    stage.function = "product";
    stage.n_args = 0;
    for (int i = 0; i < task->call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    stage.arg[stage.n_args++] = optune_output_arg(0);
    optune_stage finish = {
        .phase = OPTUNE_TIMED,
        .module = stage.module,
        .function = "finish",
        .n_args = 2,
        .arg = {{0}, optune_output_arg(0)},
        .grid = {host_ceil(s->m * s->n, FINISH_THREADS), 1, 1},
        .block = {FINISH_THREADS, 1, 1},
    };
    if (splits > 1)
        stage.arg[stage.n_args - 1] = finish.arg[0] = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", splits * s->m * s->n * 4, false));
    nbits_rows(&stage, s);
    nbits_rows(&finish, s);
    optune_plan_fuse(task, plan, splits > 1 ? &finish : &stage, 0);
    optune_plan_stage(plan, &stage);
    if (splits > 1)
        optune_plan_stage(plan, &finish);
}

double nbits_gpu_finish_cost(const optune_task *task, const nbits_shape *s, int64_t splits)
{
    const double size = (double)(task->call->output[0].dtype.bits / 8);
    const gpu_work finish = {
        .blocks = host_ceil(s->m * s->n, FINISH_THREADS),
        .threads = FINISH_THREADS,
        .registers = 24,
        .instructions = 30 + 4 * (double)splits,
        .bytes = FINISH_THREADS * (4 * (double)splits + size),
        .waits = 1 + (double)splits / 8,
    };
    return splits > 1 ? gpu_cost(task, &finish) : 0;
}
