/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of what reads images between their pixels. What was read of a pixel is its weight, a
 * polynomial of how far it lies from the place: dy times that is added to the pixel, and dy times
 * its slope times the pixel to the place. Both of all channels, at pixels that are counted through
 * the whole image. Coordinates of 16 bits are computed in float32.
 */
#include <stdarg.h>

#include "kernels/host/gradient.h"
#include "kernels/sample/sample.h"

enum { MOST_TAPS = 4, MOST_AXES = 3, TEXT = 128 };

/* ---- calls of constant shapes ---------------------------------------------------------------- */

static int shaped(optune_grad *grad, int value, int rank, ...)
{
    optune_tensor to = {.rank = rank};
    va_list list;
    va_start(list, rank);
    for (int d = 0; d < rank; d++)
        to.dim[d] = optune_dim_of(va_arg(list, int64_t));
    va_end(list);
    return optune_grad_reshape(grad, value, &to);
}

static int with_number(optune_grad *grad, const char *op, int value, double number)
{
    return optune_grad_binary(grad, op, value, optune_grad_scalar(grad, value, number));
}

static int times(optune_grad *grad, int a, int b)
{
    return optune_grad_binary(grad, "multiply", a, b);
}

static int both(optune_grad *grad, int a, int b)
{
    return optune_grad_binary(grad, "minimum", a, b);
}

/* Whether it is a number that is not below, or not above, this one. */
static int at_least(optune_grad *grad, int value, double number)
{
    return optune_grad_binary(grad, "maximum", with_number(grad, "greater", value, number),
                              with_number(grad, "equal", value, number));
}

static int at_most(optune_grad *grad, int value, double number)
{
    return optune_grad_binary(grad, "maximum", with_number(grad, "less", value, number),
                              with_number(grad, "equal", value, number));
}

/* Elements [at, at + 1) along the last axis, of two dims. */
static int column(optune_grad *grad, int value, int64_t rows, int at)
{
    return optune_grad_call(grad, "strided_slice", 1, &value,
                            "begin=[0,%d], end=[%" PRId64 ",%d]", at, rows, at + 1);
}

static int summed(optune_grad *grad, int value, int axis)
{
    return optune_grad_call(grad, "sum", 1, &value, "axis=[%d]", axis);
}

static int joined(optune_grad *grad, int n, const int *values, int axis)
{
    return n == 1 ? values[0]
                  : optune_grad_call(grad, "concatenate", n, values, "axis=%d", axis);
}

static optune_dtype wide(const optune_tensor *type)
{
    const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    return type->dtype.bits == 64 ? type->dtype : f32;
}

/* ---- taps along an axis ---------------------------------------------------------------------- */

/* Pixels [rows,places,n] as whole numbers within the image; weights, and their slopes by the
 * position, 0 where nothing is. */
typedef struct taps {
    int n, at, weight, slope;
} taps;

/* The pixel in place of `i`; *there, unless -1: where there is one. */
static int inside(optune_grad *grad, const optune_call *call, int i, int64_t extent, int *there)
{
    const char mode = *optune_call_word(call, "padding_mode");
    const bool corners = optune_call_int(call, "align_corners");
    const double last = (double)(extent - 1);
    *there = -1;
    if (mode == 'z') {
        *there = both(grad, at_least(grad, i, 0), at_most(grad, i, last));
    } else if (mode == 'r') {
        const double period = !corners ? 2 * last + 2 : extent > 1 ? 2 * last : 1;
        const int turns =
            optune_grad_unary(grad, "floor", with_number(grad, "divide", i, period));
        i = optune_grad_binary(grad, "subtract", i,
                               with_number(grad, "multiply", turns, period));
        const int end = optune_grad_scalar(grad, i, corners ? period : period - 1);
        i = both(grad, i, optune_grad_binary(grad, "subtract", end, i));
    }
    return with_number(grad, "minimum", with_number(grad, "maximum", i, 0), last);
}

/* ((c0 d + c1) d + c2) d + c3 */
static int cubic(optune_grad *grad, int d, const double c[4])
{
    int sum = with_number(grad, "multiply", d, c[0]);
    for (int k = 1; k < 4; k++) {
        sum = with_number(grad, "add", sum, c[k]);
        sum = k < 3 ? times(grad, sum, d) : sum;
    }
    return sum;
}

