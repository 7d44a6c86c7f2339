/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_direct.cpu: direct convolution with packed weights for any shape, NCHW or blocked on
 * either side. A register tile of rows x columns x channel vectors; the knobs also say how much
 * of each axis is worked on before the next, which decides what stays in which cache.
 */
#include "kernels/convolution/direct/tile_plan.h"

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    return conv2d_most_applies(task, &s, why) &&
           (!s.any_w || optune_refuse(why, "needs constant columns"));
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const int64_t lanes = conv2d_lanes(task, &s), most = conv2d_registers(task) - 2;
    int64_t list[64];
    int n = 0;
    for (int64_t v = 1; v <= 4 && (v - 1) * lanes < s.co_g; v++)
        n = conv2d_add_value(list, n, v);
    optune_space_ints(space, "oc_vecs", n, list);

    n = 0;
    for (int64_t v = 1; v <= s.ow && v <= most; v++)
        if (conv2d_even_width(&s, v))
            n = conv2d_add_value(list, n, v);
    optune_space_ints(space, "tile_ow", n, list);

    n = 0;
    for (int64_t v = 1; v <= 4 && v <= s.oh; v++)
        n = conv2d_add_value(list, n, v);
    optune_space_ints(space, "tile_oh", n, list);

    n = 0;
    for (int64_t v = 1; v < s.oh; v = v < 4 ? v + 1 : v < 8 ? v + 2 : v * 7 / 4)
        n = conv2d_add_value(list, n, v);
    n = conv2d_add_value(list, n, s.oh);
    n = conv2d_add_shares(task, list, n, s.oh, 1);
    optune_space_ints(space, "oh_block", n, list);

    n = 0;
    for (int64_t v = 64; v < s.ci_g && v <= 512; v *= 2)
        n = conv2d_add_value(list, n, v);
    n = conv2d_add_value(list, n, s.ci_g);
    optune_space_ints(space, "ic_chunk", n, list);

    n = 0;
    const int64_t vecs = host_ceil(s.co_g, lanes);
    for (int64_t v = 4; v < vecs; v *= 2)
        n = conv2d_add_value(list, n, v);
    n = conv2d_add_value(list, n, vecs);
    n = conv2d_add_shares(task, list, n, vecs, 1);
    optune_space_ints(space, "oc_chunk", n, list);

    optune_space_ints(space, "prefetch", 4, (const int64_t[]){0, 16, 48, 128});

    static const char *const words[] = {"clip", "copy"};
    optune_space_words(space, "pad", 2, words);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_tile t;
    conv2d_most_of(task->call, &s);
    conv2d_tile_choose(task, &s, &t);
    conv2d_tile_share(task, &s, &t);
    optune_config_choose_int(config, space, "oc_vecs", t.ov);
    optune_config_choose_int(config, space, "tile_ow", t.tw);
    optune_config_choose_int(config, space, "tile_oh", t.th);
    optune_config_choose_int(config, space, "oh_block", t.oh_block);
    optune_config_choose_int(config, space, "ic_chunk", t.ic_chunk);
    optune_config_choose_int(config, space, "oc_chunk", t.ot_chunk * t.ov);
    optune_config_choose_int(config, space, "prefetch", t.prefetch);
    optune_config_choose_word(config, space, "pad", t.copy ? "copy" : "clip");
    optune_config_nearest(config, space);
}

static void read_config(const optune_task *task, const optune_config *config, conv2d_shape *s,
                        conv2d_tile *t)
{
    conv2d_most_of(task->call, s);
    const int64_t ov = optune_config_int(config, "oc_vecs");
    *t = (conv2d_tile){
        .vec_bytes = conv2d_lanes(task, s) * conv2d_elem(s),
        .ov = ov,
        .th = optune_config_int(config, "tile_oh"),
        .tw = optune_config_int(config, "tile_ow"),
        .ici = conv2d_tile_ici_of(s, optune_config_int(config, "ic_chunk")),
        .ic_chunk = optune_config_int(config, "ic_chunk"),
        .ot_chunk = host_ceil(optune_config_int(config, "oc_chunk"), ov),
        .oh_block = optune_config_int(config, "oh_block"),
        .unroll_ic = conv2d_tile_unroll_ic(s),
        .prefetch = optune_config_int(config, "prefetch"),
        .unroll_kw = conv2d_tile_unroll_kw(s),
        .copy = strcmp(optune_config_word(config, "pad"), "copy") == 0,
    };
    /* Whole tiles of rows, unless the block is the whole plane. */
    if (t->oh_block < s->oh)
        t->oh_block = host_min(host_ceil(t->oh_block, t->th) * t->th, s->oh);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_tile t;
    read_config(task, config, &s, &t);
    return conv2d_tile_valid(task, &s, &t, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_tile t;
    read_config(task, config, &s, &t);
    conv2d_tile_plan(task, &s, &t, plan);
}

OPTUNE_IMPL(convolution_direct, direct) = {
    .op = "conv2d",
    .name = "conv2d_direct.cpu",
    .summary = "direct convolution with packed weights and a register tile, any layout",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0 data.2",
};
