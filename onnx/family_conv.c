/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions over lines, images and volumes; a batch normalisation behind one goes into its
 * weights. */
#include <string.h>

#include "onnx/onnx.h"

typedef struct weights {
    ot_onnx_value *weight, *bias; /* [O,I,KH,KW]; [O], or NULL */
} weights;

/* weight * scale by output channel, bias * scale + shift. */
static int normalise(ot_onnx_node *norm, int64_t channels, weights *w)
{
    ot_onnx_value *scale, *shift;
    const int status = ot_onnx_affine(norm, &scale, &shift);
    if (status < 0)
        return status;
    if (ot_onnx_type(norm->m, scale)->dim[0].min != channels)
        return ot_onnx_refuse(norm, "its parameters are not as long as it has channels");
    const int64_t each[] = {channels, 1, 1, 1};
    const optune_dtype dtype = ot_onnx_type(norm->m, w->weight)->dtype;
    ot_onnx_value *weight = ot_onnx_wide(norm, w->weight), *bias = ot_onnx_wide(norm, w->bias);
    if (!weight)
        return norm->err->status;
    scale = ot_onnx_as(norm, scale, ot_onnx_type(norm->m, weight)->dtype);
    shift = ot_onnx_as(norm, shift, ot_onnx_type(norm->m, weight)->dtype);
    if (!scale || !shift)
        return norm->err->status;
    weight = ot_onnx_2(norm, "multiply", weight, ot_onnx_reshape(norm, scale, 4, each));
    bias =
        bias ? ot_onnx_2(norm, "add", ot_onnx_2(norm, "multiply", bias, scale), shift) : shift;
    w->weight = ot_onnx_as(norm, weight, dtype);
    w->bias = ot_onnx_as(norm, bias, dtype);
    return w->weight && w->bias ? OPTUNE_OK : norm->err->status;
}

/* Behind the channels, dim 1, stand `behind` dims. */
static ot_onnx_value *biased(ot_onnx_node *n, ot_onnx_value *value, ot_onnx_value *bias,
                             int behind)
{
    if (!bias || !value)
        return value;
    const optune_tensor *to = ot_onnx_type(n->m, value), *type = ot_onnx_type(n->m, bias);
    if (type->rank != 1 || (optune_dim_known(&to->dim[1]) && optune_dim_known(&type->dim[0]) &&
                            to->dim[1].min != type->dim[0].min)) {
        ot_onnx_refuse(n, "its bias is no list of a number for each of its channels");
        return NULL;
    }
    return ot_onnx_2(n, "add", value,
                     ot_onnx_reshape(n, bias, 1 + behind, (const int64_t[]){-1, 1, 1, 1}));
}

/* The weight; of operators that have its input channels last, with them in front of the window. */
static ot_onnx_value *weight_of(ot_onnx_node *n)
{
    ot_onnx_value *weight = ot_onnx_need(n, 1);
    if (!weight || !n->op->arg)
        return weight;
    if (ot_onnx_rank(n, weight) == 4)
        return ot_onnx_transpose(n, weight, 4, (const int[]){0, 3, 1, 2});
    ot_onnx_refuse(n, "a weight of %d dims: only 4 are supported", ot_onnx_rank(n, weight));
    return NULL;
}

/* The weight with two dims to slide over, and its dims; `most` of them. */
static ot_onnx_value *plane_weight(ot_onnx_node *n, int most, int64_t dim[OPTUNE_MAX_RANK],
                                   int *rank)
{
    ot_onnx_value *weight = weight_of(n);
    if (!weight || !ot_onnx_dims(n, weight, dim))
        return NULL;
    *rank = ot_onnx_rank(n, weight);
    if (*rank < 3 || *rank > most) {
        ot_onnx_refuse(n, "a weight of %d dims: only 3 to %d are supported", *rank, most);
        return NULL;
    }
    if (*rank == 5)
        return ot_onnx_reshape(n, weight, 4,
                               (const int64_t[]){dim[0], dim[1] * dim[2], dim[3], dim[4]});
    return *rank == 4 ? weight : ot_onnx_call(n, "expand_dims", 1, &weight, "axis=2");
}