/* Weight and slope of tap k at `t` behind the pixel below the place. */
static void weigh(optune_grad *grad, int n, int k, int t, int *weight, int *slope)
{
    /* Cubic convolution, a = -0.75: within a pixel, beyond it, and their slopes. */
    static const double close[] = {1.25, -2.25, 0, 1}, far[] = {-0.75, 3.75, -6, 3};
    static const double close_slope[] = {0, 3.75, -4.5, 0}, far_slope[] = {0, -2.25, 7.5, -6};
    const int one = optune_grad_unary(grad, "ones_like", t);
    if (n == 1) {
        *weight = one;
        *slope = optune_grad_unary(grad, "zeros_like", t);
    } else if (n == 2) {
        *weight = k ? t : optune_grad_binary(grad, "subtract", one, t);
        *slope = k ? one : optune_grad_unary(grad, "negative", one);
    } else {
        const bool behind = k > 1, outer = k == 0 || k == 3;
        int d = behind ? optune_grad_binary(grad, "subtract", one, t) : t;
        d = outer ? optune_grad_binary(grad, "add", d, one) : d;
        *weight = cubic(grad, d, outer ? far : close);
        *slope = cubic(grad, d, outer ? far_slope : close_slope);
        *slope = behind ? optune_grad_unary(grad, "negative", *slope) : *slope;
    }
}

/* Of coordinates [rows,places] from -1 to 1. */
static taps taps_of(optune_grad *grad, const optune_call *call, int at, int64_t rows,
                    int64_t places, int64_t extent)
{
    const char how = *optune_call_word(call, "method");
    const bool corners = optune_call_int(call, "align_corners");
    taps t = {.n = how == 'n' ? 1 : how == 'l' ? 2 : 4};
    int pixel[MOST_TAPS], weight[MOST_TAPS], slope[MOST_TAPS];
    int u = with_number(grad, "add", at, 1);
    if (corners)
        u = with_number(grad, "multiply", with_number(grad, "divide", u, 2),
                        (double)(extent - 1));
    else
        u = with_number(
            grad, "divide",
            with_number(grad, "subtract", with_number(grad, "multiply", u, (double)extent), 1),
            2);
    const int lowest = optune_grad_scalar(grad, u, -0x1p30);
    u = host_choose(grad, at_least(grad, u, -0x1p30), with_number(grad, "minimum", u, 0x1p30),
                    lowest);
    const int low = optune_grad_unary(grad, t.n == 1 ? "round" : "floor", u);
    const int far = optune_grad_binary(grad, "subtract", u, low);
    for (int k = 0; k < t.n; k++) {
        int there;
        pixel[k] = with_number(grad, "add", low, k - (t.n == 4));
        pixel[k] = inside(grad, call, pixel[k], extent, &there);
        weigh(grad, t.n, k, far, &weight[k], &slope[k]);
        if (*optune_call_word(call, "padding_mode") == 'z') {
            weight[k] = host_keep(grad, there, weight[k]);
            slope[k] = host_keep(grad, there, slope[k]);
        }
        pixel[k] = shaped(grad, pixel[k], 3, rows, places, (int64_t)1);
        weight[k] = shaped(grad, weight[k], 3, rows, places, (int64_t)1);
        slope[k] = shaped(grad, slope[k], 3, rows, places, (int64_t)1);
    }
    t.at = joined(grad, t.n, pixel, 2);
    t.weight = joined(grad, t.n, weight, 2);
    t.slope = with_number(grad, "multiply", joined(grad, t.n, slope, 2),
                          (double)(corners ? extent - 1 : extent) / 2);
    return t;
}

static int as_index(optune_grad *grad, int value)
{
    return optune_grad_call(grad, "cast", 1, &value, "dtype=i64");
}

/* [lines,pixels] with `updates` [lines,m] added at `index` [lines,m]. */
static int added(optune_grad *grad, int index, int updates, int64_t lines, int64_t pixels)
{
    const int zero = optune_grad_scalar(grad, updates, 0);
    const int zeros = optune_grad_call(grad, "broadcast_to", 1, &zero,
                                       "shape=[%" PRId64 ",%" PRId64 "]", lines, pixels);
    return optune_grad_call(grad, "scatter_add", 3, (const int[]){zeros, index, updates},
                            "axis=1");
}

/* ---- grid_sample ----------------------------------------------------------------------------- */

typedef struct grid_read {
    int axes;
    int64_t n, channels, places, pixels, combinations;
    taps t[MOST_AXES];
} grid_read;

/* What taps of all axes are multiplied to [n,places,combinations]: by weights, but along one axis
 * by slopes (none: -1). */
