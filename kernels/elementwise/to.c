/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/elementwise/to.h declares. */
#include "kernels/elementwise/to.h"

int broadcast_to_output(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    bool known = true;
    if (!optune_dtype_unify(&data->dtype, &out->dtype))
        return optune_types_differ(err, "their dtypes differ", "data", data, "output", out);
    if (data->rank >= 0 && out->rank >= 0 && data->rank > out->rank)
        return optune_types_differ(err, "data has more dims", "data", data, "output", out);
    for (int d = 1; d <= data->rank && d <= out->rank; d++) {
        optune_dim *from = &data->dim[data->rank - d], *to = &out->dim[out->rank - d];
        if ((from->min > 1 || from->max < 1) && !optune_dim_unify(from, to))
            return optune_types_differ(err, "a dim that is not 1 is the output's", "data", data,
                                       "output", out);
    }
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    return known && optune_tensor_known(out) ? OPTUNE_OK : 1;
}

int broadcast_to_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0, optune_grad_adjoint(grad, 0));
    return OPTUNE_OK;
}