static int conv(ot_onnx_node *n)
{
    int64_t dim[OPTUNE_MAX_RANK];
    int rank = 0;
    ot_onnx_window slide;
    weights w = {.weight = plane_weight(n, 5, dim, &rank), .bias = ot_onnx_in(n, 2)};
    if (!w.weight)
        return n->err->status;
    int status = rank == 5 ? ot_onnx_slide_volume(n, dim + 2, &slide)
                           : ot_onnx_slide(n, dim + 2, &slide);
    if (status >= 0 && slide.dims != rank - 2)
        status = ot_onnx_refuse(n, "its weight has %d dims, its data another number", rank);
    ot_onnx_node last = *n, norm;
    const bool fused = status >= 0 && w.weight->data && (!w.bias || w.bias->data) &&
                       ot_onnx_normalised(n, &norm);
    if (fused) {
        status = normalise(&norm, dim[0], &w);
        last = norm;
    }
    if (status < 0)
        return status;
    ot_onnx_value *all =
        ot_onnx_call(&last, "conv2d", 2, (ot_onnx_value *const[]){slide.data, w.weight}, "%s",
                     ot_onnx_window_text(n, &slide));
    all = biased(&last, all, w.bias, 2);
    all = rank == 5 ? ot_onnx_unslide_volume(&last, &slide, all)
                    : ot_onnx_unslide(&last, &slide, all);
    status = ot_onnx_give(&last, 0, all);
    if (fused && status >= 0)
        n->m->at->done[norm.index] = true;
    return status;
}

/* One dim of a transposed convolution. */
typedef struct back {
    int64_t extent, kernel, stride, dilation;
} back;

/* Pads that follow from how large the output is to be: said, or the strides' multiple of the
 * input. What is missing is added behind, where no pad is. 0: they are given otherwise. */
static int pads_for(ot_onnx_node *n, int dims, const back *b, int64_t *added, int64_t *before,
                    int64_t *after)
{
    const char *how = ot_onnx_word(n, "auto_pad", "NOTSET");
    const bool upper = !strcmp(how, "SAME_UPPER");
    ot_onnx_list shape;
    const int said = ot_onnx_ints(n, "output_shape", &shape);
    if (said < 0 || (!said && *how != 'S'))
        return said;
    if (said && shape.n != dims && shape.n != dims + 2)
        return ot_onnx_refuse(n, "'output_shape' has %d values, not %d", shape.n, dims);
    for (int d = 0; d < dims; d++) {
        const int64_t span = (b[d].kernel - 1) * b[d].dilation + 1;
        const int64_t whole = (b[d].extent - 1) * b[d].stride + added[d] + span;
        const int64_t want = said ? shape.i[shape.n - dims + d] : b[d].extent * b[d].stride;
        const int64_t all = whole - want, less = all > 0 ? all / 2 : 0;
        if (want < 1 || want > OPTUNE_MAX_DIM || -all >= b[d].stride)
            return ot_onnx_refuse(n, "an output of %lld where %lld are made", (long long)want,
                                  (long long)whole);
        const int64_t more = all > 0 ? all - less : 0;
        added[d] += all < 0 ? -all : 0;
        before[d] = upper ? less : more;
        after[d] = upper ? more : less;
    }
    return OPTUNE_OK;
}

static int plane_pads(ot_onnx_node *n, ot_onnx_window *w, int64_t added[2])
{
    int64_t dim[OPTUNE_MAX_RANK];
    const int first = 2 - w->dims; /* of a line the second dim */
    back b[2];
    if (!ot_onnx_attr_of(n, "output_shape") && *ot_onnx_word(n, "auto_pad", "NOTSET") != 'S')
        return OPTUNE_OK;
    if (!ot_onnx_dims_at(n, w->data, ~3u, dim))
        return n->err->status;
    for (int d = first; d < 2; d++)
        b[d - first] = (back){dim[2 + d], w->kernel[d], w->stride[d], w->dilation[d]};
    return pads_for(n, w->dims, b, added + first, w->pad + first, w->pad + 2 + first);
}