static int product(optune_grad *grad, const grid_read *r, int sloped)
{
    int all = -1;
    int64_t before = 1;
    for (int d = 0; d < r->axes; d++) {
        const taps *t = &r->t[d];
        const int one = shaped(grad, d == sloped ? t->slope : t->weight, 4, r->n, r->places,
                               (int64_t)1, (int64_t)t->n);
        all = d ? times(grad, shaped(grad, all, 4, r->n, r->places, before, (int64_t)1), one)
                : one;
        before *= t->n;
        all = shaped(grad, all, 3, r->n, r->places, before);
    }
    return all;
}

/* Which pixel each is, counted through the image, of every channel: [n*channels,...]. */
static int pixels_of(optune_grad *grad, const grid_read *r, const optune_tensor *data)
{
    int all = -1;
    int64_t before = 1;
    for (int d = 0; d < r->axes; d++) {
        const taps *t = &r->t[d];
        const int one =
            as_index(grad, shaped(grad, t->at, 4, r->n, r->places, (int64_t)1, (int64_t)t->n));
        if (d) {
            all = with_number(grad, "multiply", all, (double)data->dim[2 + d].min);
            all = shaped(grad, all, 4, r->n, r->places, before, (int64_t)1);
            all = optune_grad_binary(grad, "add", all, one);
        } else {
            all = one;
        }
        before *= t->n;
        all = shaped(grad, all, 3, r->n, r->places, before);
    }
    all = shaped(grad, all, 3, r->n, (int64_t)1, r->places * before);
    all = optune_grad_call(grad, "broadcast_to", 1, &all,
                           "shape=[%" PRId64 ",%" PRId64 ",%" PRId64 "]", r->n, r->channels,
                           r->places * before);
    return shaped(grad, all, 2, r->n * r->channels, r->places * before);
}

static int needs_constants(optune_err *err)
{
    return optune_fail(err, OPTUNE_EUNSUPPORTED, "this gradient needs constant dims");
}

int sample_grid_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    const optune_tensor *data = &call->input[0].type, *grid = &call->input[1].type;
    if (!optune_tensor_known(data) || !optune_tensor_known(grid))
        return needs_constants(err);
    grid_read r = {.axes = data->rank - 2,
                   .n = data->dim[0].min,
                   .channels = data->dim[1].min,
                   .places = 1,
                   .pixels = 1,
                   .combinations = 1};
    if (optune_tensor_elements(&call->output[0]) == 0)
        return OPTUNE_OK;
    for (int d = 0; d < r.axes; d++) {
        r.places *= grid->dim[1 + d].min;
        r.pixels *= data->dim[2 + d].min;
    }
    const int64_t lines = r.n * r.channels;
    int places = host_cast(grad, optune_grad_input(grad, 1), wide(grid));
    places = shaped(grad, places, 2, r.n * r.places, (int64_t)r.axes);
    for (int d = 0; d < r.axes; d++) {
        const int at = shaped(grad, column(grad, places, r.n * r.places, r.axes - 1 - d), 2,
                              r.n, r.places);
        r.t[d] = taps_of(grad, call, at, r.n, r.places, data->dim[2 + d].min);
        r.combinations *= r.t[d].n;
    }
    const int dy = shaped(grad, host_cast(grad, optune_grad_adjoint(grad, 0), wide(data)), 4,
                          r.n, r.channels, r.places, (int64_t)1);
    const int index = pixels_of(grad, &r, data);
    if (optune_grad_wants(grad, 0)) {
        const int weight =
            shaped(grad, product(grad, &r, -1), 4, r.n, (int64_t)1, r.places, r.combinations);
        const int updates =
            shaped(grad, times(grad, dy, weight), 2, lines, r.places * r.combinations);
        const int all =
            optune_grad_reshape(grad, added(grad, index, updates, lines, r.pixels), data);
        optune_grad_add(grad, 0, host_cast(grad, all, data->dtype));
    }
    if (optune_grad_wants(grad, 1) && r.t[0].n > 1) {
        int part[MOST_AXES];
        int pixel = host_cast(grad, optune_grad_input(grad, 0), wide(data));
        pixel = shaped(grad, pixel, 2, lines, r.pixels);
        pixel = optune_grad_call(grad, "gather", 2, (const int[]){pixel, index}, "axis=1");
        pixel = shaped(grad, pixel, 4, r.n, r.channels, r.places, r.combinations);
        const int read = summed(grad, times(grad, pixel, dy), 1);
        for (int d = 0; d < r.axes; d++) {
            const int slope = times(grad, read, product(grad, &r, d));
            part[r.axes - 1 - d] =
                shaped(grad, summed(grad, slope, 2), 2, r.n * r.places, (int64_t)1);
        }
        const int all = optune_grad_reshape(grad, joined(grad, r.axes, part, 1), grid);
        optune_grad_add(grad, 1, host_cast(grad, all, grid->dtype));
    }
    return OPTUNE_OK;
}

