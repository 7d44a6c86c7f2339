/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_1x1.cpu: a 1x1 convolution as a matrix product. One knob says along which axis vectors
 * lie: pixels (NCHW on both sides: no transposition anywhere) or output channels (any layout).
 * Planes are flattened, so that small ones fill tiles; strided pixels are gathered first.
 */
#include "kernels/convolution/direct/tile_plan.h"

typedef struct config_1x1 {
    bool pixels, pack;
    int64_t vecs, tile, block, ic_chunk, oc_chunk, prefetch;
} config_1x1;

/* The convolution over the pixels that it reads: strided ones are gathered first. */
static void shape_of(const optune_call *call, conv2d_shape *s)
{
    conv2d_most_of(call, s);
    s->h = s->oh;
    s->w = s->ow;
    s->sh = s->sw = 1;
}

static bool can_pixels(const conv2d_shape *s)
{
    return s->data_block == 0 && s->out_block == 0;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_most_applies(task, &s, why))
        return false;
    if (s.kh != 1 || s.kw != 1)
        return optune_refuse(why, "the kernel is %lldx%lld, not 1x1", (long long)s.kh,
                             (long long)s.kw);
    if (s.pt || s.pl || s.pb || s.pr)
        return optune_refuse(why, "there is padding");
    if (conv2d_varies(&s) && (!can_pixels(&s) || s.sh > 1 || s.sw > 1))
        return optune_refuse(why, "takes planes at run time in NCHW, with strides of 1");
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    shape_of(task->call, &s);
    const int64_t lanes = conv2d_lanes(task, &s), most = conv2d_registers(task) - 3;
    static const char *const axes[] = {"channels", "pixels"};
    const bool flat =
        conv2d_varies(&s); /* channels have tiles of columns, which are constants */
    optune_space_words(space, "vector", can_pixels(&s) && !flat ? 2 : 1, axes + flat);
    optune_space_ints(space, "vecs", 4, (const int64_t[]){1, 2, 3, 4});

    int64_t list[64];
    int n = 0;
    for (int64_t v = 4; v <= most; v++)
        list[n++] = v;
    optune_space_ints(space, "tile", n, list);

    const int64_t pixels = s.oh * s.ow;
    n = 0;
    for (int64_t v = 32; v < pixels && v <= 1024; v *= 2)
        list[n++] = v;
    list[n++] = pixels;
    n = conv2d_add_shares(task, list, n, pixels, lanes);
    optune_space_ints(space, "block", n, list);

    n = 0;
    for (int64_t v = 64; v < s.ci_g && v <= 512; v *= 2)
        list[n++] = v;
    list[n++] = s.ci_g;
    optune_space_ints(space, "ic_chunk", n, list);

    n = 0;
    for (int64_t v = 4 * lanes; v < s.co_g; v *= 2)
        list[n++] = v;
    list[n++] = s.co_g;
    n = conv2d_add_shares(task, list, n, s.co_g, lanes);
    optune_space_ints(space, "oc_chunk", n, list);

    static const char *const ways[] = {"no", "yes"};
    optune_space_words(space, "pack", 2, ways);
    optune_space_ints(space, "prefetch", 4, (const int64_t[]){0, 8, 32, 96});
}

static void read_config(const optune_config *config, config_1x1 *c)
{
    *c = (config_1x1){
        .pixels = strcmp(optune_config_word(config, "vector"), "pixels") == 0,
        .pack = strcmp(optune_config_word(config, "pack"), "yes") == 0,
        .vecs = optune_config_int(config, "vecs"),
        .tile = optune_config_int(config, "tile"),
        .block = optune_config_int(config, "block"),
        .ic_chunk = optune_config_int(config, "ic_chunk"),
        .oc_chunk = optune_config_int(config, "oc_chunk"),
        .prefetch = optune_config_int(config, "prefetch"),
    };
}

/* The plane as rows of about `block` pixels each. */
static void reshape(conv2d_shape *s, int64_t block)
{
    const int64_t pixels = s->oh * s->ow, width = conv2d_divisor(pixels, block);
    s->w = s->ow = width * 3 >= block ? width : pixels;
    s->h = s->oh = pixels / s->w;
}

