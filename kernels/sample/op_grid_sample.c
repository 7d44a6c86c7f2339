/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample: an image at the places that a grid holds, (x, y) from -1 to 1 over the whole image;
 * Relay's image.grid_sample in NCHW with ONNX's attributes. Between pixels it is the nearest one
 * (of two the even one), or a weighed sum of 2x2 or 4x4 (cubic convolution, a = -0.75). What lies
 * outside is zero, the nearest pixel, or the image mirrored at its edges: at the middles of its
 * outermost pixels with align_corners, which puts -1 and 1 there, else at their outer sides. A
 * place that is no number lies outside, far to the left or above.
 */
#include <math.h>
#include <string.h>

#include "kernels/host/region_lines.h"
#include "kernels/sample/sample.h"

enum { MOST_TAPS = 4 };

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [N,C,H,W]", .description = "images"},
    {.name = "grid",
     .type = "tensor [N,HO,WO,2]",
     .description = "a place (x, y) for each pixel"},
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
    optune_dim two = optune_dim_of(2);
    if (!sample_types(data, grid, out) || !optune_tensor_set_rank(grid, 4) ||
        !optune_dim_unify(&grid->dim[3], &two) ||
        !optune_dim_unify(&data->dim[0], &grid->dim[0]) ||
        !optune_dim_unify(&data->dim[0], &out->dim[0]) ||
        !optune_dim_unify(&grid->dim[1], &out->dim[2]) ||
        !optune_dim_unify(&grid->dim[2], &out->dim[3]))
        return optune_types_differ(err,
                                   "grid_sample wants [N,C,H,W] with pixels and [N,HO,WO,2] of "
                                   "one float type, and gives [N,C,HO,WO]",
                                   "data", data, "grid", grid);
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

/* A place is known to some part of the image's extent: so much of what lies around may differ. */
static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type, *grid = &call->input[1].type;
    const int64_t h = data->dim[2].min, w = data->dim[3].min;
    const bool narrow = data->dtype.bits != 64;
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    for (bool some = region_begin(region, at); some; some = region_next(region, at), n++) {
        const int64_t place =
            ((at[0] * grid->dim[1].min + at[2]) * grid->dim[2].min + at[3]) * 2;
        const axis x = taps(call, narrow, tensor_element(in[1], grid->dtype, place), w);
        const axis y = taps(call, narrow, tensor_element(in[1], grid->dtype, place + 1), h);
        const int64_t image = (at[0] * data->dim[1].min + at[1]) * h * w;
        out[n] = magnitude[n] = 0;
        for (int j = 0; j < y.n; j++)
            for (int i = 0; i < x.n; i++) {
                if (y.at[j] < 0 || x.at[i] < 0)
                    continue;
                const double v =
                    tensor_element(in[0], data->dtype, image + y.at[j] * w + x.at[i]);
                out[n] += y.weight[j] * x.weight[i] * v;
                magnitude[n] += fabs(v) * (x.n == 1 ? 1 : 1 + (double)(h + w));
            }
    }
}

static double terms(const optune_call *call)
{
    const char *how = optune_call_word(call, "method");
    return *how == 'n' ? 1 : *how == 'l' ? 4 : 16;
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
    NULL,
};

static const char *const networks[] = {
    "grid_sample(f32[1,256,64,64], f32[1,64,64,2])",
    "grid_sample(f32[8,32,100,100], f32[8,300,4,2])",
    NULL,
};

static const optune_preset presets[] = {
    {"networks", "a warped feature map; the values of deformable attention", networks},
    {NULL, NULL, NULL},
};

OPTUNE_OP(grid_sample) = {
    .name = "grid_sample",
    .summary = "images at the places that a grid holds",
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
    .float32_sums = true,
    .presets = presets,
    .samples = samples,
};