/* ---- roi_align ------------------------------------------------------------------------------- */

/* Along one axis of a box: taps [boxes,bins,2*places]; slopes by where the box begins and ends. */
typedef struct box_side {
    int64_t bins, reads;
    int at, weight, by_start, by_end;
} box_side;

static box_side side_of(optune_grad *grad, const optune_call *call, int rois, int low,
                        int64_t extent)
{
    const optune_tensor *out = &call->output[0];
    const int64_t boxes = out->dim[0].min, asked = optune_call_int(call, "sample_ratio");
    const bool half = optune_call_int(call, "half_pixel");
    const double scale = optune_call_attr(call, "spatial_scale")->f;
    box_side s = {.bins = out->dim[low ? 2 : 3].min, .reads = 2 * asked};
    const int64_t places = s.bins * asked;
    int end[2];
    for (int k = 0; k < 2; k++) {
        end[k] = with_number(grad, "multiply", column(grad, rois, boxes, low + 2 * k), scale);
        end[k] = with_number(grad, "subtract", end[k], half ? 0.5 : 0);
    }
    int length = optune_grad_binary(grad, "subtract", end[1], end[0]);
    const int grows =
        half ? optune_grad_binary(grad, "equal", length, length) : at_least(grad, length, 1);
    length =
        half ? length : host_choose(grad, grows, length, optune_grad_scalar(grad, length, 1));
    /* Which part of the box lies in front of each place: [1,places]. */
    const int one = optune_grad_scalar(grad, length, 1);
    int part = optune_grad_call(grad, "broadcast_to", 1, &one, "shape=[1,%" PRId64 "]", places);
    part = optune_grad_call(grad, "cumsum", 1, &part, "axis=1");
    part =
        with_number(grad, "divide", with_number(grad, "subtract", part, 0.5), (double)places);
    int u = optune_grad_binary(grad, "add", end[0], times(grad, length, part));
    const int there = both(grad, at_least(grad, u, -1), at_most(grad, u, (double)extent));
    u = with_number(grad, "maximum", host_keep(grad, there, u), 0);
    const double last = (double)(extent - 1);
    const int floor = with_number(grad, "minimum", optune_grad_unary(grad, "floor", u), last);
    const int next = with_number(grad, "minimum", with_number(grad, "add", floor, 1), last);
    /* The last pixel is read alone. */
    const int between = both(grad, there, optune_grad_binary(grad, "greater", next, floor));
    const int far = host_keep(grad, between, optune_grad_binary(grad, "subtract", u, floor));
    const int before = optune_grad_binary(grad, "subtract", one, far);
    const int moves = both(grad, between, with_number(grad, "greater", u, 0));
    const int slope = host_keep(grad, moves, optune_grad_unary(grad, "ones_like", u));
    int pair[3][2] = {{floor, next},
                      {host_keep(grad, there, before), host_keep(grad, there, far)},
                      {optune_grad_unary(grad, "negative", slope), slope}};
    int all[3];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++)
            pair[i][k] = shaped(grad, pair[i][k], 3, boxes, places, (int64_t)1);
        all[i] = joined(grad, 2, pair[i], 2);
    }
    s.at = as_index(grad, shaped(grad, all[0], 3, boxes, s.bins, s.reads));
    s.weight = shaped(grad, all[1], 3, boxes, s.bins, s.reads);
    /* A box that is as long as it may be short does not grow with its end. */
    const int with_end = host_keep(grad, grows, part);
    const int with_start = optune_grad_binary(grad, "subtract", one, with_end);
    const int moved = with_number(grad, "multiply", all[2], scale);
    s.by_end = times(grad, moved, shaped(grad, with_end, 3, boxes, places, (int64_t)1));
    s.by_start = times(grad, moved, shaped(grad, with_start, 3, boxes, places, (int64_t)1));
    s.by_end = shaped(grad, s.by_end, 3, boxes, s.bins, s.reads);
    s.by_start = shaped(grad, s.by_start, 3, boxes, s.bins, s.reads);
    return s;
}

/* What is along y and what is along x, joined to [boxes,reads]. */
static int crossed(optune_grad *grad, const char *op, const box_side *y, const box_side *x,
                   int along_y, int along_x, int64_t boxes)
{
    along_y = shaped(grad, along_y, 5, boxes, y->bins, y->reads, (int64_t)1, (int64_t)1);
    along_x = shaped(grad, along_x, 5, boxes, (int64_t)1, (int64_t)1, x->bins, x->reads);
    return shaped(grad, optune_grad_binary(grad, op, along_y, along_x), 2, boxes,
                  y->bins * y->reads * x->bins * x->reads);
}

