/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape: the same values in the same order in another shape. In newshape 0 keeps the dim of data
 * at that place and one -1 is what is left.
 */
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "newshape",
     .kind = OPTUNE_ATTR_INTS,
     .description = "dims; 0: as data's at that place, -1: what is left",
     .min = -1,
     .max = OPTUNE_MAX_DIM,
     .shown = true},
    {.name = NULL},
};

/* What the dims of `newshape` are, as far as data tells; -1: not yet. */
static int wanted(const optune_call *call, int64_t dim[OPTUNE_MAX_LIST], optune_err *err)
{
    const optune_attr *shape = optune_call_attr(call, "newshape");
    const optune_tensor *in = &call->input[0].type;
    int64_t product = 1;
    int open = -1;
    bool known = optune_tensor_known(in);
    for (int d = 0; d < shape->n; d++) {
        dim[d] = shape->i[d];
        if (dim[d] == 0)
            dim[d] = in->rank < 0                                    ? -1
                     : d < in->rank && optune_dim_known(&in->dim[d]) ? in->dim[d].min
                                                                     : -1;
        else if (dim[d] == -1 && open >= 0)
            return optune_fail(err, OPTUNE_ETYPE, "'newshape' has more than one -1");
        else if (dim[d] == -1)
            open = d;
        if (__builtin_mul_overflow(product, dim[d] < 0 ? 1 : dim[d], &product))
            return optune_fail(err, OPTUNE_ELIMIT,
                               "'newshape' has more elements than can be counted");
    }
    if (!known)
        return 1;
    const int64_t all = optune_tensor_elements(in);
    if (open >= 0 && product > 0 && all % product == 0)
        dim[open] = all / product;
    if (open >= 0 ? dim[open] < 0 : product != all)
        return optune_fail(err, OPTUNE_ETYPE, "'newshape' holds %lld elements, data %lld",
                           (long long)product, (long long)all);
    return OPTUNE_OK;
}

static int types(optune_call *call, optune_err *err)
{
    int64_t dim[OPTUNE_MAX_LIST];
    optune_tensor *out = &call->output[0];
    const int n = optune_call_attr(call, "newshape")->n;
    bool known = true;
    int status = injective_dtypes(call, err);
    if (status < 0 || (status = wanted(call, dim, err)) < 0)
        return status;
    if (n > OPTUNE_MAX_RANK || !optune_tensor_set_rank(out, n))
        return optune_types_differ(err, "the output has as many dims as newshape", "data",
                                   &call->input[0].type, "output", out);
    for (int d = 0; d < n; d++) {
        optune_dim want = optune_dim_of(dim[d]);
        if (dim[d] >= 0 && !optune_dim_unify(&out->dim[d], &want))
            return optune_types_differ(err, "the output has the shape of newshape", "data",
                                       &call->input[0].type, "output", out);
        known = known && dim[d] > 0;
    }
    /* The dims themselves, once they are known: 0 and -1 stand for some of them. */
    for (int d = 0; d < n && known; d++)
        injective_attr(call, "newshape")->i[d] = dim[d];
    return injective_known(call);
}

static const char *const samples[] = {
    "reshape(f32[12], newshape=[3,4])",     "reshape(f32[3,5,14], newshape=[0,-1])",
    "reshape(f32[3,5,14], newshape=[210])", "reshape(f64[2,65], newshape=[5,-1,2])",
    "reshape(i8[300], newshape=[3,100])",   NULL,
};

OPTUNE_OP(reshape) = {
    .name = "reshape",
    .summary = "the same values in another shape",
    .support_level = 3,
    .attrs = attrs,
    .types = types,
    .samples = samples,
    INJECTIVE_FLAT_OP,
};