/* The shared register tile over the reshaped plane. */
static void channels_tile(const optune_task *task, const config_1x1 *c, conv2d_shape *s,
                          conv2d_tile *t)
{
    reshape(s, c->block);
    const int64_t lanes = conv2d_lanes(task, s);
    *t = (conv2d_tile){
        .vec_bytes = lanes * conv2d_elem(s),
        .ov = c->vecs,
        .th = 1,
        .tw = host_min(c->tile, s->ow),
        .ici = conv2d_tile_ici(s),
        .ic_chunk = c->ic_chunk,
        .ot_chunk = host_ceil(c->oc_chunk, c->vecs * lanes),
        .oh_block = 1,
        .unroll_ic = conv2d_tile_unroll_ic(s),
        .unroll_kw = 1,
        .prefetch = c->prefetch,
        .copy = c->pack,
        .gather = true,
    };
}

/* Pixels of one of so many blocks, as the knob has them. */
static int64_t part_of(const optune_task *task, const conv2d_shape *s, int64_t parts)
{
    const int64_t pixels = s->oh * s->ow, lanes = conv2d_lanes(task, s);
    return parts == 1 ? pixels : host_ceil(host_ceil(pixels, lanes), parts) * lanes;
}

/* Rows and parts of the channels that give all threads as much; larger rows unless smaller ones
 * save time. */
static void share(const optune_task *task, const optune_space *space, optune_config *config)
{
    const int64_t most = optune_config_int(config, "block");
    int64_t block = most, oc_chunk = optune_config_int(config, "oc_chunk");
    double best = INFINITY;
    for (int64_t parts = 1; parts <= 4 * host_threads(task); parts *= 2) {
        config_1x1 c;
        conv2d_shape s;
        conv2d_tile t;
        shape_of(task->call, &s);
        optune_config_choose_int(config, space, "block",
                                 host_min(most, part_of(task, &s, parts)));
        read_config(config, &c);
        channels_tile(task, &c, &s, &t);
        const double cost = conv2d_tile_share(task, &s, &t);
        if (cost < best * 0.98) {
            best = cost;
            block = c.block;
            oc_chunk = t.ot_chunk * t.ov * conv2d_lanes(task, &s);
        }
    }
    optune_config_choose_int(config, space, "block", block);
    optune_config_choose_int(config, space, "oc_chunk", oc_chunk);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    shape_of(task->call, &s);
    const int64_t registers = conv2d_registers(task), lanes = conv2d_lanes(task, &s);
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 << 10;
    const int64_t elem = conv2d_elem(&s), pixels = s.oh * s.ow;
    /* Vectors along pixels pay where they fit the plane; long reductions hide the transposition
     * that channels need. */
    const bool along_pixels =
        conv2d_varies(&s) || (can_pixels(&s) && pixels >= 4 * lanes &&
                              (pixels % lanes == 0 || pixels >= 32 * lanes));
    optune_config_choose_word(config, space, "vector", along_pixels ? "pixels" : "channels");
    const int64_t vecs = along_pixels || s.co_g > lanes ? 2 : 1;
    optune_config_choose_int(config, space, "vecs", vecs);
    int64_t tile = (registers - 1 - vecs) / vecs;
    if (!along_pixels) {
        /* Tiles of nearly equal size: the last one is as good as the others. */
        tile = host_ceil(pixels, host_ceil(pixels, tile));
        tile = tile < 4 ? 4 : tile;
    }
    optune_config_choose_int(config, space, "tile", tile);
    const int64_t fits = l2 / 2 / (s.ci_g * elem);
    optune_config_choose_int(config, space, "block",
                             along_pixels ? vecs * lanes
                             : fits < 32  ? 32
                                          : fits);
    optune_config_choose_int(config, space, "ic_chunk", along_pixels ? 256 : s.ci_g);
    optune_config_choose_int(config, space, "oc_chunk", s.co_g);
    optune_config_choose_word(config, space, "pack", "no");
    optune_config_choose_int(config, space, "prefetch", along_pixels ? 8 : 32);
    if (!along_pixels)
        share(task, space, config);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    config_1x1 c;
    shape_of(task->call, &s);
    read_config(config, &c);
    const int64_t registers = conv2d_registers(task), lanes = conv2d_lanes(task, &s);
    if (!c.pixels) {
        conv2d_tile t;
        if ((c.vecs - 1) * lanes >= s.co_g)
            return optune_refuse(why, "%lld vectors of channels are more than there are",
                                 (long long)c.vecs);
        channels_tile(task, &c, &s, &t);
        return conv2d_tile_valid(task, &s, &t, why);
    }
    if (c.tile * c.vecs + c.vecs + 1 > registers)
        return optune_refuse(why, "%lldx%lld sums do not fit %lld vector registers",
                             (long long)c.tile, (long long)c.vecs, (long long)registers);
    if (c.block < c.vecs * lanes && c.block < s.oh * s.ow)
        return optune_refuse(why, "a block of %lld pixels is narrower than a panel of %lld",
                             (long long)c.block, (long long)(c.vecs * lanes));
    if (c.block * c.ic_chunk * conv2d_elem(&s) * task->device->threads > (int64_t)1 << 29)
        return optune_refuse(why, "needs more than 512 MiB of scratch");
    return true;
}

