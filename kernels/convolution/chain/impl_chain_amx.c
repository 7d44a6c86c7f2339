/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_depthwise_conv2d_amx.x86: 16-bit floats, the pointwise convolution by the tiles of AMX,
 * the depthwise one in float32 on what these leave in the second-level cache. NCHW, any kernel,
 * stride, padding and dilation.
 */
#include "kernels/convolution/chain/chain.h"
#include "kernels/matmul/dot.h"

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4, MOST_TAPS = 64, MOST_ROWS = 24, PARTS = 5 };

static optune_dtype in_of(const optune_task *task)
{
    return task->call->input[CHAIN_DATA].type.dtype;
}

static int64_t steps(const optune_task *task, const conv2d_shape *s)
{
    return host_ceil(dot_row_words(dot_tiles(task, in_of(task)), s->ci), TILE);
}

/* Columns of a phase of a padded row that windows meet. */
static int64_t columns(const conv2d_shape *s)
{
    return s->ow + (s->kw - 1) * s->dw / s->sw;
}

/* Pixels of a phase of a padded row, filled up to whole vectors or to a half of one. What windows
 * meet right of a row may then be the padding in front of the next one. */
static int64_t pitch(const conv2d_shape *s)
{
    const int64_t half = TILE / 2;
    const bool shared = s->sw == 1 && s->pl + s->w <= half && columns(s) - half <= s->pl;
    return columns(s) <= half || shared ? half : host_ceil(columns(s), TILE) * TILE;
}

/* Padded rows that `rows` output rows meet. */
static int64_t in_rows(const conv2d_shape *s, int64_t rows)
{
    return (rows - 1) * s->sh + (s->kh - 1) * s->dh + 1;
}

/* Output rows in a vector. */
static int64_t vec_rows(const conv2d_shape *s)
{
    return s->sw * pitch(s) < TILE && s->sh == 1 ? 2 : 1;
}

/* From the first pixel that `rows` output rows meet to behind the last one. */
static int64_t pixels(const conv2d_shape *s, int64_t rows)
{
    return in_rows(s, rows) * s->sw * pitch(s) + host_max(0, columns(s) - pitch(s));
}

static int64_t words_bytes(const optune_task *task, const conv2d_shape *s, int64_t tn)
{
    return s->n * host_ceil(pixels(s, s->oh), TILE * tn) * tn * steps(task, s) * TILE_BYTES;
}

/* Floats of a channel in a band, from where a block begins to where one ends, and what the last
 * vectors, of two rows it may be, read beyond it. The odd line keeps channels out of the same cache
 * sets. */
static int64_t plane(const conv2d_shape *s, int64_t rows, int64_t tn)
{
    const int64_t block = TILE * tn;
    return (((host_ceil(pixels(s, rows), block) + 1) * tn + 2) | 1) * TILE;
}

static int64_t band_bytes(const conv2d_shape *s, int64_t rows, int64_t tm, int64_t tn)
{
    return TILE * tm * plane(s, rows, tn) * 4;
}

static int64_t weight_bytes(const optune_task *task, const conv2d_shape *s, int64_t tm)
{
    const int64_t tiles = host_ceil(s->co, TILE * tm) * tm;
    return tiles * (steps(task, s) * TILE_BYTES * dot_row_copies(dot_tiles(task, in_of(task))) +
                    TILE * (1 + s->kh * s->kw) * 4);
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!chain_shape_of(task->call, &s) ||
        !optune_dim_known(&task->call->input[CHAIN_DATA].type.dim[0]))
        return optune_refuse(why, "needs constant shapes");
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW, in and out");
    if (in_of(task).bits != 16 || dot_tiles(task, in_of(task)) == DOT_NONE)
        return optune_refuse(why, "needs 16-bit floats and the tiles of AMX");
    if (s.kh * s.kw > MOST_TAPS || s.kw > TILE || in_rows(&s, 1) > MOST_ROWS)
        return optune_refuse(why, "a kernel of more than 64 taps, 16 columns or 24 rows");
    return matmul_scratch_fits(words_bytes(task, &s, 4), why) &&
           matmul_scratch_fits(weight_bytes(task, &s, 3), why) &&
           matmul_scratch_fits(matmul_threads(task) * band_bytes(&s, 1, 3, 4), why);
}

