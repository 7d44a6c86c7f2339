/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dispatch table from measurements: few shapes are tuned, where the winner changes, and rows
 * are drawn between them.
 *
 * Along each dim of a piece its ends are tuned first, then the geometric middle of the widest gap
 * whose two sides use different configs, with both tried there: one that is as good there is kept,
 * so that a table has few rows. Where two neighbours differ in the end, the place where one
 * becomes the faster is found by comparing just these two. With several dims each is cut like
 * this while the others keep their middle, and every cell of the product is given the config that
 * is fastest in its middle. Of more dims than there are shapes to tune, or cells to compare in, the
 * rest is left whole.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "tuner/shaping.h"

enum {
    DEFAULT_POINTS = 8,
    DEFAULT_TRIALS = 48,
    DEFAULT_SHAPES = 4,
    MOST_POINTS = 64,
    MOST_CELLS = 64,
};
#define DEFAULT_SECONDS 240.0
#define COMPARE_S 0.15
#define NEAR_SIZES 1.15 /* neighbours within this need no closer look */

/* ---- one dim of one piece ---------------------------------------------------------------- */

typedef struct line {
    ot_shaping *s;
    ot_pool *pool;
    int dim;
    int64_t lo, hi;
    int64_t middle[OT_MAX_SYMBOLS]; /* of the others */
    int n;
    ot_point point[MOST_POINTS]; /* ascending */
} line;

static int64_t geometric(int64_t a, int64_t b)
{
    const int64_t g = (int64_t)llround(sqrt((double)(a > 0 ? a : 1) * (double)b));
    return g < a ? a : g > b ? b : g;
}

static int64_t at(const line *l, int i)
{
    return l->point[i].size[l->dim];
}

static int add_point(line *l, int64_t size, const int *hint, int n_hints, optune_err *err)
{
    ot_point point = {0};
    memcpy(point.size, l->middle, sizeof point.size);
    point.size[l->dim] = size;
    const int status = ot_point_tune(l->s, l->pool, &point, hint, n_hints, err);
    if (status < 0)
        return status;
    int i = l->n++;
    for (; i > 0 && at(l, i - 1) > size; i--)
        l->point[i] = l->point[i - 1];
    l->point[i] = point;
    return OPTUNE_OK;
}

/* The gap behind this point is the one to look into; -1: none is worth it. */
static int widest_gap(const line *l)
{
    int best = -1;
    double widest = 0;
    for (int i = 0; i + 1 < l->n; i++) {
        const double ratio = (double)at(l, i + 1) / (double)(at(l, i) > 0 ? at(l, i) : 1);
        const bool differ = l->point[i].entry != l->point[i + 1].entry;
        /* Between equal sides something else may win, but less likely. */
        const double width = log(ratio) * (differ ? 1 : 0.4);
        if (at(l, i + 1) - at(l, i) > 1 && ratio > (differ ? 1.5 : 6) && width > widest) {
            widest = width;
            best = i;
        }
    }
    return best;
}

static int tune_line(line *l, int points, optune_err *err)
{
    int status = add_point(l, l->hi, NULL, 0, err);
    if (status >= 0 && points > 1 && l->hi > l->lo) {
        const int hint[] = {l->point[0].entry};
        status = add_point(l, l->lo, hint, 1, err);
    }
    while (status >= 0 && l->n < points && l->n < MOST_POINTS) {
        const int gap = widest_gap(l);
        if (gap < 0)
            break;
        const int hint[] = {l->point[gap].entry, l->point[gap + 1].entry};
        status = add_point(l, geometric(at(l, gap), at(l, gap + 1)), hint,
                           hint[0] == hint[1] ? 1 : 2, err);
    }
    return status;
}

/* The first size behind point i where the next point's config is used. */
static int find_boundary(line *l, int i, int64_t *first, optune_err *err)
{
    const int entry[] = {l->point[i].entry, l->point[i + 1].entry};
    int64_t lo = at(l, i), hi = at(l, i + 1);
    int status = OPTUNE_OK;
    while (status >= 0 && hi - lo > 1 && (double)hi / (double)lo > NEAR_SIZES) {
        int64_t size[OT_MAX_SYMBOLS];
        memcpy(size, l->middle, sizeof size);
        size[l->dim] = geometric(lo, hi);
        if (size[l->dim] == lo || size[l->dim] == hi)
            break;
        int fastest = 0;
        status = ot_point_fastest(l->s, l->pool, size, entry, 2, &fastest, err);
        *(fastest == 0 ? &lo : &hi) = size[l->dim];
    }
    *first = hi - lo > 1 ? geometric(lo, hi) : hi;
    return status;
}

