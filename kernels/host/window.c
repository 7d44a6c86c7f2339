/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/window.h declares. */
#include "kernels/host/window.h"

#define WINDOW_BIG OPTUNE_DIM_MAX

/* Saturating a * b for a, b >= 0. */
static int64_t window_times(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? WINDOW_BIG : c;
}

/* Intersects d with [lo, hi]. A bound that says nothing new beyond "positive" is dropped, so that
 * an unknown dim stays exactly as it was written. */
static bool window_narrow(optune_dim *d, int64_t lo, int64_t hi)
{
    if (lo > d->max || hi < d->min || lo > hi)
        return false;
    if (hi == WINDOW_BIG && lo <= 1)
        return true;
    optune_dim range = {.min = lo > d->min ? lo : d->min, .max = hi < d->max ? hi : d->max};
    memcpy(range.name, d->name, sizeof range.name);
    *d = range;
    return true;
}

bool window_proportional(optune_dim *a, int64_t ka, optune_dim *b, int64_t kb)
{
    if (ka == kb)
        return optune_dim_unify(a, b);
    const int64_t a_lo = window_times(a->min, ka), a_hi = window_times(a->max, ka);
    const int64_t b_lo = window_times(b->min, kb), b_hi = window_times(b->max, kb);
    const int64_t lo = a_lo > b_lo ? a_lo : b_lo, hi = a_hi < b_hi ? a_hi : b_hi;
    if (lo > hi || (optune_dim_known(a) && a_lo % kb) || (optune_dim_known(b) && b_lo % ka))
        return false;
    return window_narrow(a, (lo + ka - 1) / ka, hi == WINDOW_BIG ? WINDOW_BIG : hi / ka) &&
           window_narrow(b, (lo + kb - 1) / kb, hi == WINDOW_BIG ? WINDOW_BIG : hi / kb);
}

bool window_slide(optune_dim *in, optune_dim *kernel, optune_dim *out, int64_t pads,
                  int64_t stride, int64_t dilation)
{
    const int64_t big = WINDOW_BIG, k_lo = kernel->min > 1 ? kernel->min : 1;
    const int64_t reach_lo = dilation * (k_lo - 1) + 1;
    const int64_t reach_hi =
        kernel->max >= big / dilation ? big : dilation * (kernel->max - 1) + 1;

    /* Windows that fit: at least one, whatever is unknown. */
    const int64_t most = pads > 0 && in->max >= big - pads ? big
                         : in->max == big                  ? big
                                                           : in->max + pads - reach_lo;
    if (most < 0)
        return false;
    const int64_t room = reach_hi == big ? -1 : in->min + pads - reach_hi;
    if (!window_narrow(out, room < 0 ? 1 : room / stride + 1,
                       most == big ? big : most / stride + 1))
        return false;

    const int64_t o_lo = out->min > 1 ? out->min : 1;
    const int64_t in_lo = (o_lo - 1) * stride + reach_lo - pads;
    const int64_t span = out->max == big ? big : window_times(out->max, stride) - 1;
    const int64_t in_hi =
        span == big || reach_hi == big || span >= big - reach_hi ? big : span + reach_hi - pads;
    if (!window_narrow(in, in_lo > 0 ? in_lo : 0, in_hi < 0 ? big : in_hi))
        return false;

    const int64_t far = in->max == big || (pads > 0 && in->max >= big - pads)
                            ? big
                            : in->max + pads - (o_lo - 1) * stride;
    const int64_t near =
        out->max == big ? 1 : in->min + pads - window_times(out->max, stride) + 1;
    return window_narrow(kernel, near < 1 ? 1 : (near - 1 + dilation - 1) / dilation + 1,
                         far == big ? big
                         : far < 1  ? 0
                                    : (far - 1) / dilation + 1);
}
