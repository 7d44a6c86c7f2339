/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided_slice: of each dim the elements begin, begin + stride ... before end (behind it, for
 * a negative stride). Negative positions count from the end, and what lies outside is cut off;
 * dims that the lists leave out are whole; `begin` names as many as the others, or more.
 */
#include <string.h>

#include "kernels/host/host.h"
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "begin",
     .kind = OPTUNE_ATTR_INTS,
     .description = "first element of each dim; negative: from the end",
     .shown = true},
    {.name = "end",
     .kind = OPTUNE_ATTR_INTS,
     .description = "one behind the last",
     .shown = true},
    {.name = "strides",
     .kind = OPTUNE_ATTR_INTS,
     .value = "[1]",
     .min = -OPTUNE_MAX_DIM,
     .max = OPTUNE_MAX_DIM,
     .description = "step of each dim",
     .shown = true},
    {.name = NULL},
};

typedef struct range {
    int64_t begin, step, n;
} range;

/* Of a constant dim. */
static range range_of(const optune_call *call, int d, int64_t extent)
{
    const optune_attr *begin = optune_call_attr(call, "begin");
    const optune_attr *end = optune_call_attr(call, "end");
    const optune_attr *strides = optune_call_attr(call, "strides");
    range r = {.begin = 0, .step = 1, .n = extent};
    if (d < strides->n)
        r.step = strides->i[d];
    else if (strides->n == 1)
        r.step = strides->i[0];
    if (d >= begin->n)
        r.step = 1;
    int64_t from = d < begin->n ? begin->i[d] : 0, to = d < end->n ? end->i[d] : extent;
    from += from < 0 ? extent : 0;
    to += to < 0 && d < end->n ? extent : 0;
    const int64_t low = r.step < 0 ? -1 : 0, high = r.step < 0 ? extent - 1 : extent;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    r.begin = from;
    const int64_t span = r.step < 0 ? from - to : to - from;
    const int64_t step = r.step < 0 ? -r.step : r.step;
    r.n = span <= 0 ? 0 : (span + step - 1) / step;
    return r;
}

/* Whether it is all of the dim, however long that turns out to be. */
static bool is_whole(const optune_call *call, int d, const optune_dim *dim)
{
    const optune_attr *end = optune_call_attr(call, "end");
    const int64_t most = host_min(dim->max, OPTUNE_MAX_DIM);
    const range r = range_of(call, d, most);
    return r.n == most && r.step == 1 && optune_call_attr(call, "begin")->i[d] == 0 &&
           (d >= end->n || end->i[d] >= 0);
}

/* Names how long the slice is where that is one formula for every size of the dim: both ends are
 * counted from where they never leave it. */
static void name_slice(const optune_call *call, int d, const optune_dim *in, int64_t step,
                       optune_dim *out)
{
    const optune_attr *end = optune_call_attr(call, "end");
    const int64_t from = optune_call_attr(call, "begin")->i[d], over = step < 0 ? -step : step;
    const int64_t big = INT64_MAX / 4, to = d < end->n ? end->i[d] : big;
    int64_t less = -1; /* what the slice spans is the dim less that */
    if (over > big || from > big || from < -big)
        return;
    if (step > 0 && from >= 0 && (d >= end->n || to >= host_min(in->max, OPTUNE_MAX_DIM)))
        less = from;
    else if (step > 0 && from >= 0 && to < 0 && to > -big)
        less = from - to;
    else if (step < 0 && from < 0 && d < end->n && to < 0 && in->max < big && to + in->max < 0)
        less = -1 - from;
    if (less >= 0 && (less <= in->min || less < over)) /* else one that is shorter is cut */
        optune_dim_compute(out, 1, (const optune_dim *const[]){in}, NULL, over - 1 - less,
                           over);
}

/* How long the slice of a dim is that is a range. It grows with the dim, but for one between a
 * place from the front and one from the end, in this order against its step: that one may also
 * shrink to nothing. */
