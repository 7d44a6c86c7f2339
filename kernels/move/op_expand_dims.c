/* SPDX-License-Identifier: Apache-2.0 */
/* expand_dims: num_newaxis dims of 1 in front of dim `axis` of data. */
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INT,
     .value = "0",
     .description = "in front of which dim; negative: from the end",
     .shown = true},
    {.name = "num_newaxis",
     .kind = OPTUNE_ATTR_INT,
     .value = "1",
     .description = "how many",
     .min = 0,
     .max = OPTUNE_MAX_RANK},
    {.name = NULL},
};

/* The output dim of dim d of data; negative: ETYPE. */
static int first_new(const optune_call *call, int rank, optune_err *err)
{
    const int64_t axis = optune_call_int(call, "axis");
    const int64_t at = axis < 0 ? axis + rank + 1 : axis;
    if (at >= 0 && at <= rank && rank + optune_call_int(call, "num_newaxis") <= OPTUNE_MAX_RANK)
        return (int)at;
    return optune_fail(err, OPTUNE_ETYPE, "no dims can be added at %lld of %d dims",
                       (long long)axis, rank);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const int more = (int)optune_call_int(call, "num_newaxis");
    const int rank = in->rank >= 0 ? in->rank : out->rank - more;
    int status = injective_dtypes(call, err);
    if (status < 0 || rank < 0)
        return status < 0 ? status : 1;
    const int at = first_new(call, rank, err);
    if (at < 0)
        return at;
    injective_attr(call, "axis")->i[0] = more ? at : 0;
    bool fits = optune_tensor_set_rank(in, rank) && optune_tensor_set_rank(out, rank + more);
    optune_dim one = optune_dim_of(1);
    for (int d = 0; d < rank && fits; d++)
        fits = optune_dim_unify(&in->dim[d], &out->dim[d < at ? d : d + more]);
    for (int d = at; d < at + more && fits; d++)
        fits = optune_dim_unify(&out->dim[d], &one);
    if (!fits)
        return optune_types_differ(err, "the output is data with dims of 1 added", "data", in,
                                   "output", out);
    return injective_known(call);
}

static const char *const samples[] = {
    "expand_dims(f32[7], axis=0)",
    "expand_dims(f32[5,9], axis=1, num_newaxis=2)",
    "expand_dims(f32[5,9], axis=-1)",
    "expand_dims(i32[], axis=0)",
    NULL,
};

OPTUNE_OP(expand_dims) = {
    .name = "expand_dims",
    .summary = "dims of 1 added",
    .support_level = 1,
    .attrs = attrs,
    .types = types,
    .samples = samples,
    INJECTIVE_FLAT_OP,
};
