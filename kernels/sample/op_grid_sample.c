/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample: an image at the places that a grid holds, (x, y) from -1 to 1 over the whole image,
 * or a volume at (x, y, z); Relay's image.grid_sample in NCHW with ONNX's attributes. Between
 * pixels it is the nearest one (of two the even one), or a weighed sum of two along each axis or,
 * of images, of 4x4 (cubic convolution, a = -0.75). What lies
 * outside is zero, the nearest pixel, or the image mirrored at its edges: at the middles of its
 * outermost pixels with align_corners, which puts -1 and 1 there, else at their outer sides. A
 * place that is no number lies outside, far to the left or above.
 */
#include <math.h>
#include <string.h>

#include "kernels/host/region_lines.h"
#include "kernels/sample/sample.h"

enum { MOST_TAPS = 4, MOST_AXES = 3 };

static const optune_op_input inputs[] = {
    {.name = "data",
     .type = "tensor [N,C,H,W] or [N,C,D,H,W]",
     .description = "images or volumes"},
    {.name = "grid",
     .type = "tensor [N,HO,WO,2] or [N,DO,HO,WO,3]",
     .description = "a place (x, y) or (x, y, z) for each pixel"},
    {0}};

static const optune_op_attr attrs[] = {
    {.name = "method",
     .kind = OPTUNE_ATTR_WORD,
     .value = "linear",
     .words = "nearest linear cubic",
     .description = "what is made of the pixels around a place",
     .shown = true},
    {.name = "padding_mode",
     .kind = OPTUNE_ATTR_WORD,
     .value = "zeros",
     .words = "zeros border reflection",
     .description = "what lies outside"},
    {.name = "align_corners",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "-1 and 1 are the middles of the outermost pixels, not their outer sides"},
    {0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *grid = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    const int rank = data->rank >= 0 ? data->rank : grid->rank >= 0 ? grid->rank : out->rank;
    const int axes = rank < 0 ? 2 : rank - 2;
    optune_dim coordinates = optune_dim_of(axes);
    bool fits = (axes == 2 || axes == MOST_AXES) && sample_types(axes, data, grid, out) &&
                optune_tensor_set_rank(grid, axes + 2) &&
                optune_dim_unify(&grid->dim[axes + 1], &coordinates) &&
                optune_dim_unify(&data->dim[0], &grid->dim[0]) &&
                optune_dim_unify(&data->dim[0], &out->dim[0]);
    for (int d = 0; d < axes && fits; d++)
        fits = optune_dim_unify(&grid->dim[1 + d], &out->dim[2 + d]);
    if (!fits)
        return optune_types_differ(err,
                                   "grid_sample wants [N,C,H,W] with pixels and [N,HO,WO,2], "
                                   "or [N,C,D,H,W] and [N,DO,HO,WO,3], of one float type, and "
                                   "gives [N,C,HO,WO] or [N,C,DO,HO,WO]",
                                   "data", data, "grid", grid);
    if (axes == MOST_AXES && *optune_call_word(call, "method") == 'c')
        return optune_fail(
            err, OPTUNE_ETYPE,
            "grid_sample: method=cubic is for images; of volumes it is linear or "
            "nearest");
    return optune_tensor_known(data) && optune_tensor_known(out) ? OPTUNE_OK : 1;
}

/* ---- along one axis ----------------------------------------------------------------------- */

typedef struct axis {
    int n;                 /* taps */
    int64_t at[MOST_TAPS]; /* -1: outside, where nothing is */
    double weight[MOST_TAPS];
} axis;

static double position(bool narrow, bool corners, double at, int64_t extent)
{
    const double one = sample_rounded(narrow, at + 1);
    const double u =
        corners ? sample_rounded(narrow, one / 2 * (double)(extent - 1))
                : sample_rounded(narrow, sample_rounded(narrow, one * (double)extent) - 1) / 2;
    return u > 0x1p30 ? 0x1p30 : u >= -0x1p30 ? u : -0x1p30;
}

static int64_t inside(const char *mode, bool corners, int64_t i, int64_t extent)
{
    if (i >= 0 && i < extent)
        return i;
    if (*mode == 'z')
        return -1;
    if (*mode == 'b')
        return i < 0 ? 0 : extent - 1;
    const int64_t period = corners ? (extent > 1 ? 2 * (extent - 1) : 1) : 2 * extent;
    i = (i % period + period) % period;
    return i < extent ? i : corners ? period - i : period - 1 - i;
}

/* Cubic convolution's weight of a pixel this far away. */
static double cubic(double d)
{
    const double a = -0.75;
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                  : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

static axis taps(const optune_call *call, bool narrow, double at, int64_t extent)
{
    const char *how = optune_call_word(call, "method");
    const char *mode = optune_call_word(call, "padding_mode");
    const bool corners = optune_call_int(call, "align_corners");
    const double u = position(narrow, corners, at, extent), low = floor(u), far = u - low;
    axis t = {.n = *how == 'n' ? 1 : *how == 'l' ? 2 : 4};
    const bool up = far > 0.5 || (far == 0.5 && fmod(low, 2) != 0);
    for (int k = 0; k < t.n; k++) {
        const int step = t.n == 1 ? up : k - (t.n == 4);
        t.at[k] = inside(mode, corners, (int64_t)low + step, extent);
        t.weight[k] = t.n == 1   ? 1
                      : t.n == 2 ? (k ? far : 1 - far)
                                 : cubic(fabs(far - (double)step));
    }
    return t;
}

/* The taps of one place along every axis of the data, the outermost first. */
static void taps_at(const optune_call *call, const void *grid, int64_t place, int axes,
                    axis t[MOST_AXES])
{
    const optune_tensor *data = &call->input[0].type;
    const bool narrow = data->dtype.bits != 64;
    for (int d = 0; d < axes; d++) {
        const double at =
            tensor_element(grid, call->input[1].type.dtype, place * axes + axes - 1 - d);
        t[d] = taps(call, narrow, at, data->dim[2 + d].min);
    }
}

/* A place is known to some part of the image's extent: so much of what lies around may differ. */
static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type, *grid = &call->input[1].type;
    const int axes = data->rank - 2;
    int64_t at[OPTUNE_MAX_RANK], n = 0, extents = 0;
    axis t[MOST_AXES];
    for (int d = 0; d < axes; d++)
        extents += data->dim[2 + d].min;
    for (bool some = region_begin(region, at); some; some = region_next(region, at), n++) {
        int64_t place = at[0], combinations = 1;
        for (int d = 0; d < axes; d++)
            place = place * grid->dim[1 + d].min + at[2 + d];
        taps_at(call, in[1], place, axes, t);
        for (int d = 0; d < axes; d++)
            combinations *= t[d].n;
        out[n] = magnitude[n] = 0;
        for (int64_t k = 0; k < combinations; k++) {
            int64_t from = at[0] * data->dim[1].min + at[1], rest = k, several = combinations;
            double weight = 1;
            bool inside_all = true;
            for (int d = 0; d < axes; d++) {
                several /= t[d].n;
                const int64_t tap = rest / several;
                rest %= several;
                inside_all = inside_all && t[d].at[tap] >= 0;
                weight *= t[d].weight[tap];
                from = from * data->dim[2 + d].min + t[d].at[tap];
            }
            if (!inside_all)
                continue;
            const double v = tensor_element(in[0], data->dtype, from);
            out[n] += weight * v;
            magnitude[n] += fabs(v) * (combinations == 1 ? 1 : 1 + (double)extents);
        }
    }
}

static double terms(const optune_call *call)
{
    const char *how = optune_call_word(call, "method");
    return *how == 'n' ? 1 : *how == 'c' ? 16 : call->input[0].type.rank == 5 ? 8 : 4;
}

static double flops(const optune_call *call)
{
    return 2 * terms(call) * (double)optune_tensor_elements(&call->output[0]);
}

static bool range(const optune_call *call, int input, double *low, double *high)
{
    (void)call;
    *low = -1.5;
    *high = 1.5;
    return input == 1;
}

static const char *const samples[] = {
    "grid_sample(f32[2,3,5,7], f32[2,4,6,2])",
    "grid_sample(f32[1,2,5,1], f32[1,9,3,2], method=nearest)",
    "grid_sample(f32[1,2,6,8], f32[1,5,7,2], method=cubic, padding_mode=border)",
    "grid_sample(f64[2,1,3,4], f64[2,5,3,2], padding_mode=reflection)",
    "grid_sample(f64[1,3,1,6], f64[1,4,4,2], method=cubic, padding_mode=reflection, "
    "align_corners=true)",
    "grid_sample(f16[1,2,7,3], f16[1,3,5,2], padding_mode=border, align_corners=true)",
    "grid_sample(f32[1,3,9,2], f32[1,11,5,2], method=nearest, padding_mode=reflection)",
    "grid_sample(f32[2,3,4,5,3], f32[2,3,4,2,3])",
    "grid_sample(f64[1,2,3,2,5], f64[1,4,3,3,3], method=nearest, padding_mode=border)",
    "grid_sample(f32[1,1,1,4,6], f32[1,5,2,3,3], padding_mode=reflection, "
    "align_corners=true)",
    NULL,
};

static const char *const networks[] = {
    "grid_sample(f32[1,256,64,64], f32[1,64,64,2])",
    "grid_sample(f32[8,32,100,100], f32[8,300,4,2])",
    "grid_sample(f32[1,16,32,64,64], f32[1,32,64,64,3])",
    NULL,
};

static const optune_preset presets[] = {
    {"networks", "warped feature maps; the values of deformable attention", networks},
    {NULL, NULL, NULL},
};

OPTUNE_OP(grid_sample) = {
    .name = "grid_sample",
    .summary = "images or volumes at the places that a grid holds",
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
    .gradient = sample_grid_gradient,
    .float32_sums = true,
    .presets = presets,
    .samples = samples,
};