/* Cuts, first sizes of new cells, and who is used before, between and behind them. */
typedef struct cuts {
    int n;
    int64_t first[MOST_POINTS];
    int entry[MOST_POINTS + 1];
} cuts;

static int cut_line(line *l, cuts *c, optune_err *err)
{
    int status = OPTUNE_OK;
    *c = (cuts){.entry = {l->point[0].entry}};
    for (int i = 0; i + 1 < l->n && status >= 0; i++) {
        if (l->point[i].entry == l->point[i + 1].entry)
            continue;
        status = find_boundary(l, i, &c->first[c->n], err);
        c->entry[++c->n] = l->point[i + 1].entry;
    }
    return status;
}

/* ---- rows -------------------------------------------------------------------------------- */

static void add_row(ot_shaping *s, const ot_piece *piece, const ot_symbols *cell,
                    const ot_pool_entry *entry, const char *tier)
{
    ot_text when = {0};
    for (int i = 0; i < cell->n; i++) {
        const optune_dim *is = &cell->dim[i], *all = &s->table->dims.dim[i];
        const char *name = all->name;
        if (is->min == is->max) {
            ot_text_printf(&when, "%s%s == %lld", when.n ? " && " : "", name,
                           (long long)is->min);
            continue;
        }
        if (is->min > all->min)
            ot_text_printf(&when, "%s%s >= %lld", when.n ? " && " : "", name,
                           (long long)is->min);
        if (is->max < all->max)
            ot_text_printf(&when, "%s%s <= %lld", when.n ? " && " : "", name,
                           (long long)is->max);
    }
    char digest[33];
    const optune_task task = {&s->call, &s->o->target, &s->o->device};
    ot_call_digest(&task, entry->impl, digest);
    ot_dispatch_row *row = ot_alloc(sizeof *row);
    *row = (ot_dispatch_row){.when = when.n ? when.s : NULL,
                             .range = piece->range,
                             .impl = entry->impl,
                             .digest = digest,
                             .tier = tier,
                             .config = entry->config};
    ot_dispatch_add(s->table, row);
    free(row);
    ot_text_release(&when);
}

static int add_cells(ot_shaping *s, ot_pool *pool, const cuts *c, optune_err *err)
{
    const ot_symbols *range = &pool->piece->range;
    int cells = 1, status = OPTUNE_OK;
    for (int i = 0; i < range->n; i++)
        cells *= c[i].n + 1;
    for (int k = 0; k < cells && status >= 0; k++) {
        ot_symbols cell = *range;
        int64_t middle[OT_MAX_SYMBOLS];
        int all[OT_COUNT(pool->entry)], entry = 0, rest = k;
        for (int i = 0; i < range->n; i++) {
            const int part = rest % (c[i].n + 1);
            rest /= c[i].n + 1;
            cell.dim[i].min = part ? c[i].first[part - 1] : range->dim[i].min;
            cell.dim[i].max = part < c[i].n ? c[i].first[part] - 1 : range->dim[i].max;
            middle[i] = geometric(cell.dim[i].min, cell.dim[i].max);
            entry = c[i].entry[part];
        }
        for (int i = 0; i < pool->n; i++)
            all[i] = i;
        if (range->n > 1 && pool->n > 1) {
            status = ot_point_fastest(s, pool, middle, all, pool->n, &entry, err);
        }
        if (status >= 0)
            add_row(s, pool->piece, &cell, &pool->entry[entry], "tuned");
    }
    return status;
}

static int make_piece(ot_shaping *s, const ot_piece *piece, int points, optune_err *err)
{
    ot_pool *pool = ot_alloc(sizeof *pool);
    line *l = ot_alloc(sizeof *l);
    cuts *c = ot_alloc(OT_MAX_SYMBOLS * sizeof *c);
    const ot_symbols *range = &piece->range;
    int status = OPTUNE_OK, wide = 0, left = points, cells = 1;
    pool->piece = piece;
    for (int i = 0; i < range->n; i++)
        wide += range->dim[i].min < range->dim[i].max;
    for (int i = 0; i < range->n && status >= 0; i++) {
        const bool varies = range->dim[i].min < range->dim[i].max;
        if ((!varies && (wide || i > 0)) || (left < 1 && pool->n))
            continue; /* c[i] is one cell */
        *l = (line){
            .s = s, .pool = pool, .dim = i, .lo = range->dim[i].min, .hi = range->dim[i].max};
        for (int k = 0; k < range->n; k++)
            l->middle[k] = geometric(range->dim[k].min, range->dim[k].max);
        const int share = wide > 1 ? (left + wide - 1) / wide : left;
        status = tune_line(l, share > 0 ? share : 1, err);
        left -= l->n;
        wide -= varies;
        if (status >= 0)
            status = cut_line(l, &c[i], err);
        if (cells * (c[i].n + 1) > MOST_CELLS)
            c[i] = (cuts){.entry = {c[i].entry[0]}};
        cells *= c[i].n + 1;
    }
    if (status >= 0)
        status = add_cells(s, pool, c, err);
    free(pool);
    free(l);
    free(c);
    return status;
}

