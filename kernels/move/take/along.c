/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/take/along.h declares. */
#include "kernels/move/take/along.h"

/* All dims but that of the axis are equal in all three, the indices' are those of each. */
static bool join(optune_tensor *whole, optune_tensor *indices, optune_tensor *each, int axis)
{
    bool same = true;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < whole->rank && same; d++)
            same = optune_dim_unify(&indices->dim[d], &each->dim[d]) &&
                   (d == axis || optune_dim_unify(&whole->dim[d], &indices->dim[d]));
    return same;
}

int along_types(optune_call *call, optune_tensor *whole, optune_tensor *each,
                const char *each_name, optune_err *err)
{
    optune_tensor *indices = &call->input[1].type;
    const char *op = call->op->name;
    char text[HOST_TYPE_TEXT];
    if (!take_is_index(indices->dtype))
        return optune_fail(err, OPTUNE_ETYPE, "%s: indices %s are not i32 or i64", op,
                           host_type_text(indices, text));
    if (!optune_dtype_unify(&whole->dtype, &each->dtype))
        return tensor_misfit(err, op, each_name, each, "data", whole, "their dtypes differ");
    const int rank = whole->rank >= 0     ? whole->rank
                     : indices->rank >= 0 ? indices->rank
                                          : each->rank;
    if (rank < 0)
        return 1;
    if (!optune_tensor_set_rank(whole, rank) || !optune_tensor_set_rank(indices, rank) ||
        !optune_tensor_set_rank(each, rank))
        return tensor_misfit(err, op, "indices", indices, "data", whole, "their ranks differ");
    const int status = host_axis_settle(call, whole, err);
    if (status < 0)
        return status;
    const int axis = take_axis(call);
    if (!join(whole, indices, each, axis))
        return tensor_misfit(err, op, "indices", indices, "data", whole,
                             "only dims along 'axis' may differ");
    if (whole->dim[axis].max == 0 && indices->dim[axis].min > 0)
        return optune_fail(err, OPTUNE_ETYPE, "%s: data %s has nothing along its axis", op,
                           host_type_text(whole, text));
    return optune_tensor_known(whole) && optune_tensor_known(indices) &&
                   optune_tensor_known(each)
               ? OPTUNE_OK
               : 1;
}

int scatter_types(optune_call *call, const char *no_bool, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    if (!tensor_unify(data, out))
        return tensor_misfit(err, call->op->name, "output", out, "data", data,
                             "both have the same type");
    if (data->dtype.code == OPTUNE_DTYPE_BOOL)
        return tensor_misfit(err, call->op->name, "output", out, "data", data, no_bool);
    const int status = along_types(call, data, &call->input[2].type, "updates", err);
    tensor_unify(data, out);
    return status;
}

double scatter_flops(const optune_call *call)
{
    return (double)optune_tensor_elements(&call->input[2].type);
}
