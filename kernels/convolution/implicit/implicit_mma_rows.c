/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/implicit/implicit_mma_rows.h declares. */
#include "kernels/convolution/implicit/implicit_mma_rows.h"

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
