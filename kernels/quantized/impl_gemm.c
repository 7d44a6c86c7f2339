/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_gemm.cpu: a product of pixels and the weight. Rows are pixels as they lie where
 * the kernel is 1x1, or are gathered, as many as stay in the caches.
 */
#include "kernels/matmul/dot.h"
#include "kernels/quantized/conv.h"
#include "kernels/quantized/shares.h"

enum { TILE_PIXELS = 32, TILE_BYTES = 64, MOST_BYTES = 1 << 30 };

typedef enum qstep { STEP_PAIRS, STEP_I8, STEP_TILES } qstep;
static const char *const step_word[] = {"pairs", "i8", "tiles"};

/* How a config multiplies. */
typedef struct gemm {
    qstep step;
    bool direct;
    int64_t passes, step_words, words; /* of a tile's step, of a row */
    int64_t nv, nr, rows;              /* vectors and channels of a panel; pixels at once */
    int64_t panels, pixels;
} gemm;

static qstep best_step(const optune_task *task)
{
    const int dots = task->device->vector_bytes == 64 ? task->device->dots : 0;
    return !(dots & OPTUNE_DOT_I8)        ? STEP_PAIRS
           : !(dots & OPTUNE_DOT_TILE_I8) ? STEP_I8
                                          : STEP_TILES;
}

/* Steps of a tile that are a row as it lies: of equal length, whole words. 0: there are none. */
static int64_t even_steps(int64_t k)
{
    const int64_t least = host_ceil(k, TILE_BYTES);
    for (int64_t n = least; n <= 2 * least; n++)
        if (k % (4 * n) == 0)
            return n;
    return 0;
}

static gemm gemm_of(const optune_task *task, const conv2d_shape *s, qstep step)
{
    gemm g = {.step = step, .passes = step != STEP_PAIRS && qconv_wide(task->call) ? 2 : 1};
    const int64_t lanes = host_vector_bytes(task) / 4;
    const bool lies = s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->oh == s->h &&
                      s->ow == s->w && s->ci_g % 4 == 0 && s->ci % 4 == 0;
    if (step == STEP_TILES) {
        const int64_t even = even_steps(qconv_terms(s)),
                      n = host_ceil(qconv_terms(s), TILE_BYTES);
        g.direct = lies && even;
        g.step_words =
            g.direct ? qconv_terms(s) / even / 4 : host_ceil(host_ceil(qconv_terms(s), n), 4);
        g.words = g.step_words * (g.direct ? even : n);
    } else {
        g.direct = lies && step == STEP_I8;
        g.words = g.step_words = host_ceil(qconv_terms(s), step == STEP_I8 ? 4 : 2);
    }
    g.nv = s->co_g > lanes ? 2 : 1;
    g.nr = g.nv * lanes;
    g.rows = step == STEP_TILES ? TILE_PIXELS : task->device->vector_registers >= 32 ? 12 : 4;
    g.panels = host_ceil(s->co_g, g.nr);
    g.pixels = s->n * s->oh * s->ow;
    return g;
}

static int64_t panel_bytes(const gemm *g)
{
    return g->passes * g->words * g->nr * 4;
}

static int64_t words_bytes(const conv2d_shape *s, const gemm *g)
{
    return s->groups * g->panels * panel_bytes(g);
}

static qconv_work work_of(const conv2d_shape *s, const gemm *g)
{
    return (qconv_work){.apart = s->groups,
                        .tiles = host_ceil(g->pixels, g->rows),
                        .panels = g->panels,
                        .panel_bytes = panel_bytes(g),
                        .gather = 0.5,
                        .weight = 4};
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!qconv_applies(task, &s, why))
        return false;
    for (int step = best_step(task); step >= 0; step--) {
        const gemm g = gemm_of(task, &s, (qstep)step);
        if (words_bytes(&s, &g) > MOST_BYTES || g.words * 4 * g.rows > MOST_BYTES)
            return optune_refuse(why, "more than 1 GiB of packed weights");
    }
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    const qstep best = best_step(task);
    const char *words[3];
    for (int i = 0; i <= (int)best; i++)
        words[i] = step_word[best - i];
    optune_space_words(space, "step", (int)best + 1, words);
    qconv_blocks_knob(space);
}

static qstep chosen(const optune_config *config)
{
    const char *word = optune_config_word(config, "step");
    return !strcmp(word, "tiles") ? STEP_TILES : !strcmp(word, "i8") ? STEP_I8 : STEP_PAIRS;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const gemm g = gemm_of(task, &s, chosen(config));
    const qconv_work work = work_of(&s, &g);
    const int64_t blocks = optune_config_int(config, "blocks");
    if (!qconv_blocks_differ(task, &work, blocks, why))
        return false;
    return blocks == 1 || blocks * g.rows * g.words * 4 <= 4 << 20 ||
           optune_refuse(why, "a block of more than 4 MiB");
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const gemm g = gemm_of(task, &s, chosen(config));
    const qconv_work work = work_of(&s, &g);
    const int64_t l2 = host_l2(task);
    const int64_t fit = (g.direct ? l2 / 4 : l2 / 16) / (g.rows * g.words * 4);
    qconv_blocks_choose(task, &work, fit, space, config);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const gemm g = gemm_of(task, &s, chosen(config));
    const int m = optune_plan_module(plan);
    const qconv_work work = work_of(&s, &g);
    const qconv_shares share =
        qconv_shares_of(task, &work, optune_config_int(config, "blocks"));
    const bool tiles = g.step == STEP_TILES;
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"PAIRS", g.step == STEP_PAIRS},
        {"TILES", tiles},
        {"DIRECT", g.direct},
        {"PASSES", g.passes},
        {"WORDS", g.words},
        {"STEP_WORDS", g.step_words},
        {"ROWS", g.rows},
        {"BLOCKS", share.blocks},
        {"PARTS", share.parts},
        {"DOT_NV", g.nv},
    };
    qconv_define(plan, m, task, &s);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, m, number[i].name, number[i].value);
    if (tiles) {
        const optune_dtype in = {.code = OPTUNE_DTYPE_INT, .bits = 8, .lanes = 1};
        const optune_dtype out = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};
        dot_define(plan, m, DOT_TILE_I8, in, out, qconv_terms(&s));
        optune_plan_define(plan, m, "TILE_M", 2);
        optune_plan_define(plan, m, "TILE_N", g.nv);
        optune_plan_define(plan, m, "DOT_MR", 1);
        optune_plan_define(plan, m, "DOT_KU", 1);
    } else {
        optune_plan_define_text(plan, m, "DTYPE", "int");
    }
    const optune_arg packed =
        qconv_pack(task, plan, m, words_bytes(&s, &g), s.groups * g.panels * g.nr);
    /* Of what lies already, the last pixels alone are put together. */
    const int64_t rows = g.direct ? 1 : host_ceil(work.tiles, share.blocks);
    const int buffer = optune_plan_scratch(
        plan, "rows", rows * g.rows * g.words * 4 * host_threads(task), false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "gemm",
                              .n_args = 4,
                              .arg = {optune_input_arg(QCONV_DATA), packed,
                                      optune_output_arg(0), optune_scratch_arg(buffer)}});
}

OPTUNE_IMPL(quantized, gemm) = {
    .op = "quantized_conv2d",
    .name = "quantized_conv2d_gemm.cpu",
    .summary = "a product of pixels, as they lie or gathered, and the weight",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
