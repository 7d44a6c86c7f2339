/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/shares.h declares. */
#include "kernels/quantized/shares.h"

/* ---- times ---------------------------------------------------------------------------------- */

static int64_t panels_before(const qconv_work *w, const qconv_shares *h, int64_t part)
{
    return part / h->parts * w->panels + part % h->parts * w->panels / h->parts;
}

/* To read a panel's weight while a block's tiles meet it, beside these products: they hide most. */
static double weight_time(const qconv_work *w, const qconv_shares *h)
{
    const double tiles = (double)w->tiles / (double)h->blocks;
    return fmax(w->weight - tiles, w->weight / 4);
}

/* Of the tasks before number i: products, and what their pixels take. */
static double time_before(const qconv_work *w, const qconv_shares *h, int64_t i)
{
    const int64_t part = i / h->blocks, block = i % h->blocks;
    const int64_t panels = panels_before(w, h, part);
    const int64_t at_hand = panels_before(w, h, part + 1) - panels;
    const int64_t tiles = block * w->tiles / h->blocks;
    return (double)w->tiles * ((double)panels + (double)part * w->gather) +
           (double)tiles * ((double)at_hand + w->gather) + (double)i * w->beside * w->gather;
}

/* Of a thread's tasks, those of a part one after the other. What the second-level cache does not
 * keep of a part's weight is read by each. */
static double thread_time(const optune_task *task, const qconv_work *w, const qconv_shares *h,
                          int64_t from, int64_t to)
{
    if (from == to)
        return 0;
    const int64_t first = from / h->blocks, end = (to - 1) / h->blocks + 1;
    int64_t panels = panels_before(w, h, end) - panels_before(w, h, first);
    const int64_t of_part = host_ceil(w->panels, h->parts);
    if (of_part * w->panel_bytes > host_l2(task) / 2)
        panels = host_max(panels, (to - from) * of_part);
    return time_before(w, h, to) - time_before(w, h, from) + (double)panels * weight_time(w, h);
}

/* The first task of a thread where each takes `each` of the pieces that OpenMP makes of a loop. */
static int64_t first_of(int64_t thread, int64_t each, int64_t threads, int64_t n)
{
    const int64_t piece = thread * each, pieces = threads * each;
    return n / pieces * piece + host_min(n % pieces, piece);
}

/* No less than `enough` where it is not less than that. */
static double time_of(const optune_task *task, const qconv_work *w, const qconv_shares *h,
                      double enough)
{
    const int64_t threads = host_threads(task), n = w->apart * h->parts * h->blocks;
    const int64_t each = n < host_tasks(task) ? 1 : host_tasks(task) / threads;
    double most = 0;
    for (int64_t t = 0; t < threads && most < enough; t++)
        most = fmax(most, thread_time(task, w, h, first_of(t, each, threads, n),
                                      first_of(t + 1, each, threads, n)));
    const double panels = (double)host_ceil(w->panels, h->parts);
    const double tiles = (double)host_ceil(w->tiles, h->blocks);
    return most + host_wait(task, most, tiles * (panels + w->gather));
}

/* ---- shares --------------------------------------------------------------------------------- */

/* The least, above it those that leave each thread as much, and as many as let a slower one do
 * less. */
qconv_shares qconv_shares_of(const optune_task *task, const qconv_work *w, int64_t most)
{
    const int64_t least = host_ceil(w->tiles, most), tasks = host_tasks(task);
    qconv_shares best = {1, least};
    double best_time = time_of(task, w, &best, INFINITY);
    for (int64_t parts = 1; parts <= host_min(tasks, w->panels); parts++) {
        const int64_t apart = w->apart * parts;
        const int64_t some = host_min(w->tiles, host_max(least, host_ceil(tasks, apart)));
        const int64_t blocks[] = {least, host_even_pieces(task, apart, least, w->tiles),
                                  even_pieces(tasks, apart, some, w->tiles)};
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
            const qconv_shares h = {parts, blocks[i]};
            const double time = time_of(task, w, &h, best_time);
            if (time < best_time) {
                best = h;
                best_time = time;
            }
        }
    }
    return best;
}

/* ---- the knob ------------------------------------------------------------------------------- */

static const int64_t knob[] = {1, 2, 4, 8, 16, 32, 64, 128};

void qconv_blocks_knob(optune_space *space)
{
    optune_space_ints(space, "blocks", sizeof knob / sizeof knob[0], knob);
}

/* The least of the knob's values that shares as this one does. */
static int64_t least_like(const optune_task *task, const qconv_work *w, int64_t blocks)
{
    const qconv_shares h = qconv_shares_of(task, w, blocks);
    for (size_t i = 0; knob[i] < blocks; i++) {
        const qconv_shares less = qconv_shares_of(task, w, knob[i]);
        if (less.parts == h.parts && less.blocks == h.blocks)
            return knob[i];
    }
    return blocks;
}

bool qconv_blocks_differ(const optune_task *task, const qconv_work *w, int64_t blocks,
                         char *why)
{
    const int64_t like = least_like(task, w, blocks);
    return like == blocks ||
           optune_refuse(why, "shares pixels and channels as blocks=%ld does", (long)like);
}

void qconv_blocks_choose(const optune_task *task, const qconv_work *w, int64_t most,
                         const optune_space *space, optune_config *config)
{
    int64_t blocks = 1;
    for (size_t i = 0; i < sizeof knob / sizeof knob[0]; i++)
        if (knob[i] <= most)
            blocks = knob[i];
    optune_config_choose_int(config, space, "blocks", least_like(task, w, blocks));
}
