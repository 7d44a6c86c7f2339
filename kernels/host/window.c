/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/window.h declares. */
#include "kernels/host/window.h"
#include "kernels/host/host.h"

bool window_proportional(optune_dim *a, int64_t ka, optune_dim *b, int64_t kb)
{
    if (ka == kb)
        return optune_dim_unify(a, b);
    const int64_t a_lo = host_dim_times(a->min, ka), a_hi = host_dim_times(a->max, ka);
    const int64_t b_lo = host_dim_times(b->min, kb), b_hi = host_dim_times(b->max, kb);
    const int64_t lo = a_lo > b_lo ? a_lo : b_lo, hi = a_hi < b_hi ? a_hi : b_hi;
    if (lo > hi || (optune_dim_known(a) && a_lo % kb) || (optune_dim_known(b) && b_lo % ka))
        return false;
    return host_dim_narrow(a, (lo + ka - 1) / ka,
                           hi == OPTUNE_DIM_MAX ? OPTUNE_DIM_MAX : hi / ka) &&
           host_dim_narrow(b, (lo + kb - 1) / kb,
                           hi == OPTUNE_DIM_MAX ? OPTUNE_DIM_MAX : hi / kb);
}

bool window_slide(optune_dim *in, optune_dim *kernel, optune_dim *out, int64_t pads,
                  int64_t stride, int64_t dilation)
{
    const int64_t big = OPTUNE_DIM_MAX, k_lo = kernel->min > 1 ? kernel->min : 1;
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
    if (!host_dim_narrow(out, room < 0 ? 1 : room / stride + 1,
                         most == big ? big : most / stride + 1))
        return false;

    if (optune_dim_known(kernel) && kernel->max < big / dilation && pads > -big / 4)
        optune_dim_compute(out, 1, (const optune_dim *const[]){in}, NULL,
                           pads - reach_lo + stride, stride);

    const int64_t o_lo = out->min > 1 ? out->min : 1;
    const int64_t in_lo = (o_lo - 1) * stride + reach_lo - pads;
    const int64_t span = out->max == big ? big : host_dim_times(out->max, stride) - 1;
    const int64_t wide = span == big || (reach_hi > 0 && span >= big - reach_hi)
                             ? big
                             : span + reach_hi; /* reach_hi is below 0 of a kernel of 0 */
    const int64_t in_hi = wide == big || (pads < 0 && wide >= big + pads) ? big : wide - pads;
    if (!host_dim_narrow(in, in_lo > 0 ? in_lo : 0, in_hi < 0 ? big : in_hi))
        return false;

    const int64_t far = in->max == big || (pads > 0 && in->max >= big - pads)
                            ? big
                            : in->max + pads - (o_lo - 1) * stride;
    const int64_t near =
        out->max == big ? 1 : in->min + pads - host_dim_times(out->max, stride) + 1;
    return host_dim_narrow(kernel, near < 1 ? 1 : (near - 1 + dilation - 1) / dilation + 1,
                           far == big ? big
                           : far < 1  ? 0
                                      : (far - 1) / dilation + 1);
}
