/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/batch_matmul_gpu.h declares. */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"

matmul_gpu batch_matmul_gpu(const optune_call *call)
{
    const batch_matmul_shape s = batch_matmul_shape_of(call);
    return (matmul_gpu){
        .b = s.b,
        .m = s.m,
        .n = s.n,
        .k = s.k,
        .b_varies = s.b_varies,
        .m_varies = s.m_varies,
        .x_along = s.transpose_a,
        .y_along = !s.transpose_b,
        .x_shared = s.x_shared,
        .y_shared = s.y_shared,
        .f64 = s.f64,
        .batches = optune_dim_arg(s.batch_of_y ? BATCH_MATMUL_Y : BATCH_MATMUL_X, 0),
        .rows = optune_dim_arg(BATCH_MATMUL_X, 1),
    };
}