static bool narrow(const optune_call *call, int d, const optune_dim *in, optune_dim *out)
{
    const optune_attr *begin = optune_call_attr(call, "begin");
    const optune_attr *end = optune_call_attr(call, "end");
    const int64_t most = host_min(in->max, OPTUNE_MAX_DIM), from = begin->i[d];
    const int64_t to = d < end->n ? end->i[d] : most;
    const range longest = range_of(call, d, most), least = range_of(call, d, in->min);
    const bool shrinks = longest.step > 0 ? from < 0 && to >= 0 && to < most
                                          : from >= 0 && to < 0 && to >= -most;
    name_slice(call, d, in, longest.step, out);
    if (in->max == OPTUNE_DIM_MAX && longest.n > OPTUNE_MAX_DIM / 2)
        return true;
    return shrinks ? in->max == OPTUNE_DIM_MAX || host_dim_narrow(out, 0, in->max)
                   : host_dim_narrow(out, least.n, longest.n);
}

/* One way of saying the slice of dims that are known: positions from the front, within the dim,
 * one stride where all are the same, and no dims at the end that are whole. Backwards down to
 * the first element needs an end before it, which can only be said by one that lies outside. */
static void settle_ranges(optune_call *call, int n)
{
    optune_attr *begin = injective_attr(call, "begin"), *end = injective_attr(call, "end");
    optune_attr *strides = injective_attr(call, "strides");
    optune_attr from = {.n = 0}, to = {.n = 0}, step = {.n = 0};
    bool whole = true, same = true;
    for (int d = n - 1; d >= 0; d--) {
        const int64_t extent = call->input[0].type.dim[d].min;
        range r = range_of(call, d, extent);
        if (r.n <= 1)
            r.step = 1;
        if (r.n == 0)
            r.begin = 0;
        const int64_t behind = r.begin + r.n * r.step;
        whole = whole && r.begin == 0 && r.n == extent && r.step == 1;
        if (whole)
            continue;
        from.n = from.n ? from.n : (uint8_t)(d + 1);
        from.i[d] = r.begin;
        to.i[d] = behind < 0 ? -extent - 1 : behind > extent ? extent : behind;
        step.i[d] = r.step;
        same = same && r.step == step.i[from.n - 1];
    }
    step.n = same ? 1 : from.n;
    step.i[0] = from.n ? step.i[0] : 1;
    for (int d = step.n; d < from.n; d++)
        step.i[d] = 0;
    begin->n = end->n = from.n;
    strides->n = step.n;
    memcpy(begin->i, from.i, sizeof begin->i);
    memcpy(end->i, to.i, sizeof end->i);
    memcpy(strides->i, step.i, sizeof strides->i);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const optune_attr *strides = optune_call_attr(call, "strides");
    const int n = optune_call_attr(call, "begin")->n;
    int status = injective_dtypes(call, err);
    for (int i = 0; i < strides->n; i++)
        if (strides->i[i] == 0)
            return optune_fail(err, OPTUNE_ETYPE, "a stride is 0");
    if (optune_call_attr(call, "end")->n > n || strides->n > host_max(n, 1))
        return optune_fail(
            err, OPTUNE_ETYPE,
            "'end' has %d numbers, 'strides' %d: no more than 'begin', which has %d",
            optune_call_attr(call, "end")->n, strides->n, n);
    const int rank = in->rank >= 0 ? in->rank : out->rank;
    if (status < 0 || rank < 0)
        return status < 0 ? status : 1;
    if (n > rank || !optune_tensor_set_rank(in, rank) || !optune_tensor_set_rank(out, rank))
        return optune_types_differ(err, "they have one rank, and 'begin' is no longer", "data",
                                   in, "output", out);
    bool known = true;
    for (int d = 0; d < rank; d++) {
        bool fits = true;
        known = known && (d >= n || optune_dim_known(&in->dim[d]));
        if (d >= n || (!optune_dim_known(&in->dim[d]) && is_whole(call, d, &in->dim[d]))) {
            fits = optune_dim_unify(&in->dim[d], &out->dim[d]);
        } else if (optune_dim_known(&in->dim[d])) {
            optune_dim want = optune_dim_of(range_of(call, d, in->dim[d].min).n);
            fits = optune_dim_unify(&out->dim[d], &want);
        } else {
            fits = narrow(call, d, &in->dim[d], &out->dim[d]);
        }
        if (!fits)
            return optune_types_differ(err, "the slice has another shape", "data", in, "output",
                                       out);
    }
    if (known)
        settle_ranges(call, n);
    return injective_known(call);
}

