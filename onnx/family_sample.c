/* SPDX-License-Identifier: Apache-2.0 */
/* Images and volumes between their pixels: at the places of a grid, and boxes of images. */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* In the type that both are computed in: the images', if that is a float. */
static void alike(ot_onnx_node *n, value **data, value **at)
{
    const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    if (!ot_onnx_floating(n, *data) ||
        !optune_dtype_equal(ot_onnx_type(n->m, *data)->dtype, ot_onnx_type(n->m, *at)->dtype))
        *data = ot_onnx_as(n, *data, f32);
    *at = *data ? ot_onnx_as(n, *at, ot_onnx_type(n->m, *data)->dtype) : NULL;
}

static int grid_sample(ot_onnx_node *n)
{
    value *data = ot_onnx_need(n, 0), *grid = ot_onnx_need(n, 1);
    const int rank = data && grid ? ot_onnx_rank(n, data) : -1;
    const char *mode = ot_onnx_word(n, "mode", n->m->opset < 20 ? "bilinear" : "linear");
    const char *pads = ot_onnx_word(n, "padding_mode", "zeros");
    if (rank < 0)
        return n->err->status;
    if (rank != 4 && rank != 5)
        return ot_onnx_refuse(n, "over %d dims: only images and volumes are supported",
                              rank - 2);
    mode += strncmp(mode, "bi", 2) ? 0 : 2; /* what it was called before opset 20 */
    if (strcmp(mode, "linear") && strcmp(mode, "nearest") && strcmp(mode, "cubic"))
        return ot_onnx_refuse(n, "mode '%.40s' is not supported", mode);
    if (rank == 5 && *mode == 'c')
        return ot_onnx_refuse(n, "mode 'cubic' is for images, not for volumes");
    if (strcmp(pads, "zeros") && strcmp(pads, "border") && strcmp(pads, "reflection"))
        return ot_onnx_refuse(n, "padding mode '%.40s' is not supported", pads);
    const optune_dtype dtype = ot_onnx_type(n->m, data)->dtype;
    alike(n, &data, &grid);
    value *all = ot_onnx_call(n, "grid_sample", 2, (value *const[]){data, grid},
                              "method=%s, padding_mode=%s, align_corners=%s", mode, pads,
                              ot_onnx_int(n, "align_corners", 0) ? "true" : "false");
    return ot_onnx_give(n, 0, ot_onnx_as(n, all, dtype));
}

/* Opset 16 counts from the middles of pixels. */
static int roi_align(ot_onnx_node *n)
{
    value *data = ot_onnx_need(n, 0), *rois = ot_onnx_need(n, 1), *image = ot_onnx_need(n, 2);
    const char *mode = ot_onnx_word(n, "mode", "avg");
    const char *where = ot_onnx_word(n, "coordinate_transformation_mode",
                                     n->m->opset < 16 ? "output_half_pixel" : "half_pixel");
    if (!data || !rois || !image)
        return n->err->status;
    if (strcmp(mode, "avg") && strcmp(mode, "max"))
        return ot_onnx_refuse(n, "mode '%.40s' is not supported", mode);
    const bool half = !strcmp(where, "half_pixel");
    if (!half && strcmp(where, "output_half_pixel"))
        return ot_onnx_refuse(n, "coordinate transformation '%.40s' is not supported", where);
    const optune_dtype dtype = ot_onnx_type(n->m, data)->dtype;
    alike(n, &data, &rois);
    value *all = ot_onnx_call(
        n, "roi_align", 3, (value *const[]){data, rois, image},
        "pooled_size=[%lld,%lld], spatial_scale=%.17g, sample_ratio=%lld, mode=%s, "
        "half_pixel=%s",
        (long long)ot_onnx_int(n, "output_height", 1),
        (long long)ot_onnx_int(n, "output_width", 1), ot_onnx_real(n, "spatial_scale", 1),
        (long long)ot_onnx_int(n, "sampling_ratio", 0), mode, half ? "true" : "false");
    return ot_onnx_give(n, 0, ot_onnx_as(n, all, dtype));
}

/* The places of an image's pixels, or a volume's, turned and moved: a grid. */
static int affine_grid(ot_onnx_node *n)
{
    value *theta = ot_onnx_need(n, 0), *size = ot_onnx_need(n, 1), *all = NULL;
    ot_onnx_list list;
    if (!theta || !size || ot_onnx_list_of(n, size, "size", &list) < 0)
        return n->err->status;
    const bool corners = ot_onnx_int(n, "align_corners", 0) != 0;
    const int axes = list.n - 2;
    int64_t places = 1, shape[OPTUNE_MAX_RANK] = {-1};
    if (axes != 2 && axes != 3)
        return ot_onnx_refuse(n, "a size of %d dims, not 4 or 5", list.n);
    for (int d = 0; d < axes; d++) {
        shape[1 + d] = list.i[2 + d];
        if (shape[1 + d] < 1 || shape[1 + d] > OPTUNE_MAX_DIM ||
            places * shape[1 + d] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a size of %lld", (long long)shape[1 + d]);
        places *= shape[1 + d];
    }
    shape[1 + axes] = axes;
    optune_tensor type = {.dtype = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1},
                          .rank = 2,
                          .dim = {optune_dim_of(axes + 1), optune_dim_of(places)}};
    if (ot_onnx_room(n->m, &type, &all, n->err) < 0)
        return n->err->status;
    double *at = all->data;
    for (int64_t i = 0, rest; i < places; i++) { /* x, y, z and 1 of each */
        rest = i;
        for (int d = axes; d >= 1; rest /= shape[d--]) {
            const double k = (double)(rest % shape[d]), extent = (double)shape[d];
            at[(axes - d) * places + i] = !corners     ? (2 * k + 1) / extent - 1
                                          : extent > 1 ? 2 * k / (extent - 1) - 1
                                                       : -1;
        }
        at[axes * places + i] = 1;
    }
    const optune_dtype dtype = ot_onnx_type(n->m, theta)->dtype;
    value *wide = ot_onnx_wide(n, theta);
    all = wide ? ot_onnx_as(n, all, ot_onnx_type(n->m, wide)->dtype) : NULL;
    all = all ? ot_onnx_product(n, wide, all) : NULL;
    all = all ? ot_onnx_transpose(n, all, 3, (const int[]){0, 2, 1}) : NULL;
    return ot_onnx_give(n, 0, ot_onnx_as(n, ot_onnx_reshape(n, all, axes + 2, shape), dtype));
}

static const ot_onnx_op ops[] = {
    {"AffineGrid", affine_grid, NULL},
    {"GridSample", grid_sample, NULL},
    {"com.microsoft::GridSample", grid_sample, NULL},
    {"RoiAlign", roi_align, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(sample) = {ops};
