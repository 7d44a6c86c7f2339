/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/scan/scan_lookback.h declares. */
#include "kernels/scan/scan_lookback.h"

enum {
    SECTION = 32,     /* tiles of a line that are told of together */
    LOOK = 32,        /* tiles of a line among neighbours that a block goes back over at most */
    HEAD = 8,         /* words of HEAD in the bodies */
    NOTES = 16,       /* bytes of `notes` there */
    PATIENCE = 65536, /* some 50 ms: what is waited for takes microseconds */
    TOLD_SHARE = 8,   /* tiles tell at most such a part of the bytes that are moved */
};

/* A line in tiles, of which as much is told as `told` says, groups of lines that a block has at
 * once. */
typedef struct tiling {
    int64_t tiles, told, groups, shared;
} tiling;

static int64_t value_of(const optune_config *config, const char *knob)
{
    return optune_config_int(config, knob);
}

/* Words that tiles tell, and the counter of turns. */
static int64_t told_words(const scan_shape *s, const tiling *t)
{
    return HEAD + s->at.outer * s->at.inner * t->told * (scan_elem(s) / 4);
}

static bool lookback_fits(const optune_task *task, const scan_shape *s, const tiling *t,
                          int64_t threads, int64_t registers, char *why)
{
    const int64_t moved = s->at.outer * s->at.n * s->at.inner * (s->in.bits + s->out.bits) / 8;
    if (t->tiles > 1 && told_words(s, t) - HEAD > moved / (8 * TOLD_SHARE))
        return optune_refuse(why, "%" PRId64 " tiles of a line tell more than an eighth of it",
                             t->tiles);
    return gpu_grid_fits(t->groups * t->tiles, why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, t->shared, registers, why);
}

static void lookback_stages(const optune_task *task, const optune_config *config,
                            optune_plan *plan, int m, const tiling *t)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = value_of(config, "threads");
    host_lead_define_gpu(plan, m, "OUTER", "LEAD_PARAMETERS", task->call, 0,
                         scan_lead(task->call));
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "EACH", value_of(config, "each"));
    optune_plan_define(plan, m, "TILES", t->tiles);
    optune_plan_define(plan, m, "TOLD", t->told);
    optune_plan_define(plan, m, "PATIENCE", PATIENCE);
    optune_plan_define(plan, m, "DTYPE_WORDS", scan_elem(&s) / 4);
    optune_plan_define(plan, m, "POOL_BYTES", t->shared);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "scan",
                          .n_args = 2,
                          .arg = {optune_input_arg(0), optune_output_arg(0)},
                          .grid = {t->groups * t->tiles},
                          .block = {threads},
                          .shared = t->shared};
    if (t->tiles > 1) {
        const int64_t words = told_words(&s, t);
        const optune_arg told =
            optune_scratch_arg(optune_plan_scratch(plan, "told", words * 8, false));
        const optune_stage begin = {.phase = OPTUNE_TIMED,
                                    .module = m,
                                    .function = "begin",
                                    .n_args = 2,
                                    .arg = {told, optune_int_arg(words)},
                                    .grid = {host_ceil(words, threads)},
                                    .block = {threads}};
        optune_plan_stage(plan, &begin);
        stage.arg[stage.n_args++] = told;
    }
    host_lead_args(task->call, 0, scan_lead(task->call), &stage);
    optune_plan_stage(plan, &stage);
}

/* `w` of a block that moves `bytes`, and of the launch that clears what tiles tell. */
static double lookback_cost(const optune_task *task, const scan_shape *s, const tiling *t,
                            gpu_work w, double bytes)
{
    w.blocks = t->groups * t->tiles;
    w.shared = t->shared;
    w.bytes = bytes / (double)w.blocks;
    if (t->tiles < 2)
        return gpu_cost(task, &w);
    const double words = (double)told_words(s, t);
    const gpu_work begin = {.blocks = host_ceil((int64_t)words, w.threads),
                            .threads = w.threads,
                            .registers = 16,
                            .instructions = 10,
                            .bytes = 8 * (double)w.threads};
    w.cached = w.bytes + 8 * words / (double)w.blocks * 4; /* told twice, and looked at */
    w.waits += 3;                                          /* its turn, and what is before it */
    w.barriers += 3;
    return gpu_cost(task, &begin) + gpu_cost(task, &w);
}

/* ---- a contiguous axis -------------------------------------------------------------------- */

bool scan_lookback_applies(const optune_task *task, char *why)
{
    return gpu_is_cuda(task, 60, why) && scan_team_applies(task, why);
}

void scan_lookback_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "team", 9,
                      (const int64_t[]){4, 8, 16, 32, 64, 128, 256, 512, 1024});
    optune_space_ints(space, "each", 4, (const int64_t[]){4, 8, 16, 32});
    optune_space_ints(space, "staged", 2, (const int64_t[]){0, 1});
}

