/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/implicit/implicit_mma_rows.h declares. */
#include "kernels/convolution/implicit/implicit_mma_rows.h"

optune_arg implicit_mma_turn(const optune_call *call, optune_plan *plan, int module,
                             const conv2d_shape *s)
{
    enum { SQUARE = 64, THREADS = 256 };
    const int64_t size = implicit_mma_size(call), channels = implicit_mma_channels(call, s);
    const optune_arg turned = optune_scratch_arg(optune_plan_scratch(
        plan, "turned", s->n * s->h * s->w * s->groups * channels * size, false));
    optune_plan_stage(plan,
                      &(optune_stage){.phase = OPTUNE_TIMED,
                                      .module = module,
                                      .function = "turn",
                                      .n_args = 2,
                                      .arg = {optune_input_arg(CONV2D_DATA), turned},
                                      .grid = {host_ceil(s->h * s->w, SQUARE),
                                               host_ceil(channels, SQUARE), s->n * s->groups},
                                      .block = {THREADS},
                                      .shared = SQUARE * (SQUARE + 4 / size) * size});
    return turned;
}

matmul_gpu implicit_mma_product(const optune_call *call, const conv2d_shape *s)
{
    return (matmul_gpu){
        .b = s->groups,
        .m = s->co_g,
        .n = s->n * s->oh * s->ow,
        .k = implicit_mma_channels(call, s) * s->kh * s->kw,
    };
}

bool implicit_mma_divides(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    const matmul_gpu p = {.m = s.co_g, .n = s.n * s.oh * s.ow, .k = s.ci_g};
    return matmul_gpu_mma_divides(&p, why);
}
