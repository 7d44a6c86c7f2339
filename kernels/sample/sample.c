/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/sample/sample.h declares. */
#include "kernels/sample/sample.h"

bool sample_types(int axes, optune_tensor *data, optune_tensor *at, optune_tensor *out)
{
    bool pixels = optune_tensor_set_rank(data, 2 + axes) &&
                  optune_tensor_set_rank(out, 2 + axes) &&
                  optune_dtype_unify(&data->dtype, &at->dtype) &&
                  optune_dtype_unify(&data->dtype, &out->dtype) && tensor_is_real(data) &&
                  optune_dim_unify(&data->dim[1], &out->dim[1]);
    for (int d = 0; d < axes && pixels; d++)
        pixels = data->dim[2 + d].max >= 1;
    return pixels;
}
