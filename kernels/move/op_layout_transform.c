/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_transform: data in another layout. A layout is one letter a dim, as in NCHW; a number and
 * a small letter split that axis, as in NCHW16c, where the axis must divide. Splits of one axis on
 * both sides must divide one another. Both layouts have the same axes.
 */
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "src_layout", .kind = OPTUNE_ATTR_WORD, .description = "data's", .shown = true},
    {.name = "dst_layout",
     .kind = OPTUNE_ATTR_WORD,
     .description = "the output's",
     .shown = true},
    {.name = NULL},
};

typedef struct layout {
    int n;
    char axis[OPTUNE_MAX_RANK];      /* capital */
    int64_t factor[OPTUNE_MAX_RANK]; /* of a small letter; 0: a capital one */
} layout;

static int parse(const char *text, layout *l, optune_err *err)
{
    *l = (layout){.n = 0};
    for (const char *p = text; *p; l->n++) {
        int64_t factor = 0;
        while (*p >= '0' && *p <= '9' && factor < 1 << 20)
            factor = factor * 10 + *p++ - '0';
        const bool small = *p >= 'a' && *p <= 'z';
        if (l->n == OPTUNE_MAX_RANK || small != (factor > 0) ||
            !(small || (*p >= 'A' && *p <= 'Z')))
            return optune_fail(err, OPTUNE_ETYPE, "'%s' is no layout like NCHW or NCHW16c",
                               text);
        l->axis[l->n] = (char)(small ? *p - 'a' + 'A' : *p);
        l->factor[l->n] = factor;
        p++;
    }
    return OPTUNE_OK;
}

/* The dim of an axis (factor 0) or of its split; -1: there is none. */
static int find(const layout *l, char axis, bool split)
{
    for (int d = 0; d < l->n; d++)
        if (l->axis[d] == axis && (l->factor[d] > 0) == split)
            return d;
    return -1;
}

static int64_t factor_of(const layout *l, char axis)
{
    const int d = find(l, axis, true);
    return d < 0 ? 1 : l->factor[d];
}

static int layouts(const optune_call *call, layout *from, layout *to, optune_err *err)
{
    int status = parse(optune_call_word(call, "src_layout"), from, err);
    if (status >= 0)
        status = parse(optune_call_word(call, "dst_layout"), to, err);
    if (status < 0)
        return status;
    const layout *const both[] = {from, to};
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < both[side]->n; d++) {
            const char axis = both[side]->axis[d];
            const int64_t a = factor_of(from, axis), b = factor_of(to, axis);
            if (find(both[side], axis, both[side]->factor[d] > 0) != d)
                return optune_fail(err, OPTUNE_ETYPE, "a layout has axis %c twice", axis);
            if (find(from, axis, false) < 0 || find(to, axis, false) < 0)
                return optune_fail(err, OPTUNE_ETYPE, "only one layout has axis %c", axis);
            if (a % b != 0 && b % a != 0)
                return optune_fail(
                    err, OPTUNE_ETYPE,
                    "blocks of %lld and %lld of axis %c do not divide one another",
                    (long long)a, (long long)b, axis);
        }
    return OPTUNE_OK;
}

/* The whole extent of an axis, or -1. */
static int64_t extent_of(const layout *l, const optune_tensor *type, char axis)
{
    const optune_dim *dim = &type->dim[find(l, axis, false)];
    return optune_dim_known(dim) ? dim->min * factor_of(l, axis) : -1;
}

/* What one side knows of the other's dims. */
static int push(const layout *a, const optune_tensor *known, const layout *b,
                optune_tensor *other, optune_err *err)
{
    for (int d = 0; d < b->n; d++) {
        int64_t value = b->factor[d];
        if (value == 0) {
            const int64_t all = extent_of(a, known, b->axis[d]), f = factor_of(b, b->axis[d]);
            if (all < 0)
                continue;
            if (all % f != 0)
                return optune_fail(err, OPTUNE_ETYPE, "axis %c of %lld has no blocks of %lld",
                                   b->axis[d], (long long)all, (long long)f);
            value = all / f;
        }
        optune_dim want = optune_dim_of(value);
        if (!optune_dim_unify(&other->dim[d], &want))
            return optune_types_differ(err, "their layouts hold different shapes", "data",
                                       known, "output", other);
    }
    return OPTUNE_OK;
}

/* A range of an axis that the other side cuts in larger blocks: where it holds one multiple of
 * these, that is the size; none is a conflict. */
static int settle_blocks(const layout *a, optune_tensor *type, const layout *b, optune_err *err)
{
    for (int d = 0; d < a->n; d++) {
        const int64_t own = factor_of(a, a->axis[d]), other = factor_of(b, a->axis[d]);
        optune_dim *dim = &type->dim[d];
        if (a->factor[d] || other <= own || optune_dim_known(dim) || dim->max > OPTUNE_MAX_DIM)
            continue;
        const int64_t by = other / own, least = (dim->min + by - 1) / by, most = dim->max / by;
        if (least > most)
            return optune_fail(
                err, OPTUNE_ETYPE, "axis %c of %lld to %lld has no blocks of %lld", a->axis[d],
                (long long)(dim->min * own), (long long)(dim->max * own), (long long)other);
        if (least == most)
            *dim = optune_dim_of(most * by);
    }
    return OPTUNE_OK;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    layout from, to;
    int status = injective_dtypes(call, err);
    if (status < 0 || (status = layouts(call, &from, &to, err)) < 0)
        return status;
    if (!optune_tensor_set_rank(in, from.n) || !optune_tensor_set_rank(out, to.n))
        return optune_types_differ(err, "a layout has a letter for each dim", "data", in,
                                   "output", out);
    /* Symbolic dims that no split touches are one. */
    for (int d = 0; d < from.n; d++) {
        const int k = find(&to, from.axis[d], false);
        if (factor_of(&from, from.axis[d]) == factor_of(&to, from.axis[d]) && !from.factor[d] &&
            !optune_dim_unify(&in->dim[d], &out->dim[k]))
            return optune_types_differ(err, "an axis changes its extent", "data", in, "output",
                                       out);
    }
    if ((status = settle_blocks(&from, in, &to, err)) < 0 ||
        (status = settle_blocks(&to, out, &from, err)) < 0 ||
        (status = push(&from, in, &from, in, err)) < 0 ||
        (status = push(&from, in, &to, out, err)) < 0 ||
        (status = push(&to, out, &from, in, err)) < 0)
        return status;
    return injective_known(call);
}

