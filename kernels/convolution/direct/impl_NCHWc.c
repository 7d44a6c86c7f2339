/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_NCHWc.x86: TVM's template of that name with its exact knobs, so that AutoTVM's logs mean
 * the same here. The inner tile_ic and tile_oc are the channel blocks of the packed weight,
 * tile_oc x tile_ow (x tile_oh) is the register tile. What TVM leaves to its packed layouts, and
 * knobs do not say, is computed from the caches: rows of a block, and clipping or copying of
 * padding. Data is read in the layout it comes in, and nothing but the weight is packed.
 */
#include "kernels/convolution/direct/tile_plan.h"

OPTUNE_BODY("kernels/convolution/direct/impl_direct.kernel.c");

/* Lanes of the widest vectors that fill a block of channels; 0 when none does. A block of all
 * channels may be padded. */
static int64_t lanes_of(const optune_task *task, const conv2d_shape *s, int64_t block)
{
    const int64_t least = 16 / conv2d_elem(s);
    for (int64_t lanes = conv2d_lanes(task, s); lanes >= least; lanes /= 2)
        if (block % lanes == 0 || (block == s->co && lanes / 2 < block))
            return lanes;
    return block == s->co ? least : 0;
}

/* Blocks divide the channels and fill whole vectors, and a column of pixels and its weights stay in
 * registers: of 255 channels no block does. */
static bool has_block(const optune_task *task, const conv2d_shape *s)
{
    const int64_t most = (conv2d_registers(task) - 1) / 2 * conv2d_lanes(task, s);
    for (int64_t block = 1; block <= s->co && block <= most; block++) {
        const int64_t lanes = s->co % block == 0 ? lanes_of(task, s, block) : 0;
        if (lanes && 2 * host_ceil(block, lanes) + 1 <= conv2d_registers(task))
            return true;
    }
    return false;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.groups != 1)
        return optune_refuse(why, "there are %lld groups, not 1", (long long)s.groups);
    return has_block(task, &s) ||
           optune_refuse(why, "no block of %lld output channels fills vectors",
                         (long long)s.co);
}

static bool is_1x1(const conv2d_shape *s)
{
    return s->kh == 1 && s->kw == 1;
}

static bool at_most_64(const int64_t *sizes, int parts, const void *arg)
{
    (void)arg;
    return sizes[parts - 1] <= 64;
}

/* What tile_ow divides. TVM's template counts the width without dilation, and an index is to be the
 * same there; whatever reaches past the real width is cut off. */
static int64_t tiled_width(const conv2d_shape *s)
{
    return (s->w + s->pl + s->pr - s->kw) / s->sw + 1;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    static const optune_split row = {.policy = OPTUNE_SPLIT_VERBOSE, .filter = at_most_64};
    optune_space_split(space, "tile_ic", s.ci, 2, NULL);
    optune_space_split(space, "tile_oc", s.co, 2, NULL);
    optune_space_split(space, "tile_ow", tiled_width(&s), 2, &row);
    if (is_1x1(&s))
        optune_space_ints(space, "tile_oh", s.oh > 1 ? 2 : 1, (const int64_t[]){1, 2});
    else
        optune_space_bools(space, "unroll_kw", 2, (const bool[]){true, false});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t registers = conv2d_registers(task), lanes = conv2d_lanes(task, &s);
    /* The best estimate over blocks that divide the channels and widths that tile_ow offers. */
    double best = 1e300;
    int64_t oc = s.co, ow = 1;
    for (int64_t block = 1; block <= s.co && block <= 4 * lanes; block++) {
        const int64_t wide = s.co % block == 0 ? lanes_of(task, &s, block) : 0;
        for (int64_t tw = 1; wide && tw <= s.ow && tw <= 64; tw++) {
            const int64_t ov = host_ceil(block, wide);
            if ((tiled_width(&s) % tw && (tw & (tw - 1))) || ov * tw + ov + 1 > registers)
                continue;
            const double cost = conv2d_tile_cost(&s, wide, ov, 1, tw);
            if (cost < best * 0.999) {
                best = cost;
                oc = block;
                ow = tw;
            }
        }
    }
    const int64_t ic = s.data_block ? s.data_block : lanes;
    optune_config_choose_split(config, space, "tile_ic",
                               (const int64_t[]){0, conv2d_divisor(s.ci, ic)});
    optune_config_choose_split(config, space, "tile_oc", (const int64_t[]){0, oc});
    optune_config_choose_split(config, space, "tile_ow", (const int64_t[]){0, ow});
    optune_config_nearest(config, space);
}

static void read_config(const optune_task *task, const optune_config *config, conv2d_shape *s,
                        conv2d_tile *t)
{
    conv2d_shape_of(task->call, s);
    const int64_t ic = optune_config_split(config, "tile_ic")[1];
    const int64_t oc = optune_config_split(config, "tile_oc")[1];
    const int64_t lanes = lanes_of(task, s, oc);
    conv2d_tile_choose(task, s, t);
    const bool one = is_1x1(s);
    const bool unroll = one || optune_config_bool(config, "unroll_kw");
    t->vec_bytes = lanes * conv2d_elem(s);
    t->ov = lanes ? host_ceil(oc, lanes) : 0;
    t->th = one ? optune_config_int(config, "tile_oh") : 1;
    t->tw = host_min(optune_config_split(config, "tile_ow")[1], s->ow);
    t->ici = ic;
    t->ic_chunk = s->ci;
    t->oh_block = host_min(host_ceil(t->oh_block, t->th) * t->th, s->oh);
    t->unroll_ic = one && ic % 4 == 0 ? 4 : 1;
    t->unroll_kw = unroll && s->kw <= 16 ? s->kw : 1;
    t->copy = !conv2d_clips(s, t->th, t->tw);
    if (t->ov)
        conv2d_tile_share(task, s, t);
    while (t->ov && t->oh_block > t->th && !conv2d_tile_scratch_fits(task, s, t))
        t->oh_block = host_max(t->oh_block / 2 / t->th * t->th, t->th);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_tile t;
    read_config(task, config, &s, &t);
    if (t.ov == 0)
        return optune_refuse(why, "blocks of %lld output channels do not fill vectors",
                             (long long)optune_config_split(config, "tile_oc")[1]);
    if (s.data_block && s.data_block % t.ici)
        return optune_refuse(why, "blocks of %lld input channels do not divide NCHW%dc",
                             (long long)t.ici, s.data_block);
    return conv2d_tile_valid(task, &s, &t, why);
}

/* Steps of the register tile, in cycles. Whether the loop over the columns is unrolled, and
 * how input channels are cut, it does not know. */
static double estimate(const optune_task *task, const optune_config *config)
{
    conv2d_shape s;
    conv2d_tile t;
    read_config(task, config, &s, &t);
    return conv2d_tile_cost(&s, lanes_of(task, &s, optune_config_split(config, "tile_oc")[1]),
                            t.ov, t.th, t.tw);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_tile t;
    read_config(task, config, &s, &t);
    conv2d_tile_plan(task, &s, &t, plan);
}

OPTUNE_IMPL(convolution_direct, NCHWc) = {
    .op = "conv2d",
    .name = "conv2d_NCHWc.x86",
    .summary = "direct convolution by blocks of channels, with TVM's knobs",
    .task_args = "data weight strides padding dilation data_layout out_layout out_dtype",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
    .symbolic = "data.0",
};
