/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/schedules.h declares. */
#include "kernels/pool/schedules.h"

/* Bands of rows: tasks are one band of all planes, then the next, and as many as let a slower core
 * do less. Where there are enough rows each thread has a band at least, as of convolutions of large
 * planes, so that it reads what it wrote itself. */
static int64_t pool_bands(const optune_task *task, const pool_shape *s)
{
    const int64_t tasks = host_tasks(task), rows = s->y.out;
    const int64_t least = rows >= tasks ? host_threads(task) : 1;
    const int64_t bands = host_max(least, host_ceil(tasks, host_max(1, s->planes)));
    return host_even_pieces(task, s->planes, host_min(bands, rows), rows);
}

/* Vector lengths up to `most` elements, longest first; at least one. */
static void pool_lanes_knob(const optune_task *task, const pool_shape *s, int64_t most,
                            optune_space *space)
{
    int64_t lanes[8];
    int n = 0;
    for (int64_t l = pool_lanes(task, s); n < 8 && l * pool_elem(s) >= 16; l /= 2)
        if (l <= most)
            lanes[n++] = l;
    optune_space_ints(space, "lanes", n, lanes);
}

static bool pool_nchw(const optune_task *task, pool_shape *s, char *why)
{
    pool_forward_shape(task->call, s);
    if (!pool_applies(task, s, why))
        return false;
    return s->block == 1 || optune_refuse(why, "needs the layout NCHW");
}

static optune_stage pool_stage(int module)
{
    return (optune_stage){.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "pool",
                          .n_args = 2,
                          .arg = {optune_input_arg(0), optune_output_arg(0)}};
}

static int pool_forward_module(const optune_task *task, optune_plan *plan, const pool_shape *s,
                               int64_t lanes)
{
    const int m = pool_module(plan, s, lanes);
    optune_plan_define(plan, m, "POOL_MEAN", pool_is_mean(task->call));
    return m;
}

static bool pool_tile_fits(const optune_task *task, int64_t vectors, char *why)
{
    return vectors + 4 <= pool_registers(task) ||
           optune_refuse(why, "%ld accumulators do not fit into registers", (long)vectors);
}

void pool_plain_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    pool_shape s;
    pool_forward_most(task->call, &s);
    const optune_stage stage =
        pool_stage(pool_forward_module(task, plan, &s, 16 / pool_elem(&s)));
    pool_finish(task, plan, &stage);
}

bool pool_direct_applies(const optune_task *task, char *why)
{
    pool_shape s;
    pool_forward_most(task->call, &s);
    if (!pool_applies(task, &s, why))
        return false;
    if (s.block != 1)
        return optune_refuse(why, "needs the layout NCHW");
    const pool_span x = pool_inside(&s.x);
    if ((x.last - x.first) * pool_elem(&s) < 16)
        return optune_refuse(why, "fewer columns inside than the shortest vector has lanes");
    return (s.y.kernel <= 16 && s.x.kernel <= 16) ||
           optune_refuse(why, "a window of more than 16 rows or columns");
}

static bool pool_pairs(const pool_shape *s)
{
    return s->x.stride == 2 && s->x.dilation == 1;
}

void pool_direct_space(const optune_task *task, optune_space *space)
{
    pool_shape s;
    pool_forward_most(task->call, &s);
    const pool_span x = pool_inside(&s.x);
    pool_lanes_knob(task, &s, x.last - x.first, space);
    optune_space_ints(space, "tile_oh", 3, pool_tiles);
    optune_space_ints(space, "tile_ow", 3, pool_tiles);
    optune_space_words(space, "first", 1 + pool_pairs(&s),
                       (const char *const[]){"taps", "columns"});
}

void pool_direct_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    pool_shape s;
    pool_forward_most(task->call, &s);
    const pool_span x = pool_inside(&s.x);
    const int64_t vecs = (x.last - x.first) / optune_config_int(config, "lanes");
    optune_config_choose_int(config, space, "tile_ow", vecs < 2 ? vecs : 2);
    if (pool_pairs(&s))
        optune_config_choose_word(config, space, "first", "columns");
}

