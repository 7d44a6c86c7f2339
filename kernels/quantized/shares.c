/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/shares.h declares. */
#include "kernels/quantized/shares.h"

#include <assert.h>

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

/* Where a task is. */
typedef struct place {
    int64_t part, block;
    int64_t panels, at_hand; /* before its part, and of it */
    double time;             /* of the tasks before it: products, and what their pixels take */
} place;

/* From the place of another task, or from part -1, to that of number i. */
static void go_to(const qconv_work *w, const qconv_shares *h, int64_t i, place *p)
{
    const int64_t part = i / h->blocks;
    p->block = i % h->blocks;
    if (part != p->part) {
        p->part = part;
        p->panels = panels_before(w, h, part);
        p->at_hand = panels_before(w, h, part + 1) - p->panels;
    }
    const int64_t tiles = p->block * w->tiles / h->blocks;
    p->time = (double)w->tiles * ((double)p->panels + (double)part * w->gather) +
              (double)tiles * ((double)p->at_hand + w->gather) +
              (double)i * w->beside * w->gather;
}

/* The first task of a thread where each takes `each` of the pieces that OpenMP makes of a loop. */
static int64_t first_of(int64_t thread, int64_t each, int64_t threads, int64_t n)
{
    const int64_t piece = thread * each, pieces = threads * each;
    return n / pieces * piece + host_min(n % pieces, piece);
}

/* No less than `enough` where it is not less than that: the longer the thread with most takes, the
 * longer is waited, so that what is known of some threads may be enough. Only the first `asked` of
 * them are. */
static double time_of(const optune_task *task, const qconv_work *w, const qconv_shares *h,
                      int64_t asked, double enough)
{
    const int64_t threads = host_threads(task), n = w->apart * h->parts * h->blocks;
    const int64_t each = n < host_tasks(task) ? 1 : host_tasks(task) / threads;
    const int64_t panels = host_ceil(w->panels, h->parts);
    const bool kept = panels * w->panel_bytes <= host_l2(task) / 2;
    const double task_time =
        (double)host_ceil(w->tiles, h->blocks) * ((double)panels + w->gather);
    const double weight = weight_time(w, h);
    double most = 0, time = host_wait(task, 0, task_time);
    place from, to = {.part = -1};
    go_to(w, h, 0, &to);
    /* Behind one that has nothing to do nobody has. */
    for (int64_t t = 0, at = 0, end; at < n && t < asked && time < enough; t++, at = end) {
        end = first_of(t + 1, each, threads, n);
        from = to;
        go_to(w, h, end, &to);
        /* Its tasks are of one part after the other. What the second-level cache does not keep of a
         * part's weight is read by each. */
        int64_t read = to.panels + (to.block ? to.at_hand : 0) - from.panels;
        if (!kept)
            read = host_max(read, (end - at) * panels);
        const double mine = to.time - from.time + (double)read * weight;
        if (mine > most) {
            most = mine;
            time = most + host_wait(task, most, task_time);
        }
    }
    return time;
}

/* ---- shares --------------------------------------------------------------------------------- */

/* What no blocks of so many parts are below, nor of more parts: all threads have as much to do. */
static double least_time(const optune_task *task, const qconv_work *w, int64_t parts)
{
    static const double ROUNDED = 1 - 1e-9; /* a sum in another order */
    const double most = (double)(w->apart * w->tiles) *
                        ((double)w->panels + (double)parts * w->gather) /
                        (double)host_threads(task);
    return ROUNDED * (most + host_wait(task, most, 0));
}

/* Blocks of so many parts that are tried, `least` of them or more: the least, above it those that
 * leave each thread as much, and as many as let a slower one do less. */
