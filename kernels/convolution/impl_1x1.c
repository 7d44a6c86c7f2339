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
        .ici = conv2d_tile_ici_of(s, c->ic_chunk),
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

/* Pixels behind the last whole vector that are no vector of their own: the tile's channels are one
 * for each of them, where that takes a third of the sums or less and registers are left. */
static int64_t tail_of(const optune_task *task, const conv2d_shape *s, int64_t vecs,
                       int64_t tile)
{
    const int64_t lanes = conv2d_lanes(task, s), left = s->oh * s->ow % lanes;
    const int64_t sums = host_ceil(tile, lanes);
    return !conv2d_varies(s) && s->oh * s->ow > lanes && 3 * left * sums <= tile &&
                   tile * vecs + vecs + (left + 1) * sums + 1 <= conv2d_registers(task)
               ? left
               : 0;
}

/* Vectors of a plane, the tail left out. */
static int64_t vectors_of(const optune_task *task, const conv2d_shape *s, const config_1x1 *c)
{
    return host_ceil(s->oh * s->ow - tail_of(task, s, c->vecs, c->tile), conv2d_lanes(task, s));
}

/* Panels of a plane and of a block, blocks all as large as can be. */
static int64_t panels_of(const optune_task *task, const conv2d_shape *s, const config_1x1 *c,
                         int64_t *of_block)
{
    const int64_t width = c->vecs * conv2d_lanes(task, s);
    const int64_t panels = host_ceil(vectors_of(task, s, c), c->vecs);
    const int64_t most = host_min(panels, host_ceil(c->block, width));
    *of_block = host_ceil(panels, host_ceil(panels, most));
    return panels;
}

/* Pixels of one of so many blocks, as the knob has them. */
static int64_t part_of(const optune_task *task, const conv2d_shape *s, int64_t parts)
{
    const int64_t pixels = s->oh * s->ow, lanes = conv2d_lanes(task, s);
    return parts == 1 ? pixels : host_ceil(host_ceil(pixels, lanes), parts) * lanes;
}

/* A block that is narrower than a panel. */
static bool narrow(const optune_task *task, const conv2d_shape *s, const config_1x1 *c)
{
    return c->block < c->vecs * conv2d_lanes(task, s) && c->block < s->oh * s->ow;
}

/* Vectors of pixels of one block: as many panels as the others or one more, and what there is of a
 * ragged one. */
static int64_t block_vecs(const optune_task *task, const conv2d_shape *s, const config_1x1 *c,
                          int64_t block, int64_t blocks)
{
    const int64_t vecs = vectors_of(task, s, c), panels = host_ceil(vecs, c->vecs);
    return host_min(vecs, (block + 1) * panels / blocks * c->vecs) -
           block * panels / blocks * c->vecs;
}

/* What a config of pixels takes: the thread that has most to do, 1 where all have as much, and a
 * twentieth of what is read, as conv2d_tile_share counts it. No less than `enough` where it is not
 * less than that. */
static double pixels_cost(const optune_task *task, const conv2d_shape *s, const config_1x1 *c,
                          double enough)
{
    int64_t of_block;
    const int64_t panels = panels_of(task, s, c, &of_block),
                  tiles = host_ceil(s->co_g, c->tile);
    const int64_t chunk = host_min(tiles, host_ceil(c->oc_chunk, c->tile));
    const int64_t blocks = host_ceil(panels, of_block), chunks = host_ceil(tiles, chunk);
    const int64_t pieces = s->n * s->groups * chunks * blocks, threads = host_threads(task);
    const double weights = (double)s->co_g, pixels = (double)(s->oh * s->ow);
    const double reads =
        ((double)blocks * weights + (double)chunks * pixels) / (weights + pixels);
    const int64_t all = s->n * s->groups * tiles * vectors_of(task, s, c);
    int64_t most = 0, mine = 0;
    double cost = 1 + reads / 20;
    if (pieces > 16 * threads) /* so many share alike */
        return cost;
    for (int64_t i = 0, thread = 0; i < pieces && cost < enough; i++) {
        const int64_t at = i / blocks % chunks;
        const int64_t work = block_vecs(task, s, c, i % blocks, blocks) *
                             (host_min(tiles, (at + 1) * chunk) - at * chunk);
        mine += work;
        if (mine > most) {
            most = mine;
            cost = fmax(cost, (double)(most * threads) / (double)all + reads / 20);
        }
        if (i + 1 ==
            (thread + 1) * (pieces / threads) + host_min(thread + 1, pieces % threads)) {
            thread++;
            mine = 0;
        }
    }
    return cost;
}