bool pool_direct_valid(const optune_task *task, const optune_config *config, char *why)
{
    pool_shape s;
    pool_forward_most(task->call, &s);
    const pool_span x = pool_inside(&s.x);
    const int64_t rows = optune_config_int(config, "tile_oh");
    const int64_t vecs = optune_config_int(config, "tile_ow");
    const int64_t wide = vecs * optune_config_int(config, "lanes");
    if (rows > s.y.out || wide > x.last - x.first)
        return (rows == 1 && vecs == 1) ||
               optune_refuse(why, "a tile of %ldx%ld exceeds the output", (long)rows,
                             (long)wide);
    return pool_tile_fits(task, rows * vecs, why);
}

void pool_direct_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_shape s;
    pool_forward_most(task->call, &s);
    const int m = pool_forward_module(task, plan, &s, optune_config_int(config, "lanes"));
    optune_plan_define(plan, m, "TH", optune_config_int(config, "tile_oh"));
    optune_plan_define(plan, m, "TV", optune_config_int(config, "tile_ow"));
    optune_plan_define(plan, m, "COLUMNS",
                       strcmp(optune_config_word(config, "first"), "columns") == 0);
    optune_plan_define(plan, m, "BANDS", pool_bands(task, &s));
    const optune_stage stage = pool_stage(m);
    pool_finish(task, plan, &stage);
}

/* Elements of one line: the padding, the data, and what whole vectors read beyond. */
static int64_t pool_line(const pool_shape *s, int64_t lanes)
{
    const int64_t vectors = (s->x.out + lanes - 1) / lanes;
    const int64_t read =
        vectors * lanes * s->x.stride + (s->x.kernel - 1) * s->x.dilation + 2 * lanes;
    const int64_t written = s->x.before + s->x.in + lanes;
    return ((read > written ? read : written) + 15) / 16 * 16;
}

/* Bytes of the lines that a thread has. */
static int64_t pool_lines(const pool_shape *s, int64_t rows, int64_t lanes)
{
    return rows * pool_line(s, lanes) * pool_elem(s);
}

static bool pool_rows_fit(const optune_task *task, const pool_shape *s, int64_t rows,
                          int64_t lanes, char *why)
{
    return pool_lines(s, rows, lanes) <= (INT64_C(1) << 30) / pool_threads(task) ||
           optune_refuse(why, "more than 1 GiB of scratch");
}

bool pool_rows_applies(const optune_task *task, char *why)
{
    pool_shape s;
    if (!pool_nchw(task, &s, why))
        return false;
    if (s.x.in * pool_elem(&s) < 16)
        return optune_refuse(why, "rows are shorter than a vector");
    if (s.y.kernel > 16 || s.x.kernel > 16)
        return optune_refuse(why, "a window of more than 16 rows or columns");
    return pool_rows_fit(task, &s, 1, pool_lanes(task, &s), why);
}

void pool_rows_space(const optune_task *task, optune_space *space)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    pool_lanes_knob(task, &s, s.x.in, space);
    optune_space_ints(space, "tile_oh", 3, pool_tiles);
    optune_space_ints(space, "tile_w", 3, pool_tiles);
    optune_space_ints(space, "tile_ow", 3, pool_tiles);
}

void pool_rows_fallback(const optune_task *task, const optune_space *space,
                        optune_config *config)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    /* Vectors that the output fills: the ends of longer ones are stored one by one. */
    optune_config_choose_int(config, space, "lanes", s.x.out);
    const int64_t lanes = optune_config_int(config, "lanes"), vecs = s.x.in / lanes;
    const int64_t l1 = task->device->l1 > 0 ? task->device->l1 : 32 << 10;
    int64_t rows = s.y.out < 4 ? 1 : 4;
    while (rows > 1 &&
           pool_lines(&s, rows, lanes) > l1 / 2) /* beside what they are folded of */
        rows /= 2;
    optune_config_choose_int(config, space, "tile_oh", rows);
    optune_config_choose_int(config, space, "tile_w", vecs < 2 ? vecs : 2);
}