/* Neighbours that are loaded at once: every line begins at a multiple of them. */
static int64_t lookback_vector(const scan_shape *s)
{
    int64_t v = 16 / (s->out.bits / 8);
    while (s->at.outer > 1 && s->at.n % v)
        v /= 2;
    return v;
}

/* Bytes of shared memory for the elements of a block. */
static int64_t staged_bytes(const scan_shape *s, const optune_config *config)
{
    return value_of(config, "staged") *
           (value_of(config, "threads") * value_of(config, "each") * s->in.bits / 8);
}

static tiling lookback_tiling(const scan_shape *s, const optune_config *config)
{
    const int64_t threads = value_of(config, "threads"), team = value_of(config, "team");
    const int64_t elem = scan_elem(s);
    tiling t = {.tiles = host_ceil(s->at.n, team * value_of(config, "each")),
                .groups = host_ceil(s->at.outer, threads / team)};
    t.told = t.tiles + host_ceil(t.tiles, SECTION);
    t.shared = threads / 32 * elem + (t.tiles > 1 ? (SECTION + 1) * elem + NOTES : 0);
    if (value_of(config, "staged"))
        t.shared = host_ceil(t.shared, 16) * 16 + staged_bytes(s, config);
    return t;
}

bool scan_lookback_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), team = value_of(config, "team");
    const int64_t each = value_of(config, "each");
    if (team > threads)
        return optune_refuse(why, "a team is larger than its block");
    if (each % lookback_vector(&s))
        return optune_refuse(why, "%" PRId64 " elements are less than a vector", each);
    if (team > 4 && team / 4 * each >= s.at.n)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " elements", team, s.at.n);
    if (threads > 64 && threads / team >= 2 * s.at.outer)
        return optune_refuse(why, "half of the threads have no line");
    const tiling t = lookback_tiling(&s, config);
    if (t.tiles > 1 && team < threads)
        return optune_refuse(why, "a line of %" PRId64 " tiles takes a whole block", t.tiles);
    const bool staged = value_of(config, "staged");
    if (staged && (t.tiles < 2 || lookback_vector(&s) * s.in.bits != 128))
        return optune_refuse(why, "only tiles that wait, and vectors of 16 bytes, are staged");
    const int64_t held = each / lookback_vector(&s) + (staged ? 0 : each);
    return lookback_fits(task, &s, &t, threads, 24 + held * scan_elem(&s) / 4, why);
}

/* One tile for a line where that leaves nothing idle, else tiles of 8192 or so, staged: much has to
 * be under way on a core while its blocks wait. */
void scan_lookback_fallback(const optune_task *task, const optune_space *space,
                            optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t most = gpu_threads(task, 1024), block = gpu_threads(task, 256);
    int64_t each = scan_elem(&s) == 4 ? 16 : 8;
    int64_t team = 4;
    bool staged = false;
    while (team < most && team * each < s.at.n)
        team *= 2;
    if (team * each < s.at.n || (team > block && s.at.outer < 2 * gpu_cores(task))) {
        team = block;
        staged = lookback_vector(&s) * s.in.bits == 128 && s.at.n > block * each;
        if (staged)
            each *= 2;
    }
    int64_t threads = host_max(team, host_min(block, 128));
    while (threads > 64 && threads > team && threads / team >= 2 * s.at.outer)
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "team", team);
    optune_config_choose_int(config, space, "staged", staged);
    optune_config_choose_int(config, space, "each", each);
    optune_config_nearest(config, space);
}

double scan_lookback_estimate(const optune_task *task, const optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), each = value_of(config, "each");
    const int64_t team = value_of(config, "team"), elem = scan_elem(&s);
    const tiling t = lookback_tiling(&s, config);
    const int64_t vector = lookback_vector(&s);
    const double vectors = (double)(each / vector);
    const bool staged = value_of(config, "staged");
    const double steps = gpu_log2(host_min(team, 32));
    const gpu_work w = {
        .threads = threads,
        .registers = t.tiles < 2 ? 24 + 2 * each * elem / 4
                                 : 44 + (each / vector + (staged ? 0 : each)) * elem / 4,
        .instructions = vectors * (8 + steps * 4 * (double)elem / 4) + 3 * (double)each +
                        3 * (double)host_ceil(team, 32) + 60,
        .waits = 2,
        .barriers = team > 32 ? 1 : 0,
    };
    return lookback_cost(task, &s, &t, w,
                         (double)(s.at.outer * s.at.n) * (s.in.bits + s.out.bits) / 8);
}

void scan_lookback_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const scan_shape s = scan_shape_of(task->call);
    const tiling t = lookback_tiling(&s, config);
    const int m = scan_gpu_module(task, plan);
    optune_plan_define(plan, m, "TEAM", value_of(config, "team"));
    optune_plan_define(plan, m, "V", lookback_vector(&s));
    optune_plan_define(plan, m, "STAGED", staged_bytes(&s, config));
    lookback_stages(task, config, plan, m, &t);
}

