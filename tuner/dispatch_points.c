/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring single shapes of a table in the making: tuning one, comparing configs at one, and
 * comparing what the table says with tuning that one shape alone. What is known from records is
 * not measured again; records of a plan for a range carry the size in their policy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/shaping.h"

#define AS_GOOD 1.03 /* a config found elsewhere is kept when it is within this of the best */

typedef struct place { /* one size in one piece */
    optune_call at;
    char policy[OPTUNE_TEXT_SIZE];
    optune_task task;
    bool fixed;
    const char *range;
} place;

static int find_place(const ot_shaping *s, const ot_piece *piece, const int64_t *size, place *p,
                      optune_err *err)
{
    ot_symbols at = s->table->dims;
    size_t n = (size_t)snprintf(p->policy, sizeof p->policy, "warm");
    for (int i = 0; i < at.n; i++) {
        at.dim[i].min = at.dim[i].max = size[i];
        n += (size_t)snprintf(p->policy + n, sizeof p->policy - n, "%c%s=%lld", i ? ',' : ' ',
                              at.dim[i].name, (long long)size[i]);
    }
    p->task = (optune_task){&piece->call, &s->o->target, &s->o->device};
    p->fixed = piece->fixed;
    p->range = piece->text;
    return ot_call_narrow(&s->call, &at, &p->at, err);
}

static const char *policy_of(const place *p)
{
    return p->fixed ? NULL : p->policy;
}

json_t *ot_sizes_json(const ot_symbols *dims, const int64_t *size)
{
    json_t *json = json_object();
    for (int i = 0; i < dims->n; i++)
        json_object_set_new(json, dims->dim[i].name, json_integer(size[i]));
    return json;
}

/* ---- tuning one -------------------------------------------------------------------------- */

static int add_entry(ot_pool *pool, const optune_impl *impl, const optune_config *config)
{
    for (int i = 0; i < pool->n; i++)
        if (pool->entry[i].impl == impl && ot_config_equal(&pool->entry[i].config, config))
            return i;
    if (pool->n == OT_COUNT(pool->entry))
        return -1;
    pool->entry[pool->n] = (ot_pool_entry){impl, *config};
    return pool->n++;
}

static double cost_of(const ot_fact *fact, int n, const ot_pool_entry *entry)
{
    const optune_record *best = NULL;
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i].record;
        if (fact[i].currency != OT_STALE && r->outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(r->impl, entry->impl->name) &&
            ot_config_equal(&r->config, &entry->config) &&
            (!best || r->final > best->final ||
             (r->final == best->final && r->cost < best->cost)))
            best = r;
    }
    return best ? best->cost : INFINITY;
}

static int judge(ot_shaping *s, const place *p, ot_pool *pool, ot_point *point, const int *hint,
                 int n_hints, optune_err *err)
{
    ot_arena arena = {0};
    ot_fact *fact = NULL;
    int n = 0;
    ot_choice *choice = ot_alloc(sizeof *choice);
    int status = ot_context_facts_at(s->o, &p->task, policy_of(p), &arena, &fact, &n, err);
    if (status >= 0)
        status = ot_select(&p->task, fact, n, choice, err);
    if (status >= 0) {
        ot_context_warn(s->o, choice);
        const ot_choice_row *row = &choice->row[choice->winner];
        point->cost =
            row->fact && ot_choice_measured(choice) ? row->fact->record.cost : INFINITY;
        double best = point->cost * AS_GOOD;
        point->entry = -1;
        for (int i = 0; i < n_hints; i++) {
            const double cost = cost_of(fact, n, &pool->entry[hint[i]]);
            if (cost <= best && isfinite(cost)) {
                best = cost;
                point->entry = hint[i];
            }
        }
        if (point->entry < 0)
            point->entry = add_entry(pool, row->candidate.impl, choice->config);
        if (point->entry < 0)
            status = optune_fail(err, OPTUNE_ELIMIT, "too many configs in one table");
    }
    ot_choice_free(choice);
    ot_arena_release(&arena);
    return status;
}

static void say_point(ot_shaping *s, const ot_pool *pool, const ot_point *point)
{
    const ot_pool_entry *entry = &pool->entry[point->entry];
    ot_text config = {0};
    ot_config_print(&entry->config, &config);
    json_array_append_new(
        s->said,
        json_pack("{s:o, s:s, s:o, s:o}", "size", ot_sizes_json(&s->table->dims, point->size),
                  "impl", entry->impl->name, "config",
                  json_loads(ot_text_str(&config), 0, NULL), "cost",
                  isfinite(point->cost) ? json_real(point->cost) : json_null()));
    ot_text_release(&config);
}