bool pool_rows_valid(const optune_task *task, const optune_config *config, char *why)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int64_t lanes = optune_config_int(config, "lanes");
    const int64_t rows = optune_config_int(config, "tile_oh");
    const int64_t in = optune_config_int(config, "tile_w");
    const int64_t out = optune_config_int(config, "tile_ow");
    if ((rows > 1 && rows > s.y.out) || (in > 1 && in * lanes > s.x.in) ||
        (out > 1 && out * lanes > s.x.out))
        return optune_refuse(why, "a tile exceeds the plane");
    return pool_rows_fit(task, &s, rows, lanes, why) && pool_tile_fits(task, rows * in, why);
}

void pool_rows_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int64_t lanes = optune_config_int(config, "lanes");
    const int64_t rows = optune_config_int(config, "tile_oh");
    const int m = pool_forward_module(task, plan, &s, lanes);
    optune_plan_define(plan, m, "TH", rows);
    optune_plan_define(plan, m, "TW", optune_config_int(config, "tile_w"));
    optune_plan_define(plan, m, "TV", optune_config_int(config, "tile_ow"));
    optune_plan_define(plan, m, "LINE", pool_line(&s, lanes));
    optune_plan_define(plan, m, "BANDS", pool_bands(task, &s));
    const int lines = optune_plan_scratch(
        plan, "lines", pool_threads(task) * pool_lines(&s, rows, lanes), false);
    const int shares = pool_shares(plan, m, &s, lanes);
    optune_stage stage = pool_stage(m);
    stage.arg[stage.n_args++] = optune_scratch_arg(lines);
    stage.arg[stage.n_args++] = optune_scratch_arg(shares);
    pool_finish(task, plan, &stage);
}

/* ---- flat -------------------------------------------------------------------------------- */

static int64_t pool_pitch(const pool_shape *s)
{
    const int64_t reach = s->x.out + (s->x.kernel - 1) * s->x.dilation;
    const int64_t width = s->x.before + s->x.in;
    return reach > width ? reach : width;
}

/* Elements of a padded plane. */
static int64_t pool_span_of(const pool_shape *s)
{
    return (s->y.out + (s->y.kernel - 1) * s->y.dilation) * pool_pitch(s);
}

/* Elements of a group of them, and what whole steps of vectors reach beyond. */
static int64_t pool_flat_work(const pool_shape *s, int64_t group, int64_t step)
{
    const int64_t reach = (s->x.kernel - 1) * s->x.dilation;
    return (group * pool_span_of(s) + reach + 2 * step + 15) / 16 * 16;
}

static bool pool_flat_fits(const optune_task *task, const pool_shape *s, int64_t group,
                           char *why)
{
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 << 10;
    return 2 * pool_flat_work(s, group, 0) * pool_elem(s) <= l2 ||
           optune_refuse(why, "%ld padded planes, twice, exceed the second cache", (long)group);
}

bool pool_flat_applies(const optune_task *task, char *why)
{
    pool_shape s;
    if (!pool_nchw(task, &s, why))
        return false;
    if (s.y.stride != 1 || s.x.stride != 1)
        return optune_refuse(why, "needs strides of 1");
    if (s.y.kernel > 16 || s.x.kernel > 16)
        return optune_refuse(why, "a window of more than 16 rows or columns");
    return pool_flat_fits(task, &s, 1, why);
}

void pool_flat_space(const optune_task *task, optune_space *space)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    pool_lanes_knob(task, &s, pool_lanes(task, &s), space);
    optune_space_ints(space, "vectors", 3, pool_tiles);
    optune_space_ints(space, "planes", 5, (const int64_t[]){1, 2, 4, 8, 16});
}

void pool_flat_fallback(const optune_task *task, const optune_space *space,
                        optune_config *config)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int64_t planes = 2048 / pool_span_of(&s);
    optune_config_choose_int(config, space, "planes", planes < s.planes ? planes : s.planes);
}