/* The same of channels, and the chunk of these that goes with their blocks. */
static double channels_cost(const optune_task *task, const config_1x1 *c, int64_t *oc_chunk)
{
    conv2d_shape s;
    conv2d_tile t;
    shape_of(task->call, &s);
    channels_tile(task, c, &s, &t);
    const double cost = conv2d_tile_share(task, &s, &t);
    *oc_chunk = t.ot_chunk * t.ov * conv2d_lanes(task, &s);
    return cost;
}

/* Blocks and parts of the channels that give all threads as much; larger ones unless smaller ones
 * save time. Gives what they cost. */
static double share(const optune_task *task, const optune_space *space, optune_config *config)
{
    const int64_t most = optune_config_int(config, "block"), threads = host_threads(task);
    int64_t block = most, oc_chunk = optune_config_int(config, "oc_chunk");
    conv2d_shape s;
    config_1x1 c;
    shape_of(task->call, &s);
    read_config(config, &c);
    double best = INFINITY;
    for (int64_t parts = 1, last_block = 0; parts <= 4 * threads; parts *= 2) {
        optune_config_choose_int(config, space, "block",
                                 host_min(most, part_of(task, &s, parts)));
        c.block = optune_config_int(config, "block");
        if (c.block == last_block || (c.pixels && narrow(task, &s, &c)))
            continue;
        last_block = c.block;
        /* Of channels the chunk follows from the blocks. */
        for (int64_t cut = 1, last = 0; cut <= (c.pixels ? threads : 1); cut *= 2) {
            optune_config_choose_int(config, space, "oc_chunk", host_ceil(s.co_g, cut));
            c.oc_chunk = optune_config_int(config, "oc_chunk");
            if (c.oc_chunk == last)
                continue;
            int64_t chunk = last = c.oc_chunk;
            const double cost = c.pixels ? pixels_cost(task, &s, &c, best * 0.98)
                                         : channels_cost(task, &c, &chunk);
            if (cost < best * 0.98) {
                best = cost;
                block = c.block;
                oc_chunk = chunk;
            }
        }
    }
    optune_config_choose_int(config, space, "block", block);
    optune_config_choose_int(config, space, "oc_chunk", oc_chunk);
    return best;
}

/* Whether panels of `vecs` vectors and `tile` channels leave little of a plane to narrower ones,
 * whose few sums wait for one another: as a sum takes four cycles, a step of ten sums takes as long
 * as one of fewer. */
static bool fills_panels(const conv2d_shape *s, int64_t lanes, int64_t vecs, int64_t tile)
{
    const int64_t all = host_ceil(s->oh * s->ow, lanes), left = all % vecs;
    const int64_t sums = all / vecs * vecs * tile + (left ? host_max(left * tile, 10) : 0);
    return (double)(sums * lanes) <= 1.12 * (double)(s->oh * s->ow * tile);
}

/* Panels of three vectors by eight channels instead of four by six, where threads share those more
 * evenly; `block` is the most that there may be in one. Gives what is chosen costs. */
