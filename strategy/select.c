/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection: Relay's policy with its holes closed. Among the valid implementations the tied set
 * of the smallest usable costs, broken by plevel, then by order; when nothing usable is known,
 * the highest plevel with its fallback config. It is handed what is known and judges only
 * whether a record's config still means something in the present space.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

/* ---- what is known of one implementation ------------------------------------------------- */

typedef struct gathering {
    const optune_task *task;
    const ot_fact *fact;
    int n;
    bool strict; /* every fact's config is looked up in the space */
    bool *unfit; /* facts whose config the present space does not know; made when needed */
    char (*unfit_why)[OPTUNE_WHY_SIZE]; /* of the same, by fact; only unfit ones are written */
} gathering;

static bool about(const ot_fact *fact, const optune_impl *impl)
{
    return fact->record.impl && strcmp(fact->record.impl, impl->name) == 0;
}

static bool good(const ot_fact *fact)
{
    return fact->record.outcome == OPTUNE_OUTCOME_OK && isfinite(fact->record.cost) &&
           fact->record.cost > 0;
}

static bool better(const ot_fact *a, const ot_fact *b)
{
    if (!b)
        return true;
    if (a->record.final != b->record.final)
        return a->record.final;
    return a->record.cost < b->record.cost;
}

/* The space of an implementation that refuses the call is not asked for: it may rely on what
 * was refused. */
static bool has_space(const ot_candidate *candidate)
{
    return candidate->refusal == OT_VALID || candidate->refusal == OT_REFUSED_LIBRARY;
}

static bool fits(const optune_space *space, optune_config *config, char *why)
{
    optune_err err = {0};
    char reason[OPTUNE_WHY_SIZE] = "";
    if (ot_space_index_of(space, config, &err) < 0)
        return optune_refuse(why, "its config is not in the present space: %s", err.text);
    if (!ot_space_valid(space, config, reason))
        return optune_refuse(why, "its config is no longer valid: %s", reason);
    return true;
}

static void set_aside(gathering *g, int i, const char *why)
{
    if (!g->unfit) {
        g->unfit = ot_alloc((size_t)g->n * sizeof(*g->unfit));
        g->unfit_why = ot_alloc((size_t)g->n * sizeof(*g->unfit_why));
    }
    g->unfit[i] = true;
    memcpy(g->unfit_why[i], why, OPTUNE_WHY_SIZE);
}

static int best_usable(const gathering *g, const optune_impl *impl)
{
    int best = -1;
    for (int i = 0; i < g->n; i++) {
        const ot_fact *fact = &g->fact[i];
        if (about(fact, impl) && good(fact) && fact->currency != OT_STALE &&
            !(g->unfit && g->unfit[i]) && better(fact, best < 0 ? NULL : &g->fact[best]))
            best = i;
    }
    return best;
}

/* The best fact that can be used; those that no longer fit are set aside as stale. */
static int find_fact(gathering *g, ot_choice_row *row, optune_err *err)
{
    const optune_impl *impl = row->candidate.impl;
    optune_space *space = NULL;
    int best = best_usable(g, impl), rc = OPTUNE_OK;
    if (g->strict && best >= 0 && has_space(&row->candidate)) {
        rc = ot_space_open(g->task, impl, &space, err);
        while (rc >= 0 && best >= 0) {
            char why[OPTUNE_WHY_SIZE] = "";
            optune_config config = g->fact[best].record.config;
            if (fits(space, &config, why))
                break;
            set_aside(g, best, why);
            best = best_usable(g, impl);
        }
    }
    ot_space_close(space);
    row->fact = best < 0 ? NULL : &g->fact[best];
    return rc;
}

static void find_others(const gathering *g, ot_choice_row *row)
{
    int stale = -1;
    for (int i = 0; i < g->n; i++) {
        const ot_fact *fact = &g->fact[i];
        if (!about(fact, row->candidate.impl))
            continue;
        if (fact->record.outcome != OPTUNE_OUTCOME_OK) {
            row->n_failed++;
            if (!row->failed || fact->record.time > row->failed->record.time)
                row->failed = fact;
        } else if (good(fact) && (fact->currency == OT_STALE || (g->unfit && g->unfit[i])) &&
                   better(fact, stale < 0 ? NULL : &g->fact[stale])) {
            stale = i;
        }
    }
    if (row->fact)
        row->failed = NULL;
    if (stale < 0)
        return;
    row->stale = &g->fact[stale];
    const bool unfit = row->stale->currency != OT_STALE;
    memcpy(row->stale_why, unfit ? g->unfit_why[stale] : row->stale->why, OPTUNE_WHY_SIZE);
}

/* ---- choosing ---------------------------------------------------------------------------- */

static bool precedes(const ot_candidate *a, const ot_candidate *b)
{
    return a->plevel != b->plevel ? a->plevel > b->plevel : a->order < b->order;
}

/* A record without an interval (a log of others) stands for its cost alone. */
static double low_of(const optune_record *r)
{
    return r->low > 0 && r->low <= r->cost ? r->low : r->cost;
}

static double high_of(const optune_record *r)
{
    return r->high >= r->cost ? r->high : r->cost;
}

/* The first of the highest plevel; `sound`: of those that have not only failed. */
static int by_level(const ot_choice *choice, bool sound)
{
    int best = -1;
    for (int i = 0; i < choice->n; i++)
        if (choice->row[i].candidate.refusal == OT_VALID && !(sound && choice->row[i].failed) &&
            (best < 0 || precedes(&choice->row[i].candidate, &choice->row[best].candidate)))
            best = i;
    return best;
}

