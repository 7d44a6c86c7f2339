/* SPDX-License-Identifier: Apache-2.0 */
/* pad: data with a number around it; negative widths cut off. Lists name every dim. */
#include <math.h>
#include <stdio.h>

#include "kernels/host/host.h"
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "before",
     .kind = OPTUNE_ATTR_INTS,
     .min = -OPTUNE_MAX_DIM,
     .max = OPTUNE_MAX_DIM,
     .description = "how many in front of each dim",
     .shown = true},
    {.name = "after",
     .kind = OPTUNE_ATTR_INTS,
     .min = -OPTUNE_MAX_DIM,
     .max = OPTUNE_MAX_DIM,
     .description = "how many behind each dim",
     .shown = true},
    {.name = "value",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "0.0",
     .description = "what is put there"},
    {.name = NULL},
};

/* One side from the other, which has `more` or, where that is negative, less; false when they do
 * not fit. */
static bool join(optune_dim *in, optune_dim *out, int64_t more)
{
    if (in->min > OPTUNE_MAX_DIM - more || in->max + (more < 0 ? more : 0) < 0)
        return false;
    optune_dim_compute(out, 1, (const optune_dim *const[]){in}, NULL, more, 1);
    return (in->max == OPTUNE_DIM_MAX ||
            host_dim_narrow(out, host_dim_plus(in->min, more), host_dim_plus(in->max, more))) &&
           (out->max == OPTUNE_DIM_MAX ||
            (out->max >= more && host_dim_narrow(in, host_dim_plus(out->min, -more),
                                                 host_dim_plus(out->max, -more))));
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const optune_attr *before = optune_call_attr(call, "before");
    const optune_attr *after = optune_call_attr(call, "after");
    const int rank = before->n, status = injective_dtypes(call, err);
    if (status < 0)
        return status;
    if (after->n != rank || rank > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ETYPE, "'before' and 'after' differ in length");
    bool fits = optune_tensor_set_rank(in, rank) && optune_tensor_set_rank(out, rank);
    for (int d = 0; d < rank && fits; d++) {
        const int64_t front = before->i[d] < 0 ? -before->i[d] : 0;
        const int64_t back = after->i[d] < 0 ? -after->i[d] : 0;
        fits = join(&in->dim[d], &out->dim[d], before->i[d] + after->i[d]) &&
               (!optune_dim_known(&in->dim[d]) || front + back <= in->dim[d].min);
    }
    return fits ? injective_known(call)
                : optune_types_differ(err, "the output is not as long as data and padding",
                                      "data", in, "output", out);
}

/* The value as the dtype has it: integers are cut off towards 0. */
static double fill_of(const optune_call *call)
{
    const optune_dtype dtype = call->output[0].dtype;
    const double value = optune_call_attr(call, "value")->f;
    const bool whole = dtype.code == OPTUNE_DTYPE_INT || dtype.code == OPTUNE_DTYPE_UINT;
    return optune_number_in(dtype, whole ? trunc(value) : value);
}

/* The data in the middle, and for each dim a slab in front of it and one behind: as wide as the
 * data in the dims before it, as wide as the output in those after it. */
static int pieces(const optune_call *call, optune_piece *piece)
{
    const optune_tensor *in = &call->input[0].type;
    const int64_t *before = optune_call_ints(call, "before");
    const int64_t *after = optune_call_ints(call, "after");
    int64_t stride[OPTUNE_MAX_RANK], offset = 0;
    const double fill = fill_of(call);
    optune_piece inner = injective_whole(call);
    injective_strides(in, stride);
    int n = 1;
    for (int d = 0; d < inner.rank; d++) {
        const int64_t all = inner.extent[d], front = before[d] > 0 ? before[d] : 0;
        const int64_t back = after[d] > 0 ? after[d] : 0;
        for (int side = 0; side < 2; side++) {
            optune_piece slab = inner;
            slab.input = -1;
            slab.fill = fill;
            slab.extent[d] = side ? back : front;
            slab.out_offset = offset + (side ? all - back : 0) * inner.out_stride[d];
            if (slab.extent[d])
                piece[n++] = slab;
        }
        offset += front * inner.out_stride[d];
        inner.extent[d] = all - front - back;
        inner.in_stride[d] = stride[d];
        inner.in_offset += (before[d] < 0 ? -before[d] : 0) * stride[d];
    }
    inner.out_offset = offset;
    piece[0] = inner;
    return n;
}

void pad_places(const optune_call *call, injective_places *to)
{
    *to = injective_axes(call);
    to->fill = fill_of(call);
    for (int d = 0; d < to->axes; d++) {
        to->from[d] = optune_call_ints(call, "before")[d];
        to->to[d] = optune_call_ints(call, "after")[d];
    }
}

/* "a,b": the list with its signs turned. */
static void negated(const optune_attr *list, char *to, size_t size)
{
    size_t n = 0;
    *to = '\0';
    for (int d = 0; d < list->n; d++)
        n += (size_t)snprintf(to + n, size - n, "%s%lld", d ? "," : "", -(long long)list->i[d]);
}

/* What was put around is cut off, what was cut off gets zeros. */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    char before[24 * OPTUNE_MAX_LIST], after[24 * OPTUNE_MAX_LIST];
    const int dy = optune_grad_adjoint(grad, 0);
    negated(optune_call_attr(call, "before"), before, sizeof before);
    negated(optune_call_attr(call, "after"), after, sizeof after);
    optune_grad_add(
        grad, 0,
        optune_grad_call(grad, "pad", 1, &dy, "before=[%s], after=[%s]", before, after));
    return OPTUNE_OK;
}

static const char *const samples[] = {
    "pad(f32[7], before=[2], after=[3])",
    "pad(f32[5,70], before=[0,1], after=[2,0], value=-1.5)",
    "pad(f32[2,3,20,17], before=[0,0,1,2], after=[0,0,3,1])",
    "pad(f64[9,40], before=[-2,3], after=[1,-5])",
    "pad(i8[3,5,17], before=[1,1,1], after=[1,1,1], value=-7.5)",
    "pad(u1[9,20], before=[1,0], after=[0,2], value=3.0)",
    NULL,
};

OPTUNE_OP(pad) = {
    .name = "pad",
    .summary = "data with a number around it",
    .support_level = 2,
    .inputs = injective_inputs,
    INJECTIVE_OWN_OP,
};
