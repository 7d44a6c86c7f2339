/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roi_align: boxes of images as grids of bins; Relay's vision.roi_align, with the images that boxes
 * are of as a tensor of their own, as in ONNX. A box (x1, y1, x2, y2) times spatial_scale lies
 * between pixels whose first is at 0, or with half_pixel at 0.5; without it it is at least 1 wide
 * and high. A bin is the mean over sample_ratio x sample_ratio places in it (0: as many as it has
 * pixels, rounded up, along each axis) of the 2x2 pixels around, weighed, or the largest of these
 * products. Up to one pixel outside of the image its edge counts, further out nothing does.
 */
#include <math.h>

#include "kernels/host/region_lines.h"
#include "kernels/move/take/take.h"
#include "kernels/sample/sample.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [N,C,H,W]", .description = "images"},
    {.name = "rois", .type = "tensor [R,4]", .description = "boxes (x1, y1, x2, y2)"},
    {.name = "image", .type = "tensor [R] of i32 or i64", .description = "the image of each"},
    {0}};

static const optune_op_attr attrs[] = {
    {.name = "pooled_size",
     .kind = OPTUNE_ATTR_INTS,
     .value = "[1,1]",
     .min = 1,
     .max = OPTUNE_MAX_DIM,
     .description = "bins along the height and the width",
     .shown = true},
    {.name = "spatial_scale",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "1",
     .description = "what the boxes are multiplied by"},
    {.name = "sample_ratio",
     .kind = OPTUNE_ATTR_INT,
     .value = "0",
     .min = 0,
     .max = 1 << 15,
     .description = "places in a bin along each axis; 0: as it has pixels"},
    {.name = "mode",
     .kind = OPTUNE_ATTR_WORD,
     .value = "avg",
     .words = "avg max",
     .description = "the mean of the places, or the largest product"},
    {.name = "half_pixel",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "true",
     .description = "the middle of the first pixel is 0.5, not 0"},
    {0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *rois = &call->input[1].type;
    optune_tensor *image = &call->input[2].type, *out = &call->output[0];
    const optune_attr *size = optune_call_attr(call, "pooled_size");
    const double scale = optune_call_attr(call, "spatial_scale")->f;
    if (size->n != 2)
        return optune_fail(err, OPTUNE_ETYPE, "pooled_size has %d numbers, not 2", size->n);
    if (!(scale > 0) || !isfinite(scale))
        return optune_fail(err, OPTUNE_ETYPE, "spatial_scale is %g, not above 0", scale);
    optune_dim four = optune_dim_of(4),
               bins[] = {optune_dim_of(size->i[0]), optune_dim_of(size->i[1])};
    if (!take_is_index(image->dtype) || !optune_tensor_set_rank(image, 1) ||
        !sample_types(2, data, rois, out) || !optune_tensor_set_rank(rois, 2) ||
        !optune_dim_unify(&rois->dim[1], &four) ||
        !optune_dim_unify(&rois->dim[0], &image->dim[0]) ||
        !optune_dim_unify(&rois->dim[0], &out->dim[0]) ||
        !optune_dim_unify(&out->dim[2], &bins[0]) ||
        !optune_dim_unify(&out->dim[3], &bins[1]) || data->dim[0].max < 1)
        return optune_types_differ(
            err,
            "roi_align wants [N,C,H,W] with pixels and [R,4] of one float "
            "type and [R] of i32 or i64, and gives [R,C,bins]",
            "data", data, "rois", rois);
    return optune_tensor_known(data) && optune_tensor_known(image) && optune_tensor_known(out)
               ? OPTUNE_OK
               : 1;
}

/* ---- along one axis ----------------------------------------------------------------------- */

typedef struct side {
    bool narrow;
    double start, bin; /* in pixels */
    int64_t places;    /* in a bin */
} side;

/* The least k with k * bins >= length; no quotient tells, so that every rounding agrees. */
static int64_t cover(double length, int64_t bins)
{
    int64_t k = (int64_t)(length / (double)bins);
    while ((double)k * (double)bins < length)
        k++;
    while (k > 0 && (double)(k - 1) * (double)bins >= length)
        k--;
    return k;
}

static side side_of(const optune_call *call, const void *roi, const optune_tensor *type,
                    int64_t low, int64_t bins)
{
    side s = {.narrow = type->dtype.bits != 64};
    const bool half = optune_call_int(call, "half_pixel");
    const int64_t asked = optune_call_int(call, "sample_ratio");
    const double scale = sample_rounded(s.narrow, optune_call_attr(call, "spatial_scale")->f);
    double end[2];
    for (int k = 0; k < 2; k++) {
        const double at = tensor_element(roi, type->dtype, low + 2 * k);
        end[k] =
            sample_rounded(s.narrow, sample_rounded(s.narrow, at * scale) - (half ? 0.5 : 0));
    }
    double length = sample_rounded(s.narrow, end[1] - end[0]);
    if (!half && !(length >= 1))
        length = 1;
    length = length < 0x1p24 ? length : 0x1p24;
    s.start = end[0];
    s.bin = sample_rounded(s.narrow, length / (double)bins);
    s.places = asked ? asked : length > 0 ? cover(length, bins) : 0;
    return s;
}

/* Two pixels and their weights; false: it is too far outside. */
static bool around(const side *s, int64_t bin, int64_t place, int64_t extent, int64_t at[2],
                   double weight[2])
{
    const double first =
        sample_rounded(s->narrow, s->start + sample_rounded(s->narrow, (double)bin * s->bin));
    const double step =
        sample_rounded(s->narrow, sample_rounded(s->narrow, ((double)place + 0.5) * s->bin) /
                                      (double)s->places);
    double u = sample_rounded(s->narrow, first + step);
    if (!(u >= -1 && u <= (double)extent))
        return false;
    u = u > 0 ? u : 0;
    at[0] = (int64_t)u < extent - 1 ? (int64_t)u : extent - 1;
    at[1] = at[0] + 1 < extent ? at[0] + 1 : at[0];
    const double far = at[1] > at[0] ? u - (double)at[0] : 0;
    weight[0] = 1 - far;
    weight[1] = far;
    return true;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type, *rois = &call->input[1].type;
    const optune_tensor *to = &call->output[0];
    const int64_t h = data->dim[2].min, w = data->dim[3].min;
    const bool most = *optune_call_word(call, "mode") == 'm';
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    for (bool some = region_begin(region, at); some; some = region_next(region, at), n++) {
        const side x = side_of(call, in[1], rois, 4 * at[0], to->dim[3].min);
        const side y = side_of(call, in[1], rois, 4 * at[0] + 1, to->dim[2].min);
        const int64_t image = take_slice(
            tensor_element(in[2], call->input[2].type.dtype, at[0]), data->dim[0].min);
        const int64_t base = (image * data->dim[1].min + at[1]) * h * w;
        double sum = 0, size = 0, best = -INFINITY;
        for (int64_t j = 0; j < y.places; j++)
            for (int64_t i = 0; i < x.places; i++) {
                int64_t row[2] = {0}, column[2] = {0};
                double by[2] = {0}, across[2] = {0};
                if (!around(&y, at[2], j, h, row, by) ||
                    !around(&x, at[3], i, w, column, across)) {
                    best = isnan(best) ? best : fmax(best, 0);
                    continue;
                }
                for (int k = 0; k < 4; k++) {
                    const double v = tensor_element(in[0], data->dtype,
                                                    base + row[k / 2] * w + column[k % 2]);
                    const double part = by[k / 2] * across[k % 2] * v;
                    best = isnan(part) || isnan(best) ? NAN : fmax(best, part);
                    sum += part;
                    size += fabs(v) * (1 + (double)(h + w));
                }
            }
        const double places = (double)(y.places * x.places);
        out[n] = places < 1 ? 0 : most ? best : sum / places;
        magnitude[n] = places < 1 ? 0 : most ? size : size / places;
    }
}

/* Four products at each place; of adaptive ones, as if a bin were two pixels wide and high. */
static double terms(const optune_call *call)
{
    const double places = (double)optune_call_int(call, "sample_ratio");
    return 4 * (places > 0 ? places * places : 4);
}

static double flops(const optune_call *call)
{
    return 2 * terms(call) * (double)optune_tensor_elements(&call->output[0]);
}

static bool range(const optune_call *call, int input, double *low, double *high)
{
    *low = input == 1 ? -2 : 0;
    *high = input == 1 ? 12 : (double)call->input[0].type.dim[0].min - 1;
    return input >= 1;
}

static const char *const samples[] = {
    "roi_align(f32[2,3,9,7], f32[5,4], i64[5], pooled_size=[2,3])",
    "roi_align(f32[1,2,6,8], f32[3,4], i32[3], pooled_size=[3,1], sample_ratio=2, "
    "half_pixel=false)",
    "roi_align(f64[3,1,5,11], f64[4,4], i64[4], pooled_size=[2,2], spatial_scale=0.5)",
    "roi_align(f32[2,4,1,5], f32[2,4], i64[2], pooled_size=[1,4], sample_ratio=3)",
    "roi_align(f16[1,2,8,8], f16[3,4], i64[3], pooled_size=[2,2], sample_ratio=2)",
    "roi_align(f32[1,3,7,9], f32[4,4], i64[4], pooled_size=[2,2], sample_ratio=2, mode=max)",
    NULL,
};

static const char *const networks[] = {
    "roi_align(f32[1,256,200,272], f32[1000,4], i64[1000], pooled_size=[7,7], "
    "spatial_scale=0.25, sample_ratio=2, half_pixel=false)",
    "roi_align(f32[1,256,100,136], f32[100,4], i64[100], pooled_size=[14,14], "
    "spatial_scale=0.125, sample_ratio=2, half_pixel=false)",
    NULL,
};

static const optune_preset presets[] = {
    {"networks", "the heads for boxes and masks of Mask R-CNN", networks},
    {NULL, NULL, NULL},
};

OPTUNE_OP(roi_align) = {
    .name = "roi_align",
    .summary = "boxes of images as grids of bins",
    .inputs = inputs,
    .attrs = attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 5,
    .types = types,
    .flops = flops,
    .terms = terms,
    .reference = reference,
    .range = range,
    .gradient = sample_boxes_gradient,
    .float32_sums = true,
    .presets = presets,
    .samples = samples,
};
