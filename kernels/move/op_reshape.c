/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape: the same values in the same order in another shape. In newshape 0 keeps the dim of data
 * at that place, -2 the one at that place counted from the last, and one -1 is what is left.
 */
#include "kernels/host/host.h"
#include "kernels/host/window.h"
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "newshape",
     .kind = OPTUNE_ATTR_INTS,
     .description = "dims; 0: as data's at that place, -2: likewise from the last, -1: what is "
                    "left",
     .min = -2,
     .max = OPTUNE_MAX_DIM,
     .shown = true},
    {.name = NULL},
};

/* Which dim of data the dim of the output is by 0 or -2; -1: by neither. */
static int kept(const optune_attr *shape, int rank, int d)
{
    return shape->i[d] == 0 ? d : shape->i[d] == -2 ? rank - (shape->n - d) : -1;
}

static bool is_kept(const optune_attr *shape, int rank, int dim)
{
    for (int d = 0; d < shape->n; d++)
        if (kept(shape, rank, d) == dim)
            return true;
    return false;
}

/* Elements of data and of `newshape`, without the dims that it keeps and the one that is left:
 * data's as a range, and how many of them there are beside dims that are open. */
typedef struct sides {
    int64_t low, high, factor, shape;
    int n_open, open; /* dims of data that are no constants; one of them */
    int left;         /* the place of -1; -1: there is none */
} sides;

static int count(const optune_call *call, sides *s, optune_err *err)
{
    const optune_attr *shape = optune_call_attr(call, "newshape");
    const optune_tensor *in = &call->input[0].type;
    *s = (sides){.low = 1, .high = 1, .factor = 1, .shape = 1, .left = -1};
    for (int d = 0; d < shape->n; d++) {
        if (shape->i[d] == -1 && s->left >= 0)
            return optune_fail(err, OPTUNE_ETYPE, "'newshape' has more than one -1");
        if (shape->i[d] == -1)
            s->left = d;
        else if (shape->i[d] > 0 && __builtin_mul_overflow(s->shape, shape->i[d], &s->shape))
            return optune_fail(err, OPTUNE_ELIMIT,
                               "'newshape' has more elements than can be counted");
    }
    for (int d = 0; d < in->rank; d++) {
        const optune_dim *dim = &in->dim[d];
        if (is_kept(shape, in->rank, d))
            continue;
        s->low = host_dim_times(s->low, dim->min);
        s->high = host_dim_times(s->high, dim->max);
        if (optune_dim_known(dim))
            s->factor = host_dim_times(s->factor, dim->min);
        else
            s->open = d;
        s->n_open += !optune_dim_known(dim);
    }
    return OPTUNE_OK;
}

static int miscounted(const sides *s, optune_err *err)
{
    return optune_fail(err, OPTUNE_ETYPE,
                       "'newshape' holds %lld elements, data %lld, beside dims that are kept",
                       (long long)s->shape, (long long)s->low);
}

/* What is left is the product of the dims that are not kept, over the others of the shape. */
static void name_left(const optune_call *call, const sides *s, optune_dim *left)
{
    const optune_attr *shape = optune_call_attr(call, "newshape");
    const optune_tensor *in = &call->input[0].type;
    const optune_dim *factor[OPTUNE_MAX_RANK];
    int n = 0;
    for (int d = 0; d < in->rank; d++)
        if (!is_kept(shape, in->rank, d))
            factor[n++] = &in->dim[d];
    if (s->shape > 0)
        optune_dim_multiply(left, n, factor, s->shape);
}

/* As many elements on both sides: what -1 stands for, or an open dim where all others are known. */
static bool join(optune_call *call, const sides *s)
{
    optune_dim *open = &call->input[0].type.dim[s->open], all = optune_dim_of(s->shape);
    const bool one = s->n_open == 1 && s->factor > 0;
    if (s->left < 0)
        return one ? window_proportional(open, s->factor, &all, 1)
                   : s->low <= s->shape && s->shape <= s->high;
    optune_dim *left = &call->output[0].dim[s->left];
    name_left(call, s, left);
    if (one)
        return window_proportional(open, s->factor, left, s->shape);
    return s->high == OPTUNE_DIM_MAX ||
           ((s->n_open || s->low % s->shape == 0) &&
            host_dim_narrow(left, (s->low + s->shape - 1) / s->shape, s->high / s->shape));
}

/* Whether it keeps a dim that data has and no other keeps. */
static bool keeps_one(const optune_attr *shape, int rank, int d)
{
    const int dim = kept(shape, rank, d);
    for (int other = 0; other < d; other++)
        if (kept(shape, rank, other) == dim)
            return false;
    return dim >= 0 && dim < rank;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    optune_attr *shape = injective_attr(call, "newshape");
    sides s;
    int status = injective_dtypes(call, err);
    if (status < 0 || (status = count(call, &s, err)) < 0)
        return status;
    if (shape->n > OPTUNE_MAX_RANK || !optune_tensor_set_rank(out, shape->n))
        return optune_types_differ(err, "the output has as many dims as newshape", "data", in,
                                   "output", out);
    bool fits = true;
    for (int d = 0; d < shape->n && fits; d++) {
        optune_dim want = optune_dim_of(shape->i[d]);
        if (shape->i[d] > 0)
            fits = optune_dim_unify(&out->dim[d], &want);
        else if (shape->i[d] != -1 && in->rank >= 0)
            fits = keeps_one(shape, in->rank, d) &&
                   optune_dim_unify(&out->dim[d], &in->dim[kept(shape, in->rank, d)]);
    }
    if (!fits)
        return optune_types_differ(err, "the output has the shape of newshape", "data", in,
                                   "output", out);
    if (in->rank >= 0 && !join(call, &s))
        return miscounted(&s, err);
    /* The dims themselves, once they are known: 0, -1 and -2 stand for some of them. */
    bool known = true;
    for (int d = 0; d < shape->n; d++)
        known = known && optune_dim_known(&out->dim[d]) && out->dim[d].min > 0;
    for (int d = 0; d < shape->n && known; d++)
        shape->i[d] = out->dim[d].min;
    return injective_known(call);
}

static const char *const samples[] = {
    "reshape(f32[12], newshape=[3,4])",
    "reshape(f32[3,5,14], newshape=[0,-1])",
    "reshape(f32[3,5,14], newshape=[210])",
    "reshape(f64[2,65], newshape=[5,-1,2])",
    "reshape(i8[300], newshape=[3,100])",
    "reshape(f32[2,3,5,14], newshape=[-1,-2,-2])",
    "reshape(f32[6,5,14], newshape=[-1,3,-2,-2])",
    NULL,
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
