/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/forward.h declares. */
#include "kernels/pool/forward.h"

double pool_forward_flops(const optune_call *call)
{
    pool_shape s;
    return pool_forward_shape(call, &s) && optune_tensor_known(&call->output[0])
               ? (double)optune_tensor_elements(&call->output[0]) *
                     (double)(s.y.kernel * s.x.kernel)
               : 0;
}

void pool_forward_reference(const optune_call *call, const void *const *in,
                            const optune_region *region, double *out, double *magnitude,
                            pool_visit each)
{
    pool_walk w = {.in = in, .out = out, .magnitude = magnitude};
    if (pool_forward_shape(call, &w.s))
        pool_reference(call, w, region, each);
}