/* Output rows of a band, from few to all. */
static int bands(const conv2d_shape *s, int64_t rows[PARTS])
{
    int n = 0;
    for (int64_t part = 1 << (PARTS - 1); part > 0; part /= 2)
        if (n == 0 || rows[n - 1] != host_ceil(s->oh, part))
            rows[n++] = host_ceil(s->oh, part);
    return n;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    int64_t rows[PARTS];
    chain_shape_of(task->call, &s);
    dot_tile_knobs(space);
    optune_space_ints(space, "block_oh", bands(&s, rows), rows);
    optune_space_ints(space, "tile_oh", 5, (int64_t[]){1, 2, 4, 7, 8});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    chain_shape_of(task->call, &s);
    const int64_t rows = optune_config_int(config, "block_oh");
    const int64_t th = optune_config_int(config, "tile_oh");
    const int64_t tm = optune_config_int(config, "tile_m");
    const int64_t tn = optune_config_int(config, "tile_n");
    if (!dot_tiles_fit(config, s.co, pixels(&s, s.oh), why))
        return false;
    if (th > rows || (th > 1 && in_rows(&s, vec_rows(&s) * th) > MOST_ROWS))
        return optune_refuse(why, "%ld vectors exceed the block, or %d rows of data", (long)th,
                             (int)MOST_ROWS);
    return matmul_scratch_fits(matmul_threads(task) * band_bytes(&s, rows, tm, tn), why);
}

/* The most rows of which a quarter of the L2 holds the band, and as many as make tasks that threads
 * share evenly. */
static int64_t best_band(const optune_task *task, const conv2d_shape *s, int64_t tm, int64_t tn)
{
    int64_t rows[PARTS], best = 0, least = INT64_MAX;
    const int n = bands(s, rows);
    for (int i = n - 1; i >= 0; i--) {
        const int64_t tasks = s->n * host_ceil(s->co, TILE * tm) * host_ceil(s->oh, rows[i]);
        const int64_t turns = host_ceil(tasks, matmul_threads(task)) * in_rows(s, rows[i]);
        const bool fits = band_bytes(s, rows[i], tm, tn) <= matmul_l2(task) / 4;
        if (best == 0 || (!fits && i == 0) || (fits && turns < least)) {
            best = rows[i];
            least = fits ? turns : INT64_MAX;
        }
    }
    return best;
}

/* The tile of sums that computes all channels and pixels in the fewest steps: products, and loads
 * that partly hide behind them. */
static void best_tile(const conv2d_shape *s, int64_t *tm, int64_t *tn)
{
    static const int64_t shape[][2] = {{2, 2}, {3, 1}, {1, 4}, {2, 1}, {1, 2}, {1, 1}};
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        const int64_t m = shape[i][0], n = shape[i][1];
        const int64_t blocks =
            host_ceil(s->co, TILE * m) * host_ceil(pixels(s, s->oh), TILE * n);
        const int64_t cost = blocks * (4 * m * n + m + n);
        if (cost < least) {
            least = cost;
            *tm = m;
            *tn = n;
        }
    }
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    int64_t tm = 1, tn = 1, th = 4;
    chain_shape_of(task->call, &s);
    best_tile(&s, &tm, &tn);
    const int64_t rows = best_band(task, &s, tm, tn);
    while (th > 1 && (th > rows || in_rows(&s, vec_rows(&s) * th) > MOST_ROWS))
        th /= 2;
    optune_config_choose_int(config, space, "tile_m", tm);
    optune_config_choose_int(config, space, "tile_n", tn);
    optune_config_choose_int(config, space, "tile_oh", th);
    optune_config_choose_int(config, space, "block_oh", rows);
    optune_config_nearest(config, space);
}

static void define(const optune_task *task, const conv2d_shape *s, const optune_config *config,
                   optune_plan *plan, int module)
{
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"BIAS", task->call->n_inputs > CHAIN_BIAS},
        {"BETWEEN", chain_between_of(task->call)},
        {"PITCH", pitch(s)},
        {"BAND", optune_config_int(config, "block_oh")},
        {"PLANE",
         plane(s, optune_config_int(config, "block_oh"), optune_config_int(config, "tile_n"))},
        {"TH", optune_config_int(config, "tile_oh")},
    };
    conv2d_define_numbers(plan, module, s);
    dot_define(plan, module, dot_tiles(task, in_of(task)), in_of(task),
               task->call->output[0].dtype, s->ci);
    dot_define_tiles(plan, module, config);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, module, number[i].name, number[i].value);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    chain_shape_of(task->call, &s);
    const int64_t rows = optune_config_int(config, "block_oh");
    const int64_t tm = optune_config_int(config, "tile_m");
    const int64_t tn = optune_config_int(config, "tile_n");
    const int module = optune_plan_module(plan);
    define(task, &s, config, plan, module);
    const optune_arg packed = chain_pack(task, plan, module, weight_bytes(task, &s, tm));
    const optune_arg words = optune_scratch_arg(
        optune_plan_scratch(plan, "words", words_bytes(task, &s, tn), false));
    const optune_arg band = optune_scratch_arg(optune_plan_scratch(
        plan, "rows", matmul_threads(task) * band_bytes(&s, rows, tm, tn), false));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "lay_data",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CHAIN_DATA), words}});
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "chain",
                          .n_args = 4,
                          .arg = {words, packed, optune_output_arg(0), band}};
    conv2d_fuse(task, plan, &stage);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(convolution_chain, chain_amx) = {
    .op = "pointwise_depthwise_conv2d",
    .name = "pointwise_depthwise_conv2d_amx.x86",
    .summary = "16-bit floats, the 1x1 convolution by the tiles of AMX",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
