/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/sample/sample.h declares. */
#include "kernels/sample/sample.h"

bool sample_types(optune_tensor *data, optune_tensor *at, optune_tensor *out)
{
    return optune_tensor_set_rank(data, 4) && optune_tensor_set_rank(out, 4) &&
           optune_dtype_unify(&data->dtype, &at->dtype) &&
           optune_dtype_unify(&data->dtype, &out->dtype) && tensor_is_real(data) &&
           optune_dim_unify(&data->dim[1], &out->dim[1]) && data->dim[2].max >= 1 &&
           data->dim[3].max >= 1;
}