/* ---- a strided one ------------------------------------------------------------------------- */

bool scan_lookback_across_applies(const optune_task *task, char *why)
{
    return gpu_is_cuda(task, 60, why) && scan_gpu_applies(task, why) &&
           (scan_shape_of(task->call).at.inner > 1 ||
            optune_refuse(why, "the last axis has no neighbouring lines"));
}

void scan_lookback_across_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "width", 6, (const int64_t[]){4, 8, 16, 32, 64, 128});
    optune_space_ints(space, "each", 4, (const int64_t[]){4, 8, 16, 32});
}

static tiling lookback_across_tiling(const scan_shape *s, const optune_config *config)
{
    const int64_t threads = value_of(config, "threads"), width = value_of(config, "width");
    const int64_t elem = scan_elem(s);
    tiling t = {.tiles = host_ceil(s->at.n, threads / width * value_of(config, "each")),
                .groups = s->at.outer * host_ceil(s->at.inner, width)};
    t.told = t.tiles;
    t.shared = threads * elem + (t.tiles > 1 ? LOOK * width * elem + NOTES : 0);
    return t;
}

bool scan_lookback_across_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), width = value_of(config, "width");
    const int64_t each = value_of(config, "each");
    if (width > threads)
        return optune_refuse(why, "more lines than threads");
    if (width > 4 && width / 2 >= s.at.inner)
        return optune_refuse(why, "half the width holds all lines");
    if (threads > 64 && threads > width && threads / 2 / width * each >= s.at.n)
        return optune_refuse(why, "half of the threads have nothing of a line");
    const tiling t = lookback_across_tiling(&s, config);
    return lookback_fits(task, &s, &t, threads, 24 + each * scan_elem(&s) / 4, why);
}

void scan_lookback_across_fallback(const optune_task *task, const optune_space *space,
                                   optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    enum { MOST = 32 }; /* elements of a thread */
    const int64_t sector = 32 * 8 / host_max(s.in.bits, s.out.bits);
    const int64_t block = gpu_threads(task, scan_elem(&s) == 4 ? 512 : 256);
    int64_t each = scan_elem(&s) == 4 ? 16 : 8, width = s.out.bits < 32 ? 64 : 32;
    int64_t threads = gpu_threads(task, 256);
    while (width > 4 && width / 2 >= s.at.inner)
        width /= 2;
    /* Twice the rows while every core has some blocks: fewer tiles wait for each other. */
    if (s.at.outer * host_ceil(s.at.inner, width) *
            host_ceil(s.at.n, threads / width * 2 * each) >=
        8 * gpu_cores(task))
        each *= 2;
    /* Whole lines, which wait for nobody, as far as rows of sectors are read and every core has
     * some. */
    int64_t whole = width;
    while (whole > 1 && block / whole * MOST < s.at.n)
        whole /= 2;
    if (threads / width * each < s.at.n && whole >= host_max(sector, 8) &&
        s.at.outer * host_ceil(s.at.inner, whole) >= 2 * gpu_cores(task)) {
        each = MOST;
        threads = block;
        width = whole;
    }
    while (threads > 64 && threads > width && threads / 2 / width * each >= s.at.n)
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "width", width);
    optune_config_choose_int(config, space, "each", each);
    optune_config_nearest(config, space);
}

double scan_lookback_across_estimate(const optune_task *task, const optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), each = value_of(config, "each");
    const int64_t width = value_of(config, "width"), elem = scan_elem(&s);
    const tiling t = lookback_across_tiling(&s, config);
    const int64_t lines = host_min(width, s.at.inner);
    const double rows =
        (double)s.at.outer * (double)s.at.n * (double)host_ceil(s.at.inner, width);
    const gpu_work w = {
        .threads = threads,
        .registers = 24 + each * elem / 4,
        .instructions = 8 * (double)each + 3 * (double)(threads / width) + 60,
        .waits = 2,
        .barriers = 1,
    };
    return lookback_cost(task, &s, &t, w,
                         gpu_sectors(rows, lines * s.in.bits / 8) +
                             gpu_sectors(rows, lines * s.out.bits / 8));
}

void scan_lookback_across_plan(const optune_task *task, const optune_config *config,
                               optune_plan *plan)
{
    const scan_shape s = scan_shape_of(task->call);
    const tiling t = lookback_across_tiling(&s, config);
    const int m = scan_gpu_module(task, plan);
    optune_plan_define(plan, m, "WIDTH", value_of(config, "width"));
    optune_plan_define(plan, m, "LOOK", LOOK);
    lookback_stages(task, config, plan, m, &t);
}
