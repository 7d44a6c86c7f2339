/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_across.gpu: the axis is not the innermost. Threads lie along what is, so that they read
 * neighbouring elements, in vectors, and several of them share an axis.
 */
#include "kernels/softmax/softmax_gpu.h"

static bool applies(const optune_task *task, char *why)
{
    softmax_shape s;
    return softmax_gpu_applies(task, &s, why) &&
           (s.inner > 1 || optune_refuse(why, "is for a strided axis"));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "along", 6, (const int64_t[]){8, 16, 32, 64, 128, 256});
    optune_space_ints(space, "across", 7, (const int64_t[]){1, 2, 4, 8, 16, 32, 64});
    optune_space_ints(space, "vector", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "hold", 2, (const int64_t[]){0, 1});
}

enum {
    MOST_HELD = 64,  /* registers with elements of a thread */
    LEAST_OTHER = 32 /* and those it cannot do without */
};

/* Vectors that a thread keeps in registers; 0: none. */
static int64_t held_of(const softmax_shape *s, const optune_config *config)
{
    return optune_config_int(config, "hold")
               ? host_ceil(s->n, optune_config_int(config, "across"))
               : 0;
}

/* Neighbours of a block. */
static int64_t wide_of(const optune_config *config)
{
    return optune_config_int(config, "along") * optune_config_int(config, "vector");
}

static int64_t blocks_of(const softmax_shape *s, int64_t wide)
{
    return s->outer * host_ceil(s->inner, wide);
}

static int64_t longest(const optune_task *task, const softmax_shape *s)
{
    int64_t v = 16 / softmax_stored(task);
    while (s->inner % v != 0)
        v /= 2;
    return v;
}

/* A vector of each thread, twice; where threads of a warp meet by shuffles it is less. */
static int64_t shared_of(const softmax_shape *s, const optune_config *config)
{
    return 2 * wide_of(config) * optune_config_int(config, "across") * softmax_elem(s);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t along = optune_config_int(config, "along"), wide = wide_of(config);
    const int64_t across = optune_config_int(config, "across");
    const int64_t vector = optune_config_int(config, "vector");
    if (vector > longest(task, &s))
        return optune_refuse(why, "vectors of %" PRId64 ", the rows allow %" PRId64, vector,
                             longest(task, &s));
    if (along > 8 && wide / 2 >= s.inner)
        return optune_refuse(why, "half of the threads lie outside a row");
    if (across > 1 && across > s.n)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " elements", across, s.n);
    const int64_t words = held_of(&s, config) * vector * softmax_elem(&s) / 4;
    if (words > MOST_HELD)
        return optune_refuse(why, "a thread would keep %" PRId64 " registers of elements",
                             words);
    return gpu_grid_fits(blocks_of(&s, wide), why) &&
           gpu_fits(task, (const int64_t[]){along * across, 1, 1}, shared_of(&s, config),
                    LEAST_OTHER + words, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t along = optune_config_int(config, "along"), wide = wide_of(config);
    const int64_t across = optune_config_int(config, "across"), elem = softmax_elem(&s);
    const int64_t vector = optune_config_int(config, "vector");
    const double each = (double)host_ceil(s.n, across), values = each * (double)vector;
    const int64_t held = held_of(&s, config),
                  abreast = host_min(across, host_max(1, 32 / along));
    const double reads = held ? 1 : 3;
    const double lines =
        gpu_sectors((double)s.n, host_min(wide, s.inner) * softmax_stored(task));
    const double met = (double)(2 * vector * (3 * gpu_log2(abreast) + across / abreast));
    const gpu_work w = {
        .blocks = blocks_of(&s, wide),
        .threads = along * across,
        .registers = 40 + held * vector * elem / 4,
        .shared = shared_of(&s, config),
        .instructions = values * (held ? 12 : 24) + each * reads * 6 + met + 60,
        .bytes = 2 * lines,
        .cached = (1 + reads) * lines,
        .waits = held ? 2 : 3 * each / 4 + 3,
        .barriers = across > abreast ? 2 : 0,
    };
    return gpu_cost(task, &w);
}

/* Rows of 128 bytes in vectors of 16 bytes, 32 registers of elements to a thread. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    int64_t vector = longest(task, &s);
    /* Of a short axis of narrow elements, where little is moved for what is computed, a thread has
     * all, of fewer lines. */
    enum { ALL = 40 }; /* registers with elements */
    const int64_t some = host_min(vector, ALL * 4 / softmax_elem(&s) / s.n);
    if (softmax_stored(task) < 4 && some * softmax_stored(task) >= 4 &&
        s.outer * s.inner / some >= 1024 * gpu_cores(task)) {
        while (vector > some)
            vector /= 2;
        optune_config_choose_int(config, space, "along", 32);
        optune_config_choose_int(config, space, "vector", vector);
        optune_config_choose_int(config, space, "across", 1);
        optune_config_choose_int(config, space, "hold", 1);
        optune_config_nearest(config, space);
        return;
    }
    const int64_t most = MOST_HELD / 2 * 4 / softmax_elem(&s) / vector; /* vectors */
    int64_t along = host_max(8, 32 / vector), across = 1;
    while (along > 8 && along / 2 * vector >= s.inner)
        along /= 2;
    while (2 * across * along <= gpu_threads(task, 256) && across < 64 && 4 * across <= s.n)
        across *= 2;
    while (2 * across * along <= gpu_threads(task, 1024) && across < 64 &&
           host_ceil(s.n, across) > most && s.n <= 64 * most)
        across *= 2;
    optune_config_choose_int(config, space, "along", along);
    optune_config_choose_int(config, space, "vector", vector);
    optune_config_choose_int(config, space, "across", across);
    optune_config_choose_int(config, space, "hold", host_ceil(s.n, across) <= most);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int m = softmax_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "ALONG", along);
    optune_plan_define(plan, m, "ACROSS", across);
    optune_plan_define(plan, m, "V", optune_config_int(config, "vector"));
    optune_plan_define(plan, m, "HELD", held_of(&s, config));
    softmax_gpu_stage(plan, (optune_stage){.module = m,
                                           .grid = {blocks_of(&s, wide_of(config))},
                                           .block = {along * across},
                                           .shared = shared_of(&s, config)});
}

OPTUNE_IMPL(softmax, across) = {
    .op = "softmax",
    .name = "softmax_across.gpu",
    .summary = "threads along what is inside of the axis",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