enum { TRIED = 3 };
static void tried_blocks(const optune_task *task, const qconv_work *w, int64_t least,
                         int64_t parts, int64_t blocks[TRIED])
{
    const int64_t apart = w->apart * parts, tasks = host_tasks(task);
    const int64_t some = host_min(w->tiles, host_max(least, host_ceil(tasks, apart)));
    blocks[0] = least;
    blocks[1] = host_even_pieces(task, apart, least, w->tiles);
    blocks[2] = even_pieces(tasks, apart, some, w->tiles);
}

static int64_t most_parts(const optune_task *task, const qconv_work *w)
{
    return host_min(host_tasks(task), w->panels);
}

static bool same(const qconv_shares *a, const qconv_shares *b)
{
    return a->parts == b->parts && a->blocks == b->blocks;
}

/* One that is tried and may take little, as its first thread does. */
static qconv_shares likely(const optune_task *task, const qconv_work *w, int64_t least)
{
    qconv_shares best = {1, least};
    double best_time = INFINITY;
    for (int64_t parts = 1; parts <= most_parts(task, w); parts *= 2) {
        int64_t blocks[TRIED];
        tried_blocks(task, w, least, parts, blocks);
        for (int i = 0; i < TRIED; i++) {
            const qconv_shares h = {parts, blocks[i]};
            const double time = time_of(task, w, &h, 1, best_time);
            if (time < best_time) {
                best = h;
                best_time = time;
            }
        }
    }
    return best;
}

/* The first of all that are tried which takes least; `best` is one of them, and the closer to it
 * the fewer threads of others need be asked. */
static qconv_shares first_best(const optune_task *task, const qconv_work *w, int64_t least,
                               qconv_shares best)
{
    const int64_t threads = host_threads(task);
    /* What is in front of `best` and takes no longer is taken for it, what is behind has to take
     * less. */
    double enough = nextafter(time_of(task, w, &best, threads, INFINITY), INFINITY);
    for (int64_t parts = 1; parts <= most_parts(task, w); parts++) {
        int64_t blocks[TRIED];
        if (least_time(task, w, parts) >= enough)
            break;
        tried_blocks(task, w, least, parts, blocks);
        for (int i = 0; i < TRIED; i++) {
            const qconv_shares h = {parts, blocks[i]};
            const bool again = i > 0 && blocks[i] == blocks[i - 1];
            const double time = again ? INFINITY : time_of(task, w, &h, threads, enough);
            if (time < enough) {
                best = h;
                enough = time;
            }
        }
    }
    return best;
}

qconv_shares qconv_shares_of(const optune_task *task, const qconv_work *w, int64_t most)
{
    assert(w->apart > 0 && w->tiles > 0 && w->panels > 0); /* as `applies` was asked */
    const int64_t least = host_ceil(w->tiles, most);
    return first_best(task, w, least, likely(task, w, least));
}

/* ---- the knob ------------------------------------------------------------------------------- */

static const int64_t knob[] = {1, 2, 4, 8, 16, 32, 64, 128};

void qconv_blocks_knob(optune_space *space)
{
    optune_space_ints(space, "blocks", sizeof knob / sizeof knob[0], knob);
}

/* Whether blocks of at most `most` tiles are shared so, too. */
static bool shares_as(const optune_task *task, const qconv_work *w, int64_t most,
                      const qconv_shares *h)
{
    const int64_t least = host_ceil(w->tiles, most);
    int64_t blocks[TRIED];
    if (least > h->blocks) /* as many are the fewest */
        return false;
    tried_blocks(task, w, least, h->parts, blocks);
    for (int i = 0; i < TRIED; i++)
        if (blocks[i] == h->blocks) {
            const qconv_shares best = first_best(task, w, least, *h);
            return same(&best, h);
        }
    return false;
}

/* The least of the knob's values that shares as this one does. */
static int64_t least_like(const optune_task *task, const qconv_work *w, int64_t blocks)
{
    const qconv_shares h = qconv_shares_of(task, w, blocks);
    for (size_t i = 0; knob[i] < blocks; i++)
        if (shares_as(task, w, knob[i], &h))
            return knob[i];
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
