/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that slide along an axis, for the type relations of convolutions and pooling:
 *     out = (in + pads - dilation * (kernel - 1) - 1) / stride + 1
 * propagated as intervals in all directions, so that any part of a call may be left unknown.
 * Host code only; owns nothing.
 */
#ifndef OPTUNE_KERNELS_HOST_WINDOW_H
#define OPTUNE_KERNELS_HOST_WINDOW_H

#include <string.h>

#include "optune/define.h"

/* a * ka == b * kb for constants ka, kb. */
bool window_proportional(optune_dim *a, int64_t ka, optune_dim *b, int64_t kb);

/* One spatial axis: in, kernel and out narrow each other. `pads` may be negative: it is what the
 * axis grows by on both sides before the window slides. */
bool window_slide(optune_dim *in, optune_dim *kernel, optune_dim *out, int64_t pads,
                  int64_t stride, int64_t dilation);

#endif