static int swapped(optune_grad *grad, int value)
{
    return optune_grad_call(grad, "transpose", 1, &value, "axes=[1,0,2,3]");
}

int sample_boxes_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    const optune_tensor *data = &call->input[0].type, *rois = &call->input[1].type;
    const optune_tensor *out = &call->output[0];
    if (!optune_tensor_known(data) || !optune_tensor_known(rois))
        return needs_constants(err);
    if (*optune_call_word(call, "mode") == 'm' || !optune_call_int(call, "sample_ratio"))
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "roi_align has a gradient with mode=avg and a sample_ratio above 0");
    if (optune_tensor_elements(out) == 0)
        return OPTUNE_OK;
    const int64_t n = data->dim[0].min, channels = data->dim[1].min, h = data->dim[2].min,
                  w = data->dim[3].min, boxes = out->dim[0].min;
    const int corners = host_cast(grad, optune_grad_input(grad, 1), wide(rois));
    const box_side x = side_of(grad, call, corners, 0, w),
                   y = side_of(grad, call, corners, 1, h);
    const int64_t reads = y.bins * y.reads * x.bins * x.reads;
    /* The pixels of all images, channels in front: [channels,n*h*w]. */
    int image = optune_grad_call(grad, "cast", 1, (const int[]){optune_grad_input(grad, 2)},
                                 "dtype=i64");
    image = host_choose(grad, with_number(grad, "less", image, 0),
                        with_number(grad, "add", image, (double)n), image);
    image = with_number(grad, "minimum", with_number(grad, "maximum", image, 0), (double)n - 1);
    image = shaped(grad, with_number(grad, "multiply", image, (double)(h * w)), 2, boxes,
                   (int64_t)1);
    int index = crossed(grad, "add", &y, &x, with_number(grad, "multiply", y.at, (double)w),
                        x.at, boxes);
    index = shaped(grad, optune_grad_binary(grad, "add", index, image), 2, (int64_t)1,
                   boxes * reads);
    index = optune_grad_call(grad, "broadcast_to", 1, &index, "shape=[%" PRId64 ",%" PRId64 "]",
                             channels, boxes * reads);
    /* dy of each bin at all that it reads: [channels,boxes,reads]. */
    int dy = host_cast(grad, optune_grad_adjoint(grad, 0), wide(data));
    dy = with_number(grad, "divide", dy, (double)(y.reads * x.reads / 4));
    dy = shaped(grad, swapped(grad, dy), 6, channels, boxes, y.bins, (int64_t)1, x.bins,
                (int64_t)1);
    dy = optune_grad_call(grad, "broadcast_to", 1, &dy,
                          "shape=[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                          ",%" PRId64 "]",
                          channels, boxes, y.bins, y.reads, x.bins, x.reads);
    dy = shaped(grad, dy, 3, channels, boxes, reads);
    if (optune_grad_wants(grad, 0)) {
        const int weight = crossed(grad, "multiply", &y, &x, y.weight, x.weight, boxes);
        const int updates = shaped(grad, times(grad, dy, weight), 2, channels, boxes * reads);
        const int all = shaped(grad, added(grad, index, updates, channels, n * h * w), 4,
                               channels, n, h, w);
        optune_grad_add(grad, 0, host_cast(grad, swapped(grad, all), data->dtype));
    }
    if (optune_grad_wants(grad, 1)) {
        int pixel = host_cast(grad, optune_grad_input(grad, 0), wide(data)), part[4];
        pixel = shaped(grad, swapped(grad, pixel), 2, channels, n * h * w);
        pixel = optune_grad_call(grad, "gather", 2, (const int[]){pixel, index}, "axis=1");
        const int read =
            summed(grad, times(grad, shaped(grad, pixel, 3, channels, boxes, reads), dy), 0);
        for (int k = 0; k < 4; k++) {
            const bool down = k % 2, end = k / 2;
            const int slope = crossed(grad, "multiply", &y, &x,
                                      !down ? y.weight
                                      : end ? y.by_end
                                            : y.by_start,
                                      down  ? x.weight
                                      : end ? x.by_end
                                            : x.by_start,
                                      boxes);
            part[k] =
                shaped(grad, summed(grad, times(grad, read, slope), 1), 2, boxes, (int64_t)1);
        }
        optune_grad_add(grad, 1, host_cast(grad, joined(grad, 4, part, 1), rois->dtype));
    }
    return OPTUNE_OK;
}
