/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/global/global_avg_pool2d.h declares. */
#include "kernels/pool/global/global_avg_pool2d.h"

bool global_shape_of(const optune_call *call, global_shape *s)
{
    const optune_tensor *data = &call->input[0].type;
    *s = (global_shape){0};
    bool known = data->rank > 0 && call->output[0].rank > 0;
    for (int d = 1; d < data->rank; d++)
        known = known && optune_dim_known(&data->dim[d]);
    if (!known)
        return false;
    const int64_t images = optune_dim_known(&data->dim[0]) ? data->dim[0].min : 1;
    *s = (global_shape){.planes = images * data->dim[1].min,
                        .pixels = data->dim[2].min * data->dim[3].min,
                        .block = data->rank == 5 ? data->dim[4].min : 1,
                        .f64 = data->dtype.bits == 64};
    return true;
}
