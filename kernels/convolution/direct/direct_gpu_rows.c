/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/direct/direct_gpu_rows.h declares. */
#include "kernels/convolution/direct/direct_gpu_rows.h"

/* More outputs of a thread are code that a compiler takes too long for. */
enum { DIRECT_MOST_OUTPUTS = 512 };

direct_tiles direct_tiles_of(const optune_config *config)
{
    return (direct_tiles){
        .f = optune_config_split(config, "tile_f"),
        .y = optune_config_split(config, "tile_y"),
        .x = optune_config_split(config, "tile_x"),
    };
}

int64_t direct_least_block(int64_t extent, int64_t n)
{
    for (int64_t block = 1; block <= 64; block++)
        if (extent % block == 0 && extent / block * n <= DIRECT_MOST_BLOCKS)
            return block;
    return 0;
}

bool direct_applies(const conv2d_shape *s, char *why)
{
    if (s->data_block || s->out_block)
        return optune_refuse(why, "needs NCHW");
    if (s->ci * s->h * s->w > INT32_MAX || s->co * s->ci_g * s->kh * s->kw > INT32_MAX ||
        s->co * s->oh * s->ow > INT32_MAX)
        return optune_refuse(why, "one image is too large for 32-bit offsets");
    if (!direct_least_block(s->oh, 1) || !direct_least_block(s->co, s->n))
        return optune_refuse(why, "no tiles of rows and channels make a grid small enough");
    return (s->oh > 0 && s->ow > 0 && s->n > 0 && s->ci > 0 && s->co > 0) ||
           optune_refuse(why, "nothing to compute");
}

bool direct_fits(const optune_task *task, const conv2d_shape *s, const direct_tiles *t,
                 int64_t shared, int64_t words, char *why)
{
    const int64_t block[3] = {t->x[2], t->y[2], t->f[2]}, outputs = direct_outputs(t);
    if (outputs > DIRECT_MOST_OUTPUTS)
        return optune_refuse(why, "a thread computes %" PRId64 " outputs, at most %d", outputs,
                             (int)DIRECT_MOST_OUTPUTS);
    return direct_grid_fits(s, t, why) &&
           gpu_fits(task, block, shared, conv2d_elem(s) / 4 * (outputs + words) + 12, why);
}

/* How many of a warp's threads, `stride` elements apart along a row, meet in one bank. */
static int64_t direct_conflict(int64_t stride, int64_t threads)
{
    int64_t banks = 1;
    while (banks < 32 && stride % (2 * banks) == 0)
        banks *= 2;
    return host_min(banks, host_min(threads, 32));
}

double direct_cost(const optune_task *task, const conv2d_shape *s, const direct_tiles *t,
                   const direct_step *d, int64_t shared, int64_t words, int unroll)
{
    const int64_t elem = conv2d_elem(s), threads = t->x[2] * t->y[2] * t->f[2];
    const int64_t f = direct_block(t->f), y = direct_block(t->y), x = direct_block(t->x);
    const double taps = (double)d->taps, steps = (double)d->steps;
    const double outputs = (double)direct_outputs(t);
    const double weights = taps * (double)direct_each(t->f);
    const double inputs = taps * (double)(direct_each(t->y) * direct_each(t->x));
    const double staged = (double)(d->planes * d->rows * d->cols + f * d->taps);
    const double each =
        (double)host_ceil((int64_t)staged, threads) * 14; /* with its divisions */
    const double step =
        (outputs * taps * (double)elem / 4 + weights + inputs) * (unroll == 1 ? 1.5 : 1) + each;
    const double conflict = (double)direct_conflict(t->x[3] * s->sw, t->x[2]);
    const double warps = (double)host_ceil(threads, 32);
    const gpu_work w = {
        .blocks = s->n * t->f[0] * t->y[0] * t->x[0],
        .threads = threads,
        .registers = elem / 4 * (direct_outputs(t) + words) + 28,
        .shared = shared,
        .instructions = steps * step + 3 * outputs + 60,
        .bytes = gpu_sectors((double)(f * y), x * elem) +
                 steps * gpu_sectors((double)(d->planes * d->rows), d->cols * elem) /
                     (double)t->f[0],
        .cached = steps * (gpu_sectors((double)(d->planes * d->rows), d->cols * elem) +
                           gpu_sectors((double)f, d->taps * elem)) +
                  gpu_sectors((double)(f * y), x * elem),
        .waits = steps + 1,
        .barriers = 2 * steps,
        .pipe = steps * warps * (weights + inputs * conflict) * (double)elem / 4,
    };
    return gpu_cost(task, &w);
}

static void direct_define(optune_plan *plan, int m, const char *const name[3],
                          const int64_t *tile)
{
    for (int i = 0; i < 3; i++)
        optune_plan_define(plan, m, name[i], tile[i + 1]);
}

int direct_module(optune_plan *plan, const conv2d_shape *s, const direct_tiles *t)
{
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, s);
    direct_define(plan, m, (const char *const[]){"VF", "TF", "FI"}, t->f);
    direct_define(plan, m, (const char *const[]){"VY", "TY", "YI"}, t->y);
    direct_define(plan, m, (const char *const[]){"VX", "TX", "XI"}, t->x);
    return m;
}

void direct_stage(optune_plan *plan, int m, const conv2d_shape *s, const direct_tiles *t,
                  int64_t shared)
{
    optune_plan_stage(plan, &(optune_stage){
                                .phase = OPTUNE_TIMED,
                                .module = m,
                                .function = "conv2d",
                                .n_args = 3,
                                .arg = {optune_input_arg(CONV2D_DATA),
                                        optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0)},
                                .grid = {t->x[0], t->y[0], s->n * t->f[0]},
                                .block = {t->x[2], t->y[2], t->f[2]},
                                .shared = shared,
                            });
}
