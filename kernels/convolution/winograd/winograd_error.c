/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/winograd/winograd_error.h declares. */
#include "kernels/convolution/winograd/winograd_error.h"

#include <string.h>

/* Taps that are multiplied as they are: each output adds `taps` products. */
static void winograd_plain(winograd_way *w, int taps)
{
    for (int k = 0; k < w->tile; k++) {
        w->weight[k] += taps;
        w->added[k] += taps * (taps + 1) / 2.0;
    }
}

void winograd_points(winograd_way *w, const double *finite, int taps, int all)
{
    const int n = w->tile + taps - 1;
    double sum[WINOGRAD_MOST_TILE] = {0};
    for (int i = 0; i < all; i++) {
        double poly[WINOGRAD_MOST_POINTS] = {1}, norm = 1, g = 0, b = 0, behind = 0;
        int degree = 0;
        for (int l = 0; l < n - 1 && i < n; l++) {
            if (l == i - 1)
                continue;
            degree++;
            for (int j = degree; j > 0; j--)
                poly[j] = poly[j - 1] - finite[l] * poly[j];
            poly[0] *= -finite[l];
            norm *= i ? finite[i - 1] - finite[l] : 1;
        }
        for (int j = 0; j <= degree; j++) {
            b += poly[j] * poly[j];
            behind += poly[j] != 0 ? b : 0;
        }
        for (int j = 0; j < taps; j++)
            g += i ? pow(finite[i - 1], 2 * j) / (norm * norm) : j == 0;
        for (int k = 0; k < w->tile; k++) {
            const double out = i >= n ? 0 : i ? pow(finite[i - 1], 2 * k) : k == w->tile - 1;
            w->weight[k] += out * g * b;
            w->rounded[k] += out * g * (behind + (i ? b : 0)); /* infinity's weight is exact */
            sum[k] += out * g * b;
            w->added[k] += sum[k];
        }
    }
}

static winograd_way three_of(int64_t tile, int64_t stride)
{
    static const double f2[] = {0, 1, -1}, f4[] = {0, POINT_P, -POINT_P, POINT_Q, -POINT_Q};
    static const double f4_even[] = {0, 1, -1, 2};
    static const double f7[] = {PAIR_1(0), -PAIR_1(0), PAIR_1(1), -PAIR_1(1),
                                PAIR_1(2), -PAIR_1(2), PAIR_1(3), -PAIR_1(3)};
    static const double f7_even[] = {PAIR_2(0), -PAIR_2(0), PAIR_2(1), -PAIR_2(1),
                                     PAIR_2(2), -PAIR_2(2), 0};
    winograd_way w = {.tile = (int)tile};
    if (tile == 1) {
        winograd_plain(&w, 3);
    } else if (stride == 1) {
        winograd_points(&w, tile == 2 ? f2 : tile == 4 ? f4 : f7, 3, w.tile + 2);
    } else {
        winograd_points(&w, tile == 2 ? f2 : tile == 4 ? f4_even : f7_even, 2, w.tile + 1);
        winograd_plain(&w, 1);
    }
    return w;
}

winograd_way winograd_three(int64_t tile, int64_t stride)
{
    static _Thread_local winograd_way known[WINOGRAD_MOST_TILE][2];
    winograd_way *const w = &known[tile][stride - 1];
    if (w->tile == 0)
        *w = three_of(tile, stride);
    return *w;
}

/* ln E[exp(-s |u v|)] of u and v uniform in [-1, 1). */
static double winograd_log_phi(double s)
{
    const double ein =
        s < 1 ? s * (1 - s / 4 * (1 - s * 2 / 9 * (1 - s * 3 / 16 * (1 - s * 4 / 25))))
              : log(s) + 0.5772157 + exp(-s) * log1p(1 / s);
    return log(ein / s);
}

static double winograd_exponent(double l, double reach, double n)
{
    return l * l / 2 + n * winograd_log_phi(l * reach);
}

/* The chance that a normal error exceeds `reach` times the sum of n absolute products. */
static double winograd_chance(double reach, double n)
{
    if (n < 1)
        return 1;
    double lo = log(0.02), hi = log(16);
    for (int i = 0; i < 20; i++) { /* the exponent is convex */
        const double a = lo + (hi - lo) * 0.382, b = lo + (hi - lo) * 0.618;
        if (winograd_exponent(exp(a), reach, n) < winograd_exponent(exp(b), reach, n))
            hi = b;
        else
            lo = a;
    }
    const double l = exp((lo + hi) / 2), h = l / 50, least = winograd_exponent(l, reach, n);
    const double bend =
        (winograd_exponent(l + h, reach, n) - 2 * least + winograd_exponent(l - h, reach, n)) /
        (h * h);
    const double factor = l * sqrt(6.283185 * fmax(bend, 0.1));
    return fmin(1, 2 * exp(least) / fmax(1, factor));
}