static int pieces(const optune_call *call, optune_piece *piece)
{
    int64_t stride[OPTUNE_MAX_RANK];
    optune_piece *p = &piece[0];
    *p = injective_whole(call);
    injective_strides(&call->input[0].type, stride);
    for (int d = 0; d < p->rank; d++) {
        const range r = range_of(call, d, call->input[0].type.dim[d].min);
        p->in_stride[d] = stride[d] * r.step;
        p->in_offset += stride[d] * r.begin;
    }
    return 1;
}

void strided_slice_places(const optune_call *call, injective_places *to)
{
    const optune_attr *begin = optune_call_attr(call, "begin");
    const optune_attr *end = optune_call_attr(call, "end");
    *to = injective_axes(call);
    for (int d = 0; d < begin->n; d++) {
        to->step[d] = range_of(call, d, 1).step;
        to->from[d] = begin->i[d];
        to->to[d] = d < end->n ? end->i[d] : INT64_MAX;
    }
}

static const char *const samples[] = {
    "strided_slice(f32[70], begin=[3], end=[60])",
    "strided_slice(f32[70], begin=[3], end=[60], strides=[2])",
    "strided_slice(f32[9,70], begin=[1,2], end=[8,-3])",
    "strided_slice(f32[9,70], begin=[8], end=[0], strides=[-3])",
    "strided_slice(f64[5,40], begin=[0,39], end=[5,3], strides=[1,-2])",
    "strided_slice(i8[3,5,17], begin=[0,1], end=[2,100])",
    NULL,
};

/* One dim of a gradient back to `extent` elements: each to its place, zeros elsewhere. Tensors are
 * [outer][n][inner] here. */
static int spread(optune_grad *grad, int value, host_axis at, const range *r, int64_t extent)
{
    const int64_t step = r->step < 0 ? -r->step : r->step;
    const int64_t first = r->step < 0 ? r->begin + (r->n - 1) * r->step : r->begin;
    const optune_tensor lines = {
        .rank = 3,
        .dim = {optune_dim_of(at.outer), optune_dim_of(at.n), optune_dim_of(at.inner)}};
    value = optune_grad_reshape(grad, value, &lines);
    if (r->step < 0)
        value = optune_grad_call(grad, "reverse", 1, &value, "axis=1");
    if (step > 1) { /* behind each element as many zeros as are stepped over */
        const optune_tensor rows = {
            .rank = 2, .dim = {optune_dim_of(at.outer * at.n), optune_dim_of(at.inner)}};
        const optune_tensor wide = {.rank = 3,
                                    .dim = {optune_dim_of(at.outer), optune_dim_of(at.n * step),
                                            optune_dim_of(at.inner)}};
        value = optune_grad_reshape(grad, value, &rows);
        value = optune_grad_call(grad, "pad", 1, &value, "before=[0,0], after=[0,%" PRId64 "]",
                                 (step - 1) * at.inner);
        value = optune_grad_reshape(grad, value, &wide);
    }
    return optune_grad_call(grad, "pad", 1, &value,
                            "before=[0,%" PRId64 ",0], after=[0,%" PRId64 ",0]", first,
                            extent - first - r->n * step);
}

/* d data = dy where the slice was taken from, 0 elsewhere; whole when the slice is empty */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    const optune_tensor *in = &call->input[0].type;
    if (!optune_tensor_known(in))
        return optune_fail(err, OPTUNE_ETYPE, "this gradient needs constant dims");
    if (optune_tensor_elements(&call->output[0]) == 0)
        return OPTUNE_OK;
    int value = optune_grad_adjoint(grad, 0);
    optune_tensor shape = call->output[0];
    for (int d = 0; d < in->rank; d++) {
        const int64_t extent = in->dim[d].min;
        const range r = range_of(call, d, extent);
        if (r.begin != 0 || r.n != extent || r.step != 1)
            value = spread(grad, value, host_around(&shape, d), &r, extent);
        shape.dim[d] = in->dim[d];
    }
    optune_grad_add(grad, 0, optune_grad_reshape(grad, value, in));
    return OPTUNE_OK;
}

OPTUNE_OP(strided_slice) = {
    .name = "strided_slice",
    .summary = "a part of each dim, every so many elements",
    .support_level = 4,
    .inputs = injective_inputs,
    INJECTIVE_OWN_OP,
};
