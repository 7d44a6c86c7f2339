/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/dense_gpu.h declares. */
#include "kernels/matmul/gpu/dense_gpu.h"

matmul_gpu dense_gpu(const optune_call *call)
{
    const dense_shape s = dense_shape_of(call);
    return (matmul_gpu){
        .b = 1,
        .m = s.m,
        .n = s.n,
        .k = s.k,
        .m_varies = s.m_varies,
        .x_shared = true,
        .y_shared = true,
        .f64 = s.f64,
        .has_bias = s.bias,
        .bias = optune_input_arg(DENSE_BIAS),
        .rows = optune_dim_arg(DENSE_DATA, 0),
    };
}
