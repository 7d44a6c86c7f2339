/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What float32 convolutions by tiles share: which calls they take, and how planes of padded data
 * lie. Host code only; it owns nothing and allocates nothing.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_SPLIT_PLANES_H
#define OPTUNE_KERNELS_CONVOLUTION_SPLIT_PLANES_H

#include "kernels/convolution/conv2d.h"
#include "kernels/matmul/split.h"

/* Planes of floats, or of words of parts, as kernels/convolution/dots/dots.h has them of words. */
typedef struct split_planes {
    bool direct; /* the data's own serve */
    int64_t phase_h, phase_w, rows, pitch, plane;
    int64_t panels; /* of the pixels of an output */
} split_planes;

static inline split_planes split_planes_of(const conv2d_shape *s)
{
    split_planes p = {.direct =
                          s->kh * s->kw * s->sh * s->sw == 1 && s->oh == s->h && s->ow == s->w};
    p.phase_h = s->kh == 1 ? 1 : s->sh;
    p.phase_w = s->kw == 1 ? 1 : s->sw;
    p.rows = host_ceil((s->oh - 1) * s->sh + (s->kh - 1) * s->dh + 1, s->sh);
    p.pitch = host_ceil((s->ow - 1) * s->sw + (s->kw - 1) * s->dw + 1, s->sw);
    p.panels = host_ceil((s->oh - 1) * p.pitch + s->ow, SPLIT_PANEL);
    /* The odd line keeps planes out of the same cache sets. */
    p.plane = p.direct ? s->h * s->w : (host_ceil(p.rows * p.pitch + SPLIT_PANEL, 16) | 1) * 16;
    return p;
}

static inline int64_t split_channel_panels(const conv2d_shape *s)
{
    return host_ceil(s->co_g, SPLIT_PANEL);
}

/* Whose weights, of this depth, and planes fit. */
static inline bool split_conv2d_applies(const optune_task *task, conv2d_shape *s, char *why)
{
    if (!split_here(task, why) || !conv2d_applies(task, s, why))
        return false;
    if (s->f64)
        return optune_refuse(why, "needs float32");
    if (s->data_block || s->out_block)
        return optune_refuse(why, "needs NCHW, in and out");
    return s->co_g >= 4 ||
           optune_refuse(why, "needs 4 output channels of a group at least: a tile has 16");
}

static inline void split_define_planes(optune_plan *plan, int module, const split_planes *p)
{
    optune_plan_define(plan, module, "PHASE_H", p->phase_h);
    optune_plan_define(plan, module, "PHASE_W", p->phase_w);
    optune_plan_define(plan, module, "ROWS", p->rows);
    optune_plan_define(plan, module, "PITCH", p->pitch);
    optune_plan_define(plan, module, "PLANE", p->plane);
}

#endif