static double share_otherwise(const optune_task *task, const optune_space *space,
                              const conv2d_shape *s, int64_t block, double cost,
                              optune_config *config)
{
    static const char *const knobs[] = {"vecs", "tile", "block", "oc_chunk"};
    const int64_t other[] = {3, 8, block, s->co_g};
    int64_t before[4];
    for (int i = 0; i < 4; i++) {
        before[i] = optune_config_int(config, knobs[i]);
        optune_config_choose_int(config, space, knobs[i], other[i]);
    }
    const double otherwise = share(task, space, config);
    if (fills_panels(s, conv2d_lanes(task, s), 3, 8) && otherwise < 0.97 * cost)
        return otherwise;
    for (int i = 0; i < 4; i++)
        optune_config_choose_int(config, space, knobs[i], before[i]);
    return cost;
}

/* The tile along pixels of a small plane that ends one pixel behind whole vectors; false: it does
 * not, and nothing is changed. */
static bool tile_with_tail(const optune_task *task, const conv2d_shape *s, int64_t *vecs,
                           int64_t *tile)
{
    const int64_t lanes = conv2d_lanes(task, s), registers = conv2d_registers(task);
    const int64_t whole = s->oh * s->ow / lanes;
    if (whole < 3 || whole >= 32 || s->oh * s->ow % lanes != 1)
        return false;
    const int64_t v = host_ceil(whole, host_ceil(whole, registers >= 32 ? 4 : 2));
    const int64_t t = (registers - 3 - v) / v;
    if (tail_of(task, s, v, t) == 0)
        return false;
    *vecs = v;
    *tile = t;
    return true;
}

/* Chooses all knobs for vectors along this axis, and gives what share() says. */
static double choose(const optune_task *task, const optune_space *space, const conv2d_shape *s,
                     bool along_pixels, optune_config *config)
{
    const int64_t registers = conv2d_registers(task), lanes = conv2d_lanes(task, s);
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 << 10;
    const int64_t pixels = s->oh * s->ow, input = s->ci_g * conv2d_elem(s);
    const bool wide = registers >= 32, alone = host_threads(task) == 1;
    int64_t vecs = along_pixels && wide ? 4 : along_pixels || s->co_g > lanes ? 2 : 1;
    int64_t tile = (registers - 1 - vecs) / vecs;
    if (along_pixels)
        tile_with_tail(task, s, &vecs, &tile);
    if (!along_pixels) {
        /* Tiles of nearly equal size: the last one is as good as the others. */
        tile = host_ceil(pixels, host_ceil(pixels, tile));
        tile = tile < 4 ? 4 : tile;
    }
    /* Pixels whose input stays in the second-level cache while all channels pass by: rows of planes
     * are read and written as far as that. What varies may be far smaller, and is to be shared. */
    const int64_t panel = along_pixels ? host_max(vecs * lanes, 32) : 32;
    const int64_t block = conv2d_varies(s) && !alone
                              ? panel
                              : host_max(l2 / (along_pixels ? 4 : 2) / input, panel);
    optune_config_choose_word(config, space, "vector", along_pixels ? "pixels" : "channels");
    optune_config_choose_int(config, space, "vecs", vecs);
    optune_config_choose_int(config, space, "tile", tile);
    optune_config_choose_int(config, space, "block", block);
    optune_config_choose_int(config, space, "ic_chunk",
                             !along_pixels ? s->ci_g
                             : wide        ? 1024
                                           : 256);
    optune_config_choose_int(config, space, "oc_chunk", s->co_g);
    optune_config_choose_word(config, space, "pack", "no");
    optune_config_choose_int(config, space, "prefetch", along_pixels ? 8 : 32);
    if (along_pixels && (conv2d_varies(s) || alone))
        return 0;
    const double cost = share(task, space, config);
    return along_pixels && wide ? share_otherwise(task, space, s, block, cost, config) : cost;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    shape_of(task->call, &s);
    const int64_t lanes = conv2d_lanes(task, &s), pixels = s.oh * s.ow;
    int64_t vecs, tile;
    /* Vectors along pixels pay where they fit the plane: channels need a transposition, which long
     * reductions hide. */
    const bool fit = (pixels >= 4 * lanes && (pixels % lanes == 0 || pixels >= 32 * lanes)) ||
                     tile_with_tail(task, &s, &vecs, &tile);
    const bool along_pixels = conv2d_varies(&s) || (can_pixels(&s) && fit);
    if (along_pixels || !can_pixels(&s) || pixels < 4 * lanes || conv2d_registers(task) < 32 ||
        !fills_panels(&s, lanes, 4, 6) || (host_threads(task) == 1 && s.ci_g > 512)) {
        choose(task, space, &s, along_pixels, config);
        return;
    }
    /* They lose little of this one. Rows of pixels that another thread wrote are asked for ahead,
     * so that sharing channels costs less than it says. */
    const double of_pixels = choose(task, space, &s, true, config);
    if (host_threads(task) > 1 && of_pixels > 1.15 * choose(task, space, &s, false, config))
        return;
    choose(task, space, &s, true, config);
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
    if (narrow(task, &s, &c))
        return optune_refuse(why, "a block of %lld pixels is narrower than a panel of %lld",
                             (long long)c.block, (long long)(c.vecs * lanes));
    int64_t of_block;
    panels_of(task, &s, &c, &of_block);
    if (of_block * c.vecs * lanes * c.ic_chunk * conv2d_elem(&s) * task->device->threads >
        (int64_t)1 << 29)
        return optune_refuse(why, "needs more than 512 MiB of scratch");
    return true;
}

