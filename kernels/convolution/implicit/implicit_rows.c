/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/implicit/implicit_rows.h declares. */
#include "kernels/convolution/implicit/implicit_rows.h"

#include <math.h>

enum { IMPLICIT_MOST_SPLITS = 32, IMPLICIT_PACK_THREADS = 256 };

static bool implicit_plain(const conv2d_shape *s, implicit_kind kind)
{
    return s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->pt == 0 && s->pl == 0 &&
           s->pb == 0 && s->pr == 0 && kind != IMPLICIT_TRANSPOSED;
}

/* Pixels that may be fetched at once by a block of bm: neighbours in the output are neighbours in
 * the input, and planes start on a multiple. */
static int64_t implicit_fetch(const conv2d_shape *s, implicit_kind kind, int64_t bm)
{
    int64_t v = implicit_plain(s, kind) ? 16 / conv2d_elem(s) : 1;
    while (v > 1 && (s->oh * s->ow % v || bm % v))
        v /= 2;
    return v;
}

/* Channels of a tap in the depth: whole tiles where that adds little. */
static int64_t implicit_ci_pad(const conv2d_shape *s, int64_t bk)
{
    const int64_t whole = host_ceil(s->ci_g, bk) * bk;
    return whole * 8 <= s->ci_g * 9 ? whole : s->ci_g;
}

/* Where whole tiles are of one tap, a thread asks once a tile where it looks, else each element. */
static int64_t implicit_looked(const conv2d_shape *s, int64_t bk)
{
    return implicit_plain(s, IMPLICIT_PLAIN) ? 0 : implicit_ci_pad(s, bk) % bk == 0 ? 1 : 4;
}

/* The product of one group, whose pixels are fetched as the forward convolution does. */
static gpu_product implicit_product(const conv2d_shape *s)
{
    return (gpu_product){
        .vector = implicit_fetch(s, IMPLICIT_PLAIN, 16),
        .looked = implicit_looked(s, 8),
        .bytes = (s->n * (s->ci * s->h * s->w + s->co * s->oh * s->ow) +
                  s->co * s->ci_g * s->kh * s->kw) *
                 conv2d_elem(s),
        .m = s->n * s->oh * s->ow,
        .n = s->co_g,
        .k = s->ci_g * s->kh * s->kw,
        .batches = s->groups,
        .most_splits = IMPLICIT_MOST_SPLITS,
        .elem = conv2d_elem(s),
    };
}

static int64_t implicit_depth(const conv2d_shape *s, int64_t bk)
{
    return host_ceil(implicit_ci_pad(s, bk) * s->kh * s->kw, bk) * bk;
}

static int64_t implicit_outputs(const conv2d_shape *s)
{
    return s->n * s->co * s->oh * s->ow;
}

bool implicit_applies(const conv2d_shape *s, char *why)
{
    if (s->data_block || s->out_block)
        return optune_refuse(why, "needs NCHW");
    if (s->groups * IMPLICIT_MOST_SPLITS > 65535)
        return optune_refuse(why, "%" PRId64 " groups are more than a grid's depth", s->groups);
    if (host_ceil(s->co_g, 16) > 65535)
        return optune_refuse(why, "more output channels than a grid's height");
    if (s->h * s->w > INT32_MAX / 2 || s->oh * s->ow > INT32_MAX / 2)
        return optune_refuse(why, "one plane is too large for 32-bit offsets");
    return true;
}

bool implicit_valid(const optune_task *task, const conv2d_shape *s, const optune_config *config,
                    char *why)
{
    const gpu_tile t = gpu_tile_of(config);
    const gpu_product p = implicit_product(s);
    const int64_t split = optune_config_int(config, "split_k");
    const int64_t steps = implicit_depth(s, t.bk) / t.bk;
    if (split > 1 && steps < 2 * split)
        return optune_refuse(why, "%" PRId64 " steps do not make %" PRId64 " parts", steps,
                             split);
    if ((split - 1) * host_ceil(steps, split) >= steps)
        return optune_refuse(why, "%" PRId64 " parts of %" PRId64 " steps leave one empty",
                             split, steps);
    if (split * implicit_outputs(s) * p.elem > INT64_C(1) << 30 && split > 1)
        return optune_refuse(why, "more than 1 GiB of partial sums");
    return gpu_tile_unrolls(task, &t, optune_config_int(config, "unroll_k"), why) &&
           gpu_tile_valid(task, &t, p.m, p.n, p.elem, 0, 0, why);
}