static int conv_transpose_volume(ot_onnx_node *n, const int64_t *kernel, ot_onnx_value *weight)
{
    ot_onnx_volume v;
    ot_onnx_list list;
    int64_t added[3] = {0, 0, 0};
    back b[3];
    if (ot_onnx_volume_of(n, kernel, &v) < 0 || ot_onnx_ints(n, "output_padding", &list) < 0)
        return n->err->status;
    if (ot_onnx_attr_of(n, "output_padding") && list.n != 3)
        return ot_onnx_refuse(n, "'output_padding' has %d values, not 3", list.n);
    for (int d = 0; d < 3; d++) {
        added[d] = d < list.n ? list.i[d] : 0;
        b[d] = (back){v.dim[2 + d], v.kernel[d], v.stride[d], v.dilation[d]};
    }
    if (pads_for(n, 3, b, added, v.before, v.after) < 0)
        return n->err->status;
    ot_onnx_value *all = ot_onnx_transpose_volume(n, &v, weight, added);
    return ot_onnx_give(n, 0, biased(n, all, ot_onnx_in(n, 2), 3));
}

static int conv_transpose(ot_onnx_node *n)
{
    int64_t dim[OPTUNE_MAX_RANK], added[2] = {0, 0};
    int rank = 0;
    ot_onnx_window slide;
    ot_onnx_list list;
    ot_onnx_value *weight = plane_weight(n, 5, dim, &rank);
    if (weight && rank == 5)
        return conv_transpose_volume(n, dim + 2, weight);
    int status = weight ? ot_onnx_slide(n, dim + 2, &slide) : n->err->status;
    if (status >= 0 && slide.dims != rank - 2)
        status = ot_onnx_refuse(n, "its weight has %d dims, its data another number", rank);
    if (status >= 0)
        status = ot_onnx_ints(n, "output_padding", &list);
    if (status < 0)
        return status;
    for (int d = 0; d < list.n && list.n == slide.dims; d++)
        added[2 - slide.dims + d] = list.i[d];
    if (plane_pads(n, &slide, added) < 0)
        return n->err->status;
    ot_onnx_value *all =
        ot_onnx_call(n, "conv2d_transpose", 2, (ot_onnx_value *const[]){slide.data, weight},
                     "%s, output_padding=[%s]", ot_onnx_window_text(n, &slide),
                     ot_onnx_text(n->m, 2, added));
    return ot_onnx_give(n, 0, ot_onnx_unslide(n, &slide, biased(n, all, ot_onnx_in(n, 2), 2)));
}

/* The activation that a fused convolution names; its parameters are a list. */
static ot_onnx_value *activated(ot_onnx_node *n, ot_onnx_value *x)
{
    const ot_onnx_attr *list = ot_onnx_attr_of(n, "activation_params");
    double of[2] = {0};
    int given = list ? (int)list->n_floats : 0;
    given = given < 2 ? given : 2;
    for (int i = 0; i < given; i++)
        of[i] = (double)list->floats[i];
    return ot_onnx_activated(n, x, ot_onnx_word(n, "activation", ""), given, of);
}

/* A convolution, what is added to it, an activation. */
static int fused_conv(ot_onnx_node *n)
{
    int64_t dim[OPTUNE_MAX_RANK];
    int rank = 0;
    ot_onnx_window slide;
    ot_onnx_value *weight = plane_weight(n, 4, dim, &rank), *more = ot_onnx_in(n, 3);
    int status = weight ? ot_onnx_slide(n, dim + 2, &slide) : n->err->status;
    if (status >= 0 && slide.dims != rank - 2)
        status = ot_onnx_refuse(n, "its weight has %d dims, its data another number", rank);
    if (status < 0)
        return status;
    ot_onnx_value *all =
        ot_onnx_call(n, "conv2d", 2, (ot_onnx_value *const[]){slide.data, weight}, "%s",
                     ot_onnx_window_text(n, &slide));
    all = ot_onnx_unslide(n, &slide, biased(n, all, ot_onnx_in(n, 2), 2));
    all = all && more ? ot_onnx_2(n, "add", all, more) : all;
    return ot_onnx_give(n, 0, activated(n, all));
}

static const ot_onnx_op ops[] = {
    {"Conv", conv, NULL},
    {"ConvTranspose", conv_transpose, NULL},
    {"com.microsoft::FusedConv", fused_conv, NULL},
    {"com.microsoft::NhwcFusedConv", fused_conv, NULL},
    {"com.microsoft::NhwcConv", fused_conv, "channels last"},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(conv) = {ops};