int ot_point_tune(ot_shaping *s, ot_pool *pool, ot_point *point, const int *hint, int n_hints,
                  optune_err *err)
{
    const optune_impl *impls[8];
    const optune_config *configs[8];
    place *p = ot_alloc(sizeof *p);
    ot_tuned *tuned = ot_alloc(sizeof *tuned);
    ot_run *run = s->run;
    int status = find_place(s, pool->piece, point->size, p, err);
    n_hints = n_hints < OT_COUNT(impls) ? n_hints : OT_COUNT(impls);
    for (int i = 0; i < n_hints; i++) {
        impls[i] = pool->entry[hint[i]].impl;
        configs[i] = &pool->entry[hint[i]].config;
    }
    run->spot = (ot_tuning_spot){.n_hints = n_hints, .hint = impls, .hint_config = configs};
    if (!p->fixed) {
        run->spot.at = &p->at;
        run->spot.range = p->range;
        run->spot.policy = p->policy;
    }
    run->call[s->done] = pool->piece->call;
    if (status >= 0)
        status = ot_tune(run, s->done, s->point_s, tuned, err);
    s->done++;
    run->spot = (ot_tuning_spot){0};
    if (status >= 0)
        status = judge(s, p, pool, point, hint, n_hints, err);
    if (status >= 0)
        say_point(s, pool, point);
    free(tuned);
    free(p);
    return status;
}

/* ---- comparing --------------------------------------------------------------------------- */

static int smallest(const double *cost, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = cost[i] < cost[best] ? i : best;
    return best;
}

int ot_point_fastest(ot_shaping *s, const ot_pool *pool, const int64_t *size, const int *entry,
                     int n, int *fastest, optune_err *err)
{
    place *p = ot_alloc(sizeof *p);
    ot_arena arena = {0};
    ot_fact *fact = NULL;
    ot_contender who[OT_COUNT(pool->entry)];
    ot_trial_result result[OT_COUNT(pool->entry)];
    double cost[OT_COUNT(pool->entry)];
    int n_facts = 0;
    bool known = true;
    int status = find_place(s, pool->piece, size, p, err);
    if (status >= 0)
        status =
            ot_context_facts_at(s->o, &p->task, policy_of(p), &arena, &fact, &n_facts, err);
    for (int i = 0; i < n && status >= 0; i++) {
        const ot_pool_entry *e = &pool->entry[entry[i]];
        cost[i] = cost_of(fact, n_facts, e);
        known = known && isfinite(cost[i]);
        who[i] = (ot_contender){.task = &p->task,
                                .impl = e->impl,
                                .config = &e->config,
                                .at = p->fixed ? NULL : &p->at,
                                .range = p->fixed ? NULL : p->range,
                                .policy = policy_of(p)};
    }
    if (status >= 0 && !known) {
        status = ot_compare(s->run, who, n, s->compare_s * n, &arena, result, err);
        for (int i = 0; i < n && status >= 0; i++)
            cost[i] = result[i].outcome == OPTUNE_OUTCOME_OK ? result[i].cost : INFINITY;
    }
    if (status >= 0)
        *fastest = smallest(cost, n);
    ot_arena_release(&arena);
    free(p);
    return status;
}

/* ---- regret ------------------------------------------------------------------------------ */

typedef struct unseen {
    int64_t size[OT_MAX_SYMBOLS];
    double table, own; /* seconds of one run */
    const char *impl;  /* of its own tuning */
} unseen;

/* What the row's plan costs at the size against the best that tuning of this one shape finds,
 * both measured together. */