/* Kernel rows (or columns) over the input at output i. */
static int64_t winograd_over(int64_t i, int64_t stride, int64_t pad, int64_t kernel,
                             int64_t extent)
{
    return host_min(extent, i * stride - pad + kernel) - host_max(0, i * stride - pad);
}

/* Outputs by their place in a tile: of all, or of those whose kernel may reach beyond the input,
 * which are the first and the last ones; a tile's last output is nearly always its worst. */
static double winograd_places(int64_t extent, int64_t stride, int64_t pads, int tile, bool edge,
                              double place[WINOGRAD_MOST_TILE])
{
    const int64_t beyond = host_ceil(pads, stride);
    for (int i = 0; i < tile; i++)
        place[i] = edge ? 0 : (double)(extent / tile + (i < extent % tile));
    for (int64_t y = 0; y < beyond && edge; y++) {
        place[host_min(y, extent - 1) % tile]++;
        place[host_max(extent - 1 - y, 0) % tile]++;
    }
    return edge ? 2 * (double)beyond : (double)extent;
}

double winograd_wrong(const conv2d_shape *s, const winograd_way *down,
                      const winograd_way *along, int sums)
{
    static const winograd_way none = {.tile = 1, .weight = {1}};
    const double terms = (double)(s->ci * s->kh * s->kw);
    const double bound = WINOGRAD_SCALE * fmin(terms, 2 * sqrt(terms) + 4);
    const double planes = (double)s->images * (double)s->co;
    const winograd_way *const up = down ? down : &none;
    double wrong = 0;
    for (int edge = 0; edge < 4; edge++) { /* inside, above and below, beside, corners */
        const int64_t pads_y = host_max(s->pt, s->pb), pads_x = host_max(s->pl, s->pr);
        const int64_t rows = edge & 1
                                 ? host_min(winograd_over(0, s->sh, s->pt, s->kh, s->h),
                                            winograd_over(s->oh - 1, s->sh, s->pt, s->kh, s->h))
                                 : host_min(s->kh, s->h);
        const int64_t cols = edge & 2
                                 ? host_min(winograd_over(0, s->sw, s->pl, s->kw, s->w),
                                            winograd_over(s->ow - 1, s->sw, s->pl, s->kw, s->w))
                                 : host_min(s->kw, s->w);
        if ((edge & 1 && !pads_y) || (edge & 2 && !pads_x))
            continue;
        double down_at[WINOGRAD_MOST_TILE], along_at[WINOGRAD_MOST_TILE];
        const double count =
            planes * winograd_places(s->oh, s->sh, pads_y, up->tile, edge & 1, down_at) *
            winograd_places(s->ow, s->sw, pads_x, along->tile, edge & 2, along_at);
        const double n = (double)(s->ci * rows * cols);
        const double added = (double)(s->ci * (down ? 1 : host_max(rows, 1)));
        for (int i = 0; i < up->tile && wrong <= WINOGRAD_MOST_WRONG; i++)
            for (int k = 0; k < along->tile && wrong <= WINOGRAD_MOST_WRONG; k++) {
                const double w = up->weight[i] * along->weight[k];
                const double roundings = w * (sums * added + 1) / 2 +
                                         (up->rounded[i] + up->added[i]) * along->weight[k] +
                                         up->weight[i] * (along->rounded[k] + along->added[k]);
                /* A rounding's variance is 0.045 eps^2; that of a product of factors 1/9. */
                const double reach = bound / sqrt(0.045 / 9 * added * roundings);
                /* Any l is a bound, and for many products one is enough. */
                const double rough = 2 * exp(winograd_exponent(8, reach, n));
                wrong +=
                    planes * down_at[i] * along_at[k] *
                    (count * rough < WINOGRAD_MOST_WRONG / 100 ? rough
                                                               : winograd_chance(reach, n));
            }
    }
    return wrong;
}

bool winograd_three_precise(const conv2d_shape *s, int64_t tile_h, int64_t tile_w)
{
    enum { UNASKED, PRECISE, TOO_ROUGH };
    static _Thread_local conv2d_shape of;
    static _Thread_local unsigned char known[WINOGRAD_MOST_TILE][WINOGRAD_MOST_TILE];
    if (memcmp(&of, s, sizeof of) != 0) {
        of = *s;
        memset(known, UNASKED, sizeof known);
    }
    unsigned char *const it = &known[tile_h][tile_w];
    if (*it == UNASKED) {
        const winograd_way down = winograd_three(tile_h, s->sh);
        const winograd_way along = winograd_three(tile_w, s->sw);
        *it = winograd_wrong(s, &down, &along, 1) <= WINOGRAD_MOST_WRONG ? PRECISE : TOO_ROUGH;
    }
    return *it == PRECISE;
}