void implicit_fallback(const optune_task *task, const conv2d_shape *s,
                       const optune_space *space, optune_config *config)
{
    const gpu_product p = implicit_product(s);
    int64_t split;
    const gpu_tile t = gpu_tile_best(task, &p, &split);
    gpu_tile_choose(config, space, &t);
    do {
        optune_config_choose_int(config, space, "split_k", split);
        split /= 2;
    } while (split >= 1 && !implicit_valid(task, s, config, NULL));
}

double implicit_estimate(const optune_task *task, const conv2d_shape *s,
                         const optune_config *config)
{
    gpu_tile t = gpu_tile_of(config);
    gpu_product p = implicit_product(s);
    t.unroll = optune_config_int(config, "unroll_k");
    p.k = implicit_depth(s, t.bk);
    p.looked = implicit_looked(s, t.bk);
    return task->device->warp > 1
               ? gpu_tile_cost(task, &p, &t, optune_config_int(config, "split_k"))
               : NAN;
}

static void implicit_define(optune_plan *plan, int m, const conv2d_shape *s, implicit_kind kind,
                            const optune_config *config)
{
    const gpu_tile t = gpu_tile_of(config);
    const bool wide = s->n * s->ci * s->h * s->w > INT32_MAX / 2 ||
                      implicit_outputs(s) > INT32_MAX / 2 ||
                      s->groups * implicit_depth(s, t.bk) * (s->co_g + t.bn) > INT32_MAX / 2;
    conv2d_define(plan, m, s);
    gpu_tile_define(plan, m, &t, config, conv2d_elem(s));
    optune_plan_define(plan, m, "CI_PAD", implicit_ci_pad(s, t.bk));
    optune_plan_define(plan, m, "DEPTH", implicit_depth(s, t.bk));
    optune_plan_define(plan, m, "CO_PAD", host_ceil(s->co_g, t.bn) * t.bn);
    optune_plan_define(plan, m, "SPLIT", optune_config_int(config, "split_k"));
    optune_plan_define(plan, m, "VA", implicit_fetch(s, kind, t.bm));
    optune_plan_define(plan, m, "PACK_THREADS", IMPLICIT_PACK_THREADS);
    optune_plan_define(plan, m, "TRANSPOSED", kind == IMPLICIT_TRANSPOSED);
    optune_plan_define(plan, m, "WEIGHT_GRADIENT", kind == IMPLICIT_WEIGHT_GRADIENT);
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
}

void implicit_plan(const optune_task *task, const conv2d_shape *s, int data, int weight,
                   implicit_kind kind, const optune_config *config, optune_plan *plan)
{
    const gpu_tile t = gpu_tile_of(config);
    const gpu_product p = implicit_product(s);
    const int64_t split = optune_config_int(config, "split_k");
    const int64_t co_pad = host_ceil(s->co_g, t.bn) * t.bn;
    const int64_t weights = s->groups * implicit_depth(s, t.bk) * co_pad;
    const bool constant = task->call->input[weight].is_const;
    const int m = optune_plan_module(plan);
    implicit_define(plan, m, s, kind, config);
    const optune_arg packed =
        optune_scratch_arg(optune_plan_scratch(plan, "weights", weights * p.elem, constant));
    optune_arg sums = optune_output_arg(0);
    if (split > 1)
        sums = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", split * implicit_outputs(s) * p.elem, false));
    optune_plan_stage(plan, &(optune_stage){.phase = constant ? OPTUNE_PREPACK : OPTUNE_TIMED,
                                            .module = m,
                                            .function = "pack",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(weight), packed},
                                            .grid = {host_ceil(weights, IMPLICIT_PACK_THREADS)},
                                            .block = {IMPLICIT_PACK_THREADS}});
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "convolve",
                              .n_args = 3,
                              .arg = {optune_input_arg(data), packed, sums},
                              .grid = {host_ceil(p.m, t.bm), co_pad / t.bn, s->groups * split},
                              .block = {gpu_tile_threads(&t)},
                              .shared = gpu_tile_shared(&t, p.elem, 0)});
    if (split > 1)
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                                .module = m,
                                                .function = "add_parts",
                                                .n_args = 2,
                                                .arg = {sums, optune_output_arg(0)},
                                                .grid = {host_ceil(implicit_outputs(s),
                                                                   IMPLICIT_PACK_THREADS)},
                                                .block = {IMPLICIT_PACK_THREADS}});
}