/* What plevel alone would use for every size, if anything. */
static void add_default(ot_shaping *s)
{
    const optune_task task = {&s->call, &s->o->target, &s->o->device};
    const ot_piece whole = {.range = s->table->dims};
    ot_choice *choice = ot_alloc(sizeof *choice);
    const bool covered = s->table->n && !s->table->row[s->table->n - 1].when;
    if (!covered && ot_select(&task, NULL, 0, choice, NULL) >= 0) {
        ot_pool_entry *entry = ot_alloc(sizeof *entry);
        *entry = (ot_pool_entry){choice->row[choice->winner].candidate.impl, *choice->config};
        add_row(s, &whole, &s->table->dims, entry, "plevel");
        free(entry);
    }
    ot_choice_free(choice);
}

/* ---- all of it --------------------------------------------------------------------------- */

static double width(const ot_piece *piece)
{
    double sum = 0.3;
    for (int i = 0; i < piece->range.n; i++)
        sum += log2((double)(piece->range.dim[i].max + 1) /
                    (double)(piece->range.dim[i].min > 0 ? piece->range.dim[i].min : 1));
    return sum;
}

static int make_rows(ot_shaping *s, optune_err *err)
{
    int left = s->points, status = OPTUNE_OK;
    double rest = 0;
    for (int i = 0; i < s->n_pieces; i++)
        rest += width(&s->piece[i]);
    for (int i = 0; i < s->n_pieces && status >= 0; i++) {
        const double own = width(&s->piece[i]);
        const int others = s->n_pieces - i - 1;
        int points = (int)lround(left * own / rest);
        points = points > left - others ? left - others : points;
        points = points < 1 || s->piece[i].fixed ? 1 : points;
        const int before = s->done;
        status = make_piece(s, &s->piece[i], points, err);
        left -= s->done - before;
        rest -= own;
    }
    add_default(s);
    return status;
}

static int prepare(ot_shaping *s, optune_err *err)
{
    const optune_dispatch_options *options = s->options;
    ot_run *run = s->run;
    int status = options->workload ? ot_call_parse(options->workload, &s->call, err)
                                   : optune_fail(err, OPTUNE_EUSAGE, "no workload named");
    if (status >= 0)
        status = ot_dispatch_new(&s->call, &s->table, err);
    if (status >= 0 && options->output)
        status = ot_dispatch_writable(s->table, options->output, err);
    for (int i = 0; status >= 0 && i < s->table->dims.n; i++)
        if (s->table->dims.dim[i].min < 1)
            status =
                optune_fail(err, OPTUNE_EUSAGE, "dim '%s' starts at %lld: sizes are 1 or more",
                            s->table->dims.dim[i].name, (long long)s->table->dims.dim[i].min);
    if (status >= 0)
        status = ot_search_get(options->search ? options->search : OT_DEFAULT_SEARCH,
                               &run->search, err);
    if (status >= 0)
        status = ot_context_device(s->o, err);
    if (status >= 0 && options->output && s->o->device.warp > 0)
        status =
            optune_fail(err, OPTUNE_EUNSUPPORTED,
                        "a table is written as C for CPUs only: leave '%s' out and open the "
                        "table with optune_dispatch_open",
                        options->output);
    const optune_task task = {&s->call, &s->o->target, &s->o->device};
    if (status >= 0)
        status = ot_pieces_make(&task, &s->table->dims, &s->piece, &s->n_pieces, err);
    if (status < 0)
        return status;
    s->points = options->points > 0 ? options->points : DEFAULT_POINTS;
    s->points = s->points < s->n_pieces       ? s->n_pieces
                : s->points > MOST_POINTS / 2 ? MOST_POINTS / 2
                                              : s->points;
    s->shapes = options->regret < 0   ? 0
                : options->regret > 0 ? options->regret
                                      : DEFAULT_SHAPES;
    s->shapes = s->shapes > 60 ? 60 : s->shapes;
    const double seconds = options->seconds == 0 ? DEFAULT_SECONDS : options->seconds;
    /* Most of the time tunes; the rest looks for boundaries. */
    s->point_s = seconds > 0 ? 0.85 * seconds / (s->points + s->shapes) : 1e9;
    s->compare_s = COMPARE_S;
    s->run_options = (optune_run_options){.size = sizeof s->run_options,
                                          .seed = options->seed,
                                          .log = options->log,
                                          .progress = options->progress,
                                          .progress_arg = options->progress_arg};
    run->o = s->o;
    run->options = &s->run_options;
    run->op = s->call.op;
    run->trials = options->trials > 0 ? options->trials : DEFAULT_TRIALS;
    run->started = ot_now();
    run->end = seconds > 0 ? ot_now() + seconds : INFINITY;
    run->n_workloads = s->points + s->shapes;
    run->call = ot_alloc((size_t)(s->points + s->n_pieces + s->shapes + MOST_POINTS) *
                         sizeof *run->call);
    for (int i = 0; i < run->n_workloads; i++)
        run->call[i].op = s->call.op; /* whose records are hints; the rest follows */
    run->policy = *s->o->policy;
    return ot_run_open(run, err);
}