static bool competes(const ot_choice_row *row)
{
    return row->candidate.refusal == OT_VALID && row->fact;
}

/* Marks the tied set and returns the winner in it; -1: nothing is known. */
static int by_cost(ot_choice *choice)
{
    const optune_record *fastest = NULL;
    for (int i = 0; i < choice->n; i++)
        if (competes(&choice->row[i]) &&
            (!fastest || choice->row[i].fact->record.cost < fastest->cost))
            fastest = &choice->row[i].fact->record;
    int best = -1;
    for (int i = 0; fastest && i < choice->n; i++) {
        ot_choice_row *row = &choice->row[i];
        if (!competes(row))
            continue;
        row->tied = low_of(&row->fact->record) <= high_of(fastest) &&
                    high_of(&row->fact->record) >= low_of(fastest);
        if (row->tied && (best < 0 || precedes(&row->candidate, &choice->row[best].candidate)))
            best = i;
    }
    return best;
}

static int nothing_valid(const optune_task *task, const ot_choice *choice, optune_err *err)
{
    ot_text text = {0};
    for (int i = 0; i < choice->n; i++)
        ot_text_printf(&text, "%s%s: %s", i ? "; " : "", choice->row[i].candidate.impl->name,
                       choice->row[i].candidate.why);
    const int rc =
        optune_fail(err, OPTUNE_ENOENT, "no valid implementation of '%s' for target '%s'; %s",
                    task->call->op->name, task->target->kind, ot_text_str(&text));
    ot_text_release(&text);
    return rc;
}

static bool in_space(const optune_task *task, const ot_choice_row *row, optune_config *config)
{
    optune_space *space = NULL;
    *config = row->fact->record.config;
    const bool fit = ot_space_open(task, row->candidate.impl, &space, NULL) >= 0 &&
                     fits(space, config, NULL);
    ot_space_close(space);
    return fit;
}

/* The winner's config: of its record, or its fallback. */
static int settle(const optune_task *task, ot_choice *choice, optune_err *err)
{
    const ot_choice_row *winner = &choice->row[choice->winner];
    optune_space *space = NULL;
    if (choice->tier != OT_TIER_PLEVEL)
        return in_space(task, winner, &choice->config) ? OPTUNE_OK : 1;
    const int rc = ot_space_open(task, winner->candidate.impl, &space, err);
    if (rc >= 0)
        ot_space_fallback(space, &choice->config);
    ot_space_close(space);
    return rc;
}

/* The tied set is drawn around the fastest, so it has to fit as well as the winner. */
static bool fastest_fits(const optune_task *task, const ot_choice *choice)
{
    const ot_choice_row *fastest = &choice->row[choice->winner];
    for (int i = 0; i < choice->n; i++)
        if (competes(&choice->row[i]) &&
            choice->row[i].fact->record.cost < fastest->fact->record.cost)
            fastest = &choice->row[i];
    optune_config config;
    return fastest == &choice->row[choice->winner] || in_space(task, fastest, &config);
}

/* 1: a config that was trusted does not fit. */
static int choose(gathering *g, const ot_candidate *candidate, int n, ot_choice *choice,
                  optune_err *err)
{
    *choice = (ot_choice){.winner = -1, .n = n};
    for (int i = 0; i < n; i++) {
        choice->row[i].candidate = candidate[i];
        const int rc = find_fact(g, &choice->row[i], err);
        if (rc < 0)
            return rc;
        find_others(g, &choice->row[i]);
    }
    choice->default_row = by_level(choice, false);
    if (choice->default_row < 0)
        return nothing_valid(g->task, choice, err);
    choice->winner = by_cost(choice);
    choice->tier = OT_TIER_TUNED;
    if (choice->winner < 0) {
        const int sound = by_level(choice, true);
        choice->winner = sound < 0 ? choice->default_row : sound;
        choice->tier = OT_TIER_PLEVEL;
    } else if (!g->strict && !fastest_fits(g->task, choice)) {
        return 1;
    } else if (choice->row[choice->winner].fact->currency == OT_UNVERIFIABLE) {
        choice->tier = OT_TIER_UNVERIFIED;
    }
    choice->row[choice->winner].winner = true;
    return settle(g->task, choice, err);
}

/* A usable fact is of the present implementation, call and device, so its config fits the
 * present space; only forged or foreign ones do not. Opening a space costs more than all the
 * rest: first only what decides is looked up, and all when that is a surprise. */
int ot_select(const optune_task *task, const ot_fact *fact, int n_facts, ot_choice *choice,
              optune_err *err)
{
    ot_candidate *candidate = ot_alloc(OT_MAX_CANDIDATES * sizeof(*candidate));
    gathering g = {.task = task, .fact = fact, .n = n_facts};
    int n = 0;
    *choice = (ot_choice){.winner = -1};
    int rc = ot_candidates(task, candidate, &n, err);
    if (rc >= 0)
        rc = choose(&g, candidate, n, choice, err);
    if (rc == 1) {
        g.strict = true;
        rc = choose(&g, candidate, n, choice, err);
        assert(rc != 1);
    }
    free(candidate);
    free(g.unfit);
    free(g.unfit_why);
    return rc;
}