/* How far one step of `size` elements of an axis moves in a layout. */
static int64_t step_of(const layout *l, const int64_t *stride, char axis, int64_t size)
{
    const int64_t factor = factor_of(l, axis);
    const int d = find(l, axis, false), small = find(l, axis, true);
    return size >= factor ? size / factor * stride[d] : size * stride[small];
}

static int pieces(const optune_call *call, optune_piece *piece)
{
    int64_t in[OPTUNE_MAX_RANK], out[OPTUNE_MAX_RANK];
    layout from, to;
    layouts(call, &from, &to, NULL);
    injective_strides(&call->input[0].type, in);
    injective_strides(&call->output[0], out);
    optune_piece *p = &piece[0];
    *p = (optune_piece){.input = 0};
    for (int d = 0; d < to.n; d++) {
        if (to.factor[d])
            continue;
        const char axis = to.axis[d];
        const int64_t a = factor_of(&from, axis), b = factor_of(&to, axis);
        const int64_t small = a < b ? a : b, large = a < b ? b : a;
        const int64_t size[] = {large, small, 1};
        int64_t inside = extent_of(&to, &call->output[0], axis);
        for (int k = 0; k < 3; k++) {
            p->extent[p->rank] = inside / size[k];
            p->in_stride[p->rank] = step_of(&from, in, axis, size[k]);
            p->out_stride[p->rank] = step_of(&to, out, axis, size[k]);
            /* How many blocks there are depends on the dim; what a block is made of does not. */
            if (k == 0 || p->extent[p->rank] > 1)
                p->rank++;
            inside = size[k];
        }
    }
    return 1;
}

static void places_of(const layout *l, const layout *axes, injective_dim *dim)
{
    for (int d = 0; d < l->n; d++) {
        const int64_t within = l->factor[d];
        dim[d] = (injective_dim){.axis = find(axes, l->axis[d], false),
                                 .unit = within ? 1 : factor_of(l, l->axis[d]),
                                 .within = within};
    }
}

void layout_transform_places(const optune_call *call, injective_places *to)
{
    layout from, into;
    layouts(call, &from, &into, NULL);
    *to = (injective_places){.axes = from.n, .n_in = from.n, .n_out = into.n, .joined = -1};
    places_of(&from, &from, to->in);
    places_of(&into, &from, to->out);
}

static const char *const resnet50[] = {
    "layout_transform(f32[1,64,56,56], src_layout=NCHW, dst_layout=NCHW16c)",
    "layout_transform(f32[1,4,56,56,16], src_layout=NCHW16c, dst_layout=NCHW)",
    "layout_transform(f32[1,2048,7,7], src_layout=NCHW, dst_layout=NCHW16c)",
    "layout_transform(f32[1,128,7,7,16], src_layout=NCHW16c, dst_layout=NCHW)",
    NULL,
};

static const char *const large[] = {
    "layout_transform(f32[64,512,64,64], src_layout=NCHW, dst_layout=NCHW16c)",
    "layout_transform(f32[64,32,64,64,16], src_layout=NCHW16c, dst_layout=NCHW)",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "in and out of blocks of 16 channels", resnet50},
    {"large", "512 MB: limited by memory", large},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "layout_transform(f32[1,16,3,3], src_layout=NCHW, dst_layout=NCHW8c)",
    "layout_transform(f32[2,32,7,5], src_layout=NCHW, dst_layout=NCHW16c)",
    "layout_transform(f32[2,2,7,5,16], src_layout=NCHW16c, dst_layout=NCHW)",
    "layout_transform(f32[1,4,3,7,8], src_layout=NCHW8c, dst_layout=NCHW16c)",
    "layout_transform(f32[2,12,9,5], src_layout=NCHW, dst_layout=NHWC)",
    "layout_transform(f64[2,9,5,16], src_layout=NHWC, dst_layout=NCHW8c)",
    "layout_transform(i8[1,8,5,5], src_layout=NCHW, dst_layout=NCHW4c)",
    "layout_transform(f32[32,16,3,3], src_layout=OIHW, dst_layout=OIHW8i16o)",
    "layout_transform(f32[1,32,13,11], src_layout=NCHW, dst_layout=NCHW16c)",
    "layout_transform(bf16[2,48,12,11], src_layout=NCHW, dst_layout=NHWC)",
    NULL,
};

/* d data = dy in the layout of data */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0,
                    optune_grad_call(grad, "layout_transform", 1, &dy,
                                     "src_layout=%s, dst_layout=%s",
                                     optune_call_word(call, "dst_layout"),
                                     optune_call_word(call, "src_layout")));
    return OPTUNE_OK;
}

OPTUNE_OP(layout_transform) = {
    .name = "layout_transform",
    .summary = "data in another layout",
    .support_level = 5,
    .inputs = injective_inputs,
    .presets = presets,
    INJECTIVE_OWN_OP,
};