static void plan_pixels(const optune_task *task, const conv2d_shape *s, const config_1x1 *c,
                        optune_plan *plan)
{
    const int64_t elem = conv2d_elem(s), lanes = conv2d_lanes(task, s);
    const int64_t tm = host_min(c->tile, s->co_g), tiles = host_ceil(s->co_g, tm);
    const int64_t width = c->vecs * lanes;
    const int64_t panels =
        host_min(host_ceil(s->oh * s->ow, width), c->block < width ? 1 : c->block / width);
    const int64_t threads = task->device->threads > 0 ? task->device->threads : 1;
    const int module = optune_plan_module(plan);
    conv2d_define_varying(plan, module, s, 4);
    const optune_arg data = conv2d_gather_plan(task, plan, module);
    optune_plan_define(plan, module, "PIXELS", 1);
    optune_plan_define(plan, module, "LANES", lanes);
    optune_plan_define(plan, module, "TM", tm);
    optune_plan_define(plan, module, "TV", c->vecs);
    optune_plan_define(plan, module, "IC_CHUNK", c->ic_chunk);
    optune_plan_define(plan, module, "OT_CHUNK", host_min(tiles, host_ceil(c->oc_chunk, tm)));
    optune_plan_define(plan, module, "PANELS", panels);
    optune_plan_define(plan, module, "PACK", c->pack);
    optune_plan_define(plan, module, "UNROLL_IC", 2);
    optune_plan_define(plan, module, "PREFETCH", c->prefetch);
    const optune_arg packed =
        conv2d_pack(task, plan, module, "pack_weight", s->groups * tiles * tm * s->ci_g);
    const int panel = optune_plan_scratch(plan, "panels",
                                          threads * panels * c->ic_chunk * width * elem, false);
    conv2d_finish(task, plan,
                  &(optune_stage){
                      .phase = OPTUNE_TIMED,
                      .module = module,
                      .function = "conv2d",
                      .n_args = 4,
                      .arg = {data, packed, optune_output_arg(0), optune_scratch_arg(panel)}});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    config_1x1 c;
    shape_of(task->call, &s);
    read_config(config, &c);
    if (c.pixels) {
        plan_pixels(task, &s, &c, plan);
    } else {
        conv2d_tile t;
        channels_tile(task, &c, &s, &t);
        conv2d_tile_plan(task, &s, &t, plan);
    }
}

OPTUNE_IMPL(convolution, 1x1) = {
    .op = "conv2d",
    .name = "conv2d_1x1.cpu",
    .summary = "1x1 convolution as a matrix product, vectors along pixels or channels",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0 data.2 data.3",
};