static void plan_pixels(const optune_task *task, const conv2d_shape *s, const config_1x1 *c,
                        optune_plan *plan)
{
    const int64_t elem = conv2d_elem(s), lanes = conv2d_lanes(task, s);
    const int64_t tm = host_min(c->tile, s->co_g), tiles = host_ceil(s->co_g, tm);
    const int64_t width = c->vecs * lanes;
    int64_t panels;
    panels_of(task, s, c, &panels);
    const int64_t threads = task->device->threads > 0 ? task->device->threads : 1;
    const int module = optune_plan_module(plan);
    conv2d_define_varying(plan, module, s, 4);
    const optune_arg data = conv2d_gather_plan(task, plan, module);
    optune_plan_define(plan, module, "PIXELS", 1);
    optune_plan_define(plan, module, "LANES", lanes);
    optune_plan_define(plan, module, "TM", tm);
    optune_plan_define(plan, module, "TV", c->vecs);
    const int64_t tail = tail_of(task, s, c->vecs, c->tile);
    optune_plan_define(plan, module, "TAIL", tail);
    optune_plan_define(plan, module, "IC_CHUNK", c->ic_chunk);
    optune_plan_define(plan, module, "OT_CHUNK", host_min(tiles, host_ceil(c->oc_chunk, tm)));
    optune_plan_define(plan, module, "PANELS", panels);
    optune_plan_define(plan, module, "PACK", c->pack);
    optune_plan_define(plan, module, "UNROLL_IC", 2);
    optune_plan_define(plan, module, "PREFETCH", c->prefetch);
    /* Vectors of a tile's channels reach into what follows. */
    const optune_arg packed =
        conv2d_pack(task, plan, module, "pack_weight",
                    s->groups * tiles * tm * s->ci_g + (tail ? lanes : 0));
    const int panel = optune_plan_scratch(plan, "panels",
                                          threads * panels * c->ic_chunk * width * elem, false);
    conv2d_finish(task, plan,
                  &(optune_stage){
                      .phase = OPTUNE_TIMED,
                      .module = module,
                      .function = "conv2d",
                      .n_args = 4,
                      .arg = {data, packed, optune_output_arg(0), optune_scratch_arg(panel)}});
    if (c->ic_chunk >= s->ci_g) /* no sums in the output that are not finished */
        optune_plan_in_place(plan);
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