static int compare_one(ot_shaping *s, unseen *u, optune_err *err)
{
    const int row_at = ot_dispatch_find(s->table, u->size);
    const ot_dispatch_row *row = &s->table->row[row_at];
    ot_piece *piece = ot_alloc(sizeof *piece);
    place *p = ot_alloc(sizeof *p);
    ot_choice *choice = ot_alloc(sizeof *choice);
    ot_tuned *tuned = ot_alloc(sizeof *tuned);
    ot_arena arena = {0};
    ot_text range = {0};
    ot_fact *fact = NULL;
    int n = 0;
    int status = ot_call_narrow(&s->call, &row->range, &piece->call, err);
    ot_call_print(&piece->call, &range);
    piece->text = range.s;
    piece->fixed = ot_call_static(&piece->call);
    if (status >= 0)
        status = find_place(s, piece, u->size, p, err);
    const optune_task own = {&p->at, &s->o->target, &s->o->device};
    s->run->call[s->done] = p->at;
    if (status >= 0)
        status = ot_tune(s->run, s->done, s->point_s, tuned, err);
    s->done++;
    if (status >= 0)
        status = ot_context_facts(s->o, &own, &arena, &fact, &n, err);
    if (status >= 0)
        status = ot_select(&own, fact, n, choice, err);
    if (status >= 0) {
        const ot_contender who[] = {
            {.task = &p->task,
             .impl = row->impl,
             .config = &row->config,
             .at = piece->fixed ? NULL : &p->at,
             .range = piece->fixed ? NULL : p->range,
             .policy = policy_of(p)},
            {.task = &own,
             .impl = choice->row[choice->winner].candidate.impl,
             .config = choice->config},
        };
        ot_trial_result result[2];
        status = ot_compare(s->run, who, 2, 4 * s->compare_s, &arena, result, err);
        u->table = result[0].cost;
        u->own = result[1].cost;
        u->impl = who[1].impl->name;
    }
    ot_arena_release(&arena);
    ot_text_release(&range);
    free(tuned);
    ot_choice_free(choice);
    free(p);
    free(piece);
    return status;
}

static bool was_tuned(const ot_shaping *s, const int64_t *size)
{
    json_t *own = ot_sizes_json(&s->table->dims, size), *point;
    size_t i;
    bool found = false;
    json_array_foreach(s->said, i, point)
    {
        found = found || json_equal(json_object_get(point, "size"), own);
    }
    json_decref(own);
    return found;
}

/* Spread geometrically over the ranges, somewhere within each share. */
static bool choose_unseen(const ot_shaping *s, int k, uint64_t *rng, unseen *u)
{
    for (int tries = 0; tries < 20; tries++) {
        for (int i = 0; i < s->table->dims.n; i++) {
            const optune_dim *dim = &s->table->dims.dim[i];
            const int share = i ? (k * 3 + i) % s->shapes : k;
            const double lo = log((double)dim->min), hi = log((double)dim->max + 1);
            const double at = lo + (hi - lo) * (share + optune_random_unit(rng)) / s->shapes;
            int64_t size = (int64_t)exp(at);
            size = size < dim->min ? dim->min : size > dim->max ? dim->max : size;
            u->size[i] = size;
        }
        if (!was_tuned(s, u->size))
            return true;
    }
    return false;
}

int ot_regret_measure(ot_shaping *s, ot_text *said, optune_err *err)
{
    json_t *shapes = json_array();
    double ratio[64], worst = 0;
    uint64_t rng = s->options->seed + 1;
    int status = OPTUNE_OK, n = 0;
    for (int k = 0; k < s->shapes && status >= 0; k++) {
        unseen u;
        if (!choose_unseen(s, k, &rng, &u))
            continue;
        status = compare_one(s, &u, err);
        if (status < 0 || !isfinite(u.table) || !isfinite(u.own))
            continue;
        ratio[n] = u.table / u.own;
        worst = fmax(worst, ratio[n]);
        json_t *size = ot_sizes_json(&s->table->dims, u.size);
        char *text = json_dumps(size, JSON_COMPACT);
        ot_text_printf(said, "  %-24s table %.4g us, tuned alone %.4g us (%s): %+.1f %%\n",
                       text, u.table * 1e6, u.own * 1e6, u.impl, 100 * (ratio[n] - 1));
        free(text);
        json_array_append_new(shapes, json_pack("{s:o, s:f, s:f, s:s, s:f}", "size", size,
                                                "table", u.table, "own", u.own, "own_impl",
                                                u.impl, "regret", ratio[n] - 1));
        n++;
    }
    if (n) {
        const double mean = ot_geomean(ratio, n);
        ot_text_printf(
            said, "  regret over %d unseen shapes: geometric mean %+.1f %%, worst %+.1f %%\n",
            n, 100 * (mean - 1), 100 * (worst - 1));
        json_object_set_new(s->table->measured, "regret",
                            json_pack("{s:f, s:f, s:O}", "geomean", mean - 1, "worst",
                                      worst - 1, "shapes", shapes));
    }
    json_decref(shapes);
    return status;
}