static void describe(ot_shaping *s)
{
    ot_arena arena = {0};
    ot_text target = {0};
    ot_dispatch *d = s->table;
    const char *depends = ot_context_depends(s->o, NULL, ot_policy_warm.name, &arena);
    ot_target_print(&s->o->target, true, &target);
    d->target = ot_arena_copy(&d->arena, ot_text_str(&target));
    d->device = ot_arena_copy(&d->arena, s->o->device.key);
    d->depends = ot_arena_copy(&d->arena, depends ? depends : "");
    d->measured = json_pack("{s:O, s:n}", "points", s->said, "regret");
    ot_text_release(&target);
    ot_arena_release(&arena);
}

static int save(ot_shaping *s, ot_text *said, optune_err *err)
{
    char path[4096 + 64], dir[4096 + 16];
    json_t *json = ot_dispatch_json(s->table);
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    snprintf(dir, sizeof dir, "%s/dispatch", s->o->db);
    int status = ot_context_make(dir, err);
    if (status >= 0)
        status = ot_dispatch_path(s->o, &s->call, path, sizeof path, err);
    if (status >= 0)
        status = ot_context_write(path, text, err);
    if (status >= 0 && s->options->output)
        status = ot_dispatch_write(s->o, s->table, s->options->output, said, err);
    free(text);
    json_decref(json);
    return status;
}

static int make_table(ot_shaping *s, ot_text *said, optune_err *err)
{
    int status = make_rows(s, err);
    if (status >= 0) {
        describe(s);
        status = ot_dispatch_compile(s->table, err);
    }
    if (status >= 0) {
        ot_dispatch_print(s->table, said);
        if (s->shapes)
            status = ot_regret_measure(s, said, err);
    }
    return status < 0 ? status : save(s, said, err);
}

static json_t *result_json(const ot_shaping *s, bool interrupted)
{
    json_t *table = s->table->measured ? ot_dispatch_json(s->table)
                                       : json_pack("{s:{s:O}}", "measured", "points", s->said);
    json_object_set_new(table, "new_trials", json_integer(s->run->new_trials));
    json_object_set_new(table, "failures", json_integer(s->run->failures));
    json_object_set_new(table, "seconds", json_real(ot_now() - s->run->started));
    json_object_set_new(table, "interrupted", json_boolean(interrupted));
    return table;
}

int optune_dispatch_tune(optune *o, const optune_dispatch_options *options,
                         optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    if (strcmp(o->policy->name, ot_policy_warm.name))
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "a dispatch is measured warm only");
    optune_dispatch_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_dispatch_options, options, &own));
    options = &own;
    ot_shaping *s = ot_alloc(sizeof *s);
    ot_text said = {0};
    *s = (ot_shaping){
        .o = o, .options = options, .run = ot_alloc(sizeof *s->run), .said = json_array()};
    int status = prepare(s, err);
    if (status >= 0)
        status = make_table(s, &said, err);
    if (status == OPTUNE_EINTERRUPTED) {
        optune_fail(err, status,
                    "interrupted: every trial is stored; the same command goes on from here");
        ot_text_printf(&said, "interrupted after %d tuned shapes; no table was made\n",
                       (int)json_array_size(s->said));
    }
    if (status >= 0 || status == OPTUNE_EINTERRUPTED) {
        ot_run_report(s->run, "done", NULL);
        *result = ot_result_new(said.s, result_json(s, status < 0));
        said.s = NULL;
    }
    ot_text_release(&said);
    ot_run_close(s->run);
    ot_pieces_free(s->piece, s->n_pieces);
    ot_dispatch_free(s->table);
    json_decref(s->said);
    free(s->run);
    free(s);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this call that was asked to end */
    return status;
}