bool pool_flat_valid(const optune_task *task, const optune_config *config, char *why)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int64_t group = optune_config_int(config, "planes");
    if (group > 1 && group > s.planes)
        return optune_refuse(why, "there are not %ld planes", (long)group);
    return pool_flat_fits(task, &s, group, why);
}

void pool_flat_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int64_t lanes = optune_config_int(config, "lanes");
    const int64_t vecs = optune_config_int(config, "vectors"), threads = pool_threads(task);
    const int64_t group = optune_config_int(config, "planes");
    const int64_t work = pool_flat_work(&s, group, vecs * lanes);
    const int64_t chunks = threads == 1 ? 1 : 4 * threads;
    const int m = pool_forward_module(task, plan, &s, lanes);
    optune_plan_define(plan, m, "STEP", vecs);
    optune_plan_define(plan, m, "GROUP", group);
    optune_plan_define(plan, m, "SPAN", pool_span_of(&s));
    optune_plan_define(plan, m, "PITCH", pool_pitch(&s));
    optune_plan_define(plan, m, "WORK", work);
    optune_plan_define(plan, m, "CHUNKS", chunks < s.planes ? chunks : s.planes);
    const int planes =
        optune_plan_scratch(plan, "planes", threads * 2 * work * pool_elem(&s), false);
    const int shares = optune_plan_scratch(plan, "shares", work * pool_elem(&s), true);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_PREPACK,
                                            .module = m,
                                            .function = "count_positions",
                                            .n_args = 1,
                                            .arg = {optune_scratch_arg(shares)}});
    optune_stage stage = pool_stage(m);
    stage.arg[stage.n_args++] = optune_scratch_arg(planes);
    stage.arg[stage.n_args++] = optune_scratch_arg(shares);
    pool_finish(task, plan, &stage);
}

/* ---- block ------------------------------------------------------------------------------- */

/* The longest vector whose lanes divide the block; 0: none of 16 bytes or more. */
static int64_t pool_block_lanes(const optune_task *task, const pool_shape *s)
{
    int64_t lanes = pool_lanes(task, s);
    while (lanes * pool_elem(s) >= 16 && s->block % lanes != 0)
        lanes /= 2;
    return lanes * pool_elem(s) >= 16 ? lanes : 0;
}

bool pool_block_applies(const optune_task *task, char *why)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    if (!pool_applies(task, &s, why))
        return false;
    if (s.block == 1)
        return optune_refuse(why, "needs a layout NCHW<c>c");
    if (!pool_block_lanes(task, &s))
        return optune_refuse(why, "no vector's lanes divide the block");
    return (s.y.kernel <= 16 && s.x.kernel <= 16) ||
           optune_refuse(why, "a window of more than 16 rows or columns");
}

void pool_block_fallback(const optune_task *task, const optune_space *space,
                         optune_config *config)
{
    (void)task;
    optune_config_choose_int(config, space, "tile_ow", 4);
    optune_config_nearest(config, space);
}

bool pool_block_valid(const optune_task *task, const optune_config *config, char *why)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int64_t rows = optune_config_int(config, "tile_oh");
    const int64_t cols = optune_config_int(config, "tile_ow");
    if (rows * cols * s.y.kernel * s.x.kernel > 256)
        return optune_refuse(why, "a tile of %ldx%ld windows unrolls to more than 256 loads",
                             (long)rows, (long)cols);
    return pool_tile_fits(task, rows * cols, why);
}

void pool_block_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const int m = pool_forward_module(task, plan, &s, pool_block_lanes(task, &s));
    optune_plan_define(plan, m, "TH", optune_config_int(config, "tile_oh"));
    optune_plan_define(plan, m, "TW", optune_config_int(config, "tile_ow"));
    optune_plan_define(plan, m, "BANDS", pool_bands(task, &s));
    const optune_stage stage = pool_stage(m);
    pool_finish(task, plan, &stage);
}
