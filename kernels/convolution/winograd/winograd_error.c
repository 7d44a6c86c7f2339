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
        const double square = i ? finite[i - 1] * finite[i - 1] : 0;
        double power = 1;
        for (int j = 0; j < taps; j++, power *= square)
            g += i ? power / (norm * norm) : j == 0;
        power = 1;
        for (int k = 0; k < w->tile; k++, power *= square) {
            const double out = i >= n ? 0 : i ? power : k == w->tile - 1;
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

/* Three taps of stride 1 or 2 in tiles of 1, 2, 4 or 7, as conv2d_winograd does them: with stride
 * 2, the even taps by interpolation and the odd one as it is. */
static const winograd_way *winograd_three(int64_t tile, int64_t stride)
{
    static _Thread_local winograd_way known[WINOGRAD_MOST_TILE][2];
    winograd_way *const w = &known[tile][stride - 1];
    if (w->tile == 0)
        *w = three_of(tile, stride);
    return w;
}

/* ln E[exp(-s |u v|)] of u and v uniform in [-1, 1), and its first two derivatives by ln s. */
typedef struct winograd_phi {
    double log, slope, bend;
} winograd_phi;

/* The exponential integral for s >= 1 (Hastings' approximation, Abramowitz and Stegun 5.1.56), of
 * which e = exp(-s) is known. */
static double winograd_e1(double s, double e)
{
    const double over =
        0.2677737343 + s * (8.6347608925 + s * (18.0590169730 + s * (8.5733287401 + s)));
    const double under =
        3.9584969228 + s * (21.0996530827 + s * (25.6329561486 + s * (9.5733223454 + s)));
    return e / s * over / under;
}

static winograd_phi winograd_phi_of(double s)
{
    const double e = exp(-s), from_0 = 1 - s * 4 / 25 * (1 - s * 5 / 36 * (1 - s * 6 / 49));
    const double ein = s < 1 ? s * (1 - s / 4 * (1 - s * 2 / 9 * (1 - s * 3 / 16 * from_0)))
                             : log(s) + 0.5772157 + winograd_e1(s, e);
    const double by = (1 - e) / ein;
    return (winograd_phi){.log = log(ein / s), .slope = by - 1, .bend = s * e / ein - by * by};
}

/* The chance that a normal error exceeds `reach` times the sum of n absolute products, of `count`
 * outputs. Any l is a bound, and one that leaves hardly an output is enough; the exponent is convex
 * in ln l, so Newton's steps go from what was the best one to what is. */
static double winograd_chance(double reach, double n, double count, double *best)
{
    enum { MOST_STEPS = 20 };
    const double lowest = 0.02, highest = 16, near = 0.03;
    if (n < 1)
        return 1;
    double l = *best, bend = 0, chance = 1;
    for (int i = 0; i < MOST_STEPS; i++) {
        const winograd_phi phi = winograd_phi_of(l * reach);
        const double slope = l * l + n * phi.slope;
        bend = 2 * l * l + n * phi.bend;
        chance = 2 * exp(l * l / 2 + n * phi.log);
        if (count * chance < WINOGRAD_MOST_WRONG / 100)
            return chance;
        const double wanted = bend > 0 ? -slope / bend : slope > 0 ? -1 : 1;
        if (fabs(wanted) < near) {
            chance *= 1 - slope * slope / bend / 2; /* what the last step would take off */
            break;
        }
        const double next = fmax(lowest, fmin(highest, l * exp(fmax(-1, fmin(1, wanted)))));
        bend -= slope; /* of the exponent by l, times l^2 */
        if (next == l)
            break;
        l = next;
    }
    *best = l;
    return fmin(1, chance / fmax(1, sqrt(6.283185 * fmax(bend, 0.1 * l * l))));
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

typedef struct winograd_question {
    const winograd_way *down, *along;
    double planes, bound;
    int sums;
    double l; /* of winograd_chance, at the place before */
} winograd_question;

/* Outputs whose kernel lies over as much of the input: inside, above and below, beside, corners. */
typedef struct winograd_edge {
    double n, added;    /* products of an output, and how many meet before transforms */
    double count, left; /* outputs of all planes, and those in places that were not looked at */
    double down_at[WINOGRAD_MOST_TILE], along_at[WINOGRAD_MOST_TILE]; /* of one plane */
    struct winograd_place {
        double outputs, roundings;
    } place[WINOGRAD_MOST_TILE * WINOGRAD_MOST_TILE]; /* of a tile; the worst one is the last */
    int n_places;                                     /* -1: nobody asked for them */
    double chance; /* that an output of what is left is beyond the bound, at most */
} winograd_edge;

/* The variance of an output's error, of what its two ways do to it. */
static double winograd_roundings(const winograd_question *q, double added, double down,
                                 double along, double down_lost, double along_lost)
{
    return down * along * (q->sums * added + 1) / 2 + down_lost * along + down * along_lost;
}

static void winograd_judge(winograd_question *q, winograd_edge *e, double roundings)
{
    /* A rounding's variance is 0.045 eps^2; that of a product of factors 1/9. */
    const double reach = q->bound / sqrt(0.045 / 9 * e->added * roundings);
    e->chance = winograd_chance(reach, e->n, e->count, &q->l);
}

static void winograd_list(const winograd_question *q, winograd_edge *e)
{
    const winograd_way *const down = q->down, *const along = q->along;
    e->n_places = 0;
    for (int i = 0; i < down->tile; i++)
        for (int k = 0; k < along->tile; k++)
            if (e->down_at[i] > 0 && e->along_at[k] > 0)
                e->place[e->n_places++] = (struct winograd_place){
                    q->planes * e->down_at[i] * e->along_at[k],
                    winograd_roundings(q, e->added, down->weight[i], along->weight[k],
                                       down->rounded[i] + down->added[i],
                                       along->rounded[k] + along->added[k])};
}

/* At the worst place that is left. */
static void winograd_look(winograd_question *q, winograd_edge *e)
{
    const int last = e->n_places - 1;
    int worst = last;
    if (last < 0) {
        e->left = e->chance = 0;
        return;
    }
    for (int i = 0; i < last; i++)
        worst = e->place[i].roundings > e->place[worst].roundings ? i : worst;
    const struct winograd_place found = e->place[worst];
    e->place[worst] = e->place[last];
    e->place[last] = found;
    winograd_judge(q, e, found.roundings);
}

/* The largest that each is at a place with outputs. */
static void winograd_worst(const winograd_way *w, const double *at, double *weight,
                           double *lost)
{
    *weight = *lost = 0;
    for (int i = 0; i < w->tile; i++)
        if (at[i] > 0) {
            *weight = w->weight[i] > *weight ? w->weight[i] : *weight;
            *lost = w->rounded[i] + w->added[i] > *lost ? w->rounded[i] + w->added[i] : *lost;
        }
}

/* The taps of a kernel that lie over the input at the outputs of an edge, in one direction. */
static int64_t winograd_taps(int64_t extent, int64_t outs, int64_t stride, int64_t pad,
                             int64_t kernel, bool edge)
{
    return edge ? host_min(winograd_over(0, stride, pad, kernel, extent),
                           winograd_over(outs - 1, stride, pad, kernel, extent))
                : host_min(kernel, extent);
}

static void winograd_edge_of(winograd_question *q, const conv2d_shape *s, int64_t pads_y,
                             int64_t pads_x, bool rows_add, winograd_edge *e)
{
    const int64_t rows = winograd_taps(s->h, s->oh, s->sh, s->pt, s->kh, pads_y > 0);
    const int64_t cols = winograd_taps(s->w, s->ow, s->sw, s->pl, s->kw, pads_x > 0);
    double down, along, down_lost, along_lost;
    e->n = (double)(s->ci * rows * cols);
    e->added = (double)(s->ci * (rows_add ? host_max(rows, 1) : 1));
    e->count = e->left =
        q->planes *
        winograd_places(s->oh, s->sh, pads_y, q->down->tile, pads_y > 0, e->down_at) *
        winograd_places(s->ow, s->sw, pads_x, q->along->tile, pads_x > 0, e->along_at);
    e->n_places = -1;
    winograd_worst(q->down, e->down_at, &down, &down_lost);
    winograd_worst(q->along, e->along_at, &along, &along_lost);
    winograd_judge(q, e, winograd_roundings(q, e->added, down, along, down_lost, along_lost));
}

/* A place at a time, where most may still be wrong, until what was found, or what cannot be
 * exceeded, decides. */
bool winograd_keeps_bound(const conv2d_shape *s, const winograd_way *down,
                          const winograd_way *along, int sums)
{
    static const winograd_way none = {.tile = 1, .weight = {1}};
    const double terms = (double)(s->ci * s->kh * s->kw);
    winograd_question q = {.down = down ? down : &none,
                           .along = along,
                           .planes = (double)s->images * (double)s->co,
                           .bound = WINOGRAD_SCALE * fmin(terms, 2 * sqrt(terms) + 4),
                           .sums = sums,
                           .l = 8};
    const int64_t pads_y = host_max(s->pt, s->pb), pads_x = host_max(s->pl, s->pr);
    winograd_edge edge[4];
    int n = 0;
    for (int at = 0; at < 4; at++)
        if (!(at & 1 && !pads_y) && !(at & 2 && !pads_x))
            winograd_edge_of(&q, s, at & 1 ? pads_y : 0, at & 2 ? pads_x : 0, !down,
                             &edge[n++]);
    double wrong = 0, most = INFINITY;
    while (wrong <= WINOGRAD_MOST_WRONG && most > WINOGRAD_MOST_WRONG) {
        winograd_edge *next = &edge[0];
        most = wrong;
        for (int i = 0; i < n; i++) {
            most += edge[i].left * edge[i].chance;
            if (edge[i].left * edge[i].chance > next->left * next->chance)
                next = &edge[i];
        }
        if (most > WINOGRAD_MOST_WRONG && next->n_places < 0) {
            winograd_list(&q, next);
            winograd_look(&q, next);
        } else if (most > WINOGRAD_MOST_WRONG) {
            const double outputs = next->place[--next->n_places].outputs;
            wrong += outputs * next->chance;
            next->left -= outputs;
            winograd_look(&q, next);
        }
    }
    return wrong <= WINOGRAD_MOST_WRONG;
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
        *it = winograd_keeps_bound(s, winograd_three(tile_h, s->sh),
                                   winograd_three(tile_w, s->sw), 1)
                  ? PRECISE
                  : TOO_ROUGH;
    }
    return *it == PRECISE;
}
