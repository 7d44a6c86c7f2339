/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection: Relay's policy with its holes closed. Among the valid implementations the tied set
 * of the smallest usable costs, broken by plevel, then by order; when nothing usable is known,
 * what a log of others recommends, else the highest plevel with its fallback config. It is
 * handed what is known and judges only whether a config means something in the present space:
 * neither a record's nor a fallback is ever returned that its implementation refuses.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

/* ---- what is known of one implementation ------------------------------------------------- */

typedef struct gathering {
    ot_arena *arena; /* of the rows; NULL: they get memory of their own */
    const optune_task *task;
    const ot_ranking *ranking;
    const ot_fact *fact;
    int n;
    ot_considered *candidate; /* asked when something hangs on it */
    bool constant;            /* all dims of the call are */
    bool strict;              /* every fact's config is looked up in the space */
    int n_measured, n_hinted; /* rows of which there are facts: of this machine, of others */
    unsigned char measured[OT_MAX_CANDIDATES], hinted[OT_MAX_CANDIDATES];
    bool *unfit; /* facts whose config the present space does not know; made when needed */
    char (*unfit_why)[OPTUNE_WHY_SIZE]; /* of the same, by fact; only unfit ones are written */
} gathering;

static bool about(const ot_fact *fact, const optune_impl *impl)
{
    return fact->impl ? fact->impl == impl
                      : fact->record.impl && strcmp(fact->record.impl, impl->name) == 0;
}

/* Most rows have none; a strategy may name an implementation in several. */
static void find_known(gathering *g, const ot_choice *choice)
{
    g->n_measured = g->n_hinted = 0;
    for (int row = 0; row < choice->n && g->n; row++) {
        bool measured = false, hinted = false;
        for (int i = 0; i < g->n && !(measured && hinted); i++)
            if (about(&g->fact[i], choice->row[row].candidate.impl))
                *(g->fact[i].currency == OT_HINT ? &hinted : &measured) = true;
        if (measured)
            g->measured[g->n_measured++] = (unsigned char)row;
        if (hinted)
            g->hinted[g->n_hinted++] = (unsigned char)row;
    }
}

static bool good(const ot_fact *fact)
{
    return fact->record.outcome == OPTUNE_OUTCOME_OK && isfinite(fact->record.cost) &&
           fact->record.cost > 0;
}

/* What may be compared: not history, and not another machine's. */
static bool usable(const ot_fact *fact)
{
    return good(fact) && fact->currency != OT_STALE && fact->currency != OT_HINT;
}

static bool better(const ot_fact *a, const ot_fact *b)
{
    if (!b)
        return true;
    if (a->record.final != b->record.final)
        return a->record.final;
    return a->record.cost < b->record.cost;
}

static ot_refusal ask(const gathering *g, ot_choice_row *row)
{
    if (row->candidate.refusal == OT_UNASKED)
        row->candidate.refusal = ot_considered_ask(g->task, g->ranking->strategy, g->candidate,
                                                   row->candidate.order, g->constant);
    return row->candidate.refusal;
}

/* The space of an implementation that refuses the call is not asked for: it may rely on what
 * was refused. */
static bool has_space(const gathering *g, ot_choice_row *row)
{
    const ot_refusal refusal = ask(g, row);
    return refusal == OT_VALID || refusal == OT_REFUSED_LIBRARY;
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
        g->unfit = ot_alloc((size_t)g->n * sizeof *g->unfit);
        g->unfit_why = ot_alloc((size_t)g->n * sizeof *g->unfit_why);
    }
    g->unfit[i] = true;
    memcpy(g->unfit_why[i], why, OPTUNE_WHY_SIZE);
}

static int best_usable(const gathering *g, const optune_impl *impl)
{
    int best = -1;
    for (int i = 0; i < g->n; i++) {
        const ot_fact *fact = &g->fact[i];
        if (about(fact, impl) && usable(fact) && !(g->unfit && g->unfit[i]) &&
            better(fact, best < 0 ? NULL : &g->fact[best]))
            best = i;
    }
    return best;
}

/* The best fact that can be used; those that no longer fit are set aside as stale. */
static void find_fact(gathering *g, ot_choice_row *row)
{
    const optune_impl *impl = row->candidate.impl;
    optune_space *space = NULL;
    int best = best_usable(g, impl);
    if (g->strict && best >= 0 && has_space(g, row)) {
        optune_err err = {0};
        const bool open = ot_space_open(g->task, impl, &space, &err) >= 0;
        while (best >= 0) {
            char why[OPTUNE_WHY_SIZE] = "";
            optune_config config;
            ot_config_copy(&config, &g->fact[best].record.config);
            if (open ? fits(space, &config, why) : optune_refuse(why, "%s", err.text))
                break;
            set_aside(g, best, why);
            best = best_usable(g, impl);
        }
    }
    ot_space_close(space);
    row->fact = best < 0 ? NULL : &g->fact[best];
}

static void find_others(const gathering *g, ot_arena *texts, ot_choice_row *row)
{
    int stale = -1;
    for (int i = 0; i < g->n; i++) {
        const ot_fact *fact = &g->fact[i];
        if (!about(fact, row->candidate.impl) || fact->currency == OT_HINT)
            continue;
        if (fact->record.outcome != OPTUNE_OUTCOME_OK) {
            row->n_failed += 1 + fact->alike;
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
    if (row->stale->currency != OT_STALE)
        row->unfit_why = ot_arena_copy(texts, g->unfit_why[stale]);
}

const char *ot_choice_stale_why(const ot_choice_row *row, char *why)
{
    return row->unfit_why[0] || !row->stale ? row->unfit_why : ot_fact_why(row->stale, why);
}

/* ---- choosing ---------------------------------------------------------------------------- */

static bool precedes(const ot_considered *a, const ot_considered *b)
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

/* Whether it can be chosen untuned. A library that is not named here is not, whatever else may be
 * said of it. */
static bool may_serve(const gathering *g, const ot_choice_row *row)
{
    const optune_impl *impl = row->candidate.impl;
    const ot_refusal refusal = row->candidate.refusal;
    return refusal == OT_VALID ||
           (refusal == OT_UNASKED &&
            !(impl->library && !optune_target_has_lib(g->task->target, impl->library)));
}

/* The first of the highest plevel whose fallback was not refused; `sound`: of those that have not
 * only failed. */
static int by_level(const gathering *g, const ot_choice *choice, bool sound)
{
    for (int i = 0; i < choice->n; i++) {
        const int best = g->ranking->by_level[i];
        ot_choice_row *row = &choice->row[best];
        if (may_serve(g, row) && !row->fallback_why[0] && !(sound && row->failed) &&
            ask(g, row) == OT_VALID)
            return best;
    }
    return -1;
}

/* Of those with a fact it is known. */
static bool competes(const ot_choice_row *row)
{
    return row->fact && row->candidate.refusal == OT_VALID;
}

/* Medians that differ by more are no tie, however wide noise has made their intervals. Measuring
 * goes on until an interval is 2 % wide: intervals that got there and overlap have such medians. */
static const double TIE = 1.03;

static bool ties(const optune_record *r, const optune_record *fastest)
{
    return low_of(r) <= high_of(fastest) && high_of(r) >= low_of(fastest) &&
           r->cost <= fastest->cost * TIE;
}

/* Marks the tied set and returns the winner in it; -1: nothing is known. */
static int by_cost(const gathering *g, ot_choice *choice)
{
    const optune_record *fastest = NULL;
    for (int i = 0; i < g->n_measured; i++) {
        const ot_choice_row *row = &choice->row[g->measured[i]];
        if (competes(row) && (!fastest || row->fact->record.cost < fastest->cost))
            fastest = &row->fact->record;
    }
    int best = -1;
    for (int i = 0; fastest && i < g->n_measured; i++) {
        ot_choice_row *row = &choice->row[g->measured[i]];
        if (!competes(row))
            continue;
        row->tied = ties(&row->fact->record, fastest);
        if (row->tied && (best < 0 || precedes(&row->candidate, &choice->row[best].candidate)))
            best = g->measured[i];
    }
    return best;
}

/* Every refusal, that of a fallback config by its own implementation among them. */
static int nothing_valid(const optune_task *task, const ot_choice *choice, optune_err *err)
{
    ot_candidate *candidate = ot_alloc((size_t)(choice->n + 1) * sizeof *candidate);
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *row = &choice->row[i];
        candidate[i] = (ot_candidate){.impl = row->candidate.impl,
                                      .plevel = row->candidate.plevel,
                                      .order = row->candidate.order,
                                      .refusal = row->candidate.refusal};
        ot_choice_why(task, choice, i, candidate[i].why);
        if (row->fallback_why[0]) {
            candidate[i].refusal = OT_REFUSED_APPLIES;
            optune_refuse(candidate[i].why, "its fallback config is refused: %.160s",
                          row->fallback_why);
        }
    }
    const int status = ot_nothing_valid(task, candidate, choice->n, err);
    free(candidate);
    return status;
}

/* The fact's config, its own or in `room`; NULL: it is not in the space. */
static const optune_config *in_space(const optune_task *task, const ot_choice_row *row,
                                     const ot_fact *fact, optune_config *room)
{
    const optune_config *config = &fact->record.config;
    if (fact->currency == OT_HINT) {
        ot_config_copy(room, config);
        room->index = -1; /* of whatever space it was measured in */
        config = room;
    }
    return ot_space_has(task, row->candidate.impl, config, room);
}

/* The fallback of an implementation, asked once: false when it cannot be used. */
static bool has_fallback(const optune_task *task, ot_arena *texts, ot_choice_row *row,
                         optune_config *config)
{
    char why[OPTUNE_WHY_SIZE];
    why[0] = '\0';
    const bool usable = ot_task_fallback(task, row->candidate.impl, config, why);
    if (!usable)
        row->fallback_why = ot_arena_copy(texts, why[0] ? why : "its `valid` does not say why");
    return usable;
}

/* ---- hints ------------------------------------------------------------------------------- */

/* Whether arithmetic knows no better: nobody looked at this device when the config was found, and
 * the log of a few trials recommends the best of a few. One that the implementation's own estimate
 * has take that much longer here than its fallback is for a search to try, not to be used. */
enum { HINT_AT_MOST = 2 };
static bool promises(const optune_space *space, const optune_config *config, char *why)
{
    optune_config own;
    const double said = ot_space_estimate(space, config);
    if (!(said > 0) || !ot_space_fallback(space, &own, NULL))
        return true;
    const double untuned = ot_space_estimate(space, &own);
    return !(untuned > 0) || said <= HINT_AT_MOST * untuned ||
           optune_refuse(why,
                         "its config is estimated to take %.3g times what the fallback config "
                         "takes here",
                         said / untuned);
}

/* The first hint of a row whose config is one of the present space, valid there, and promises
 * something. */
static void find_hint(const gathering *g, ot_arena *texts, ot_choice_row *row)
{
    optune_space *space = NULL;
    bool found = false;
    if (ask(g, row) != OT_VALID)
        return;
    optune_err err = {0};
    const bool open = ot_space_open(g->task, row->candidate.impl, &space, &err) >= 0;
    for (int i = 0; i < g->n && !found; i++) {
        char why[OPTUNE_WHY_SIZE] = "";
        optune_config config;
        if (g->fact[i].currency != OT_HINT || !about(&g->fact[i], row->candidate.impl))
            continue;
        ot_config_copy(&config, &g->fact[i].record.config);
        found = open ? fits(space, &config, why) && promises(space, &config, why)
                     : optune_refuse(why, "%s", err.text);
        if (found || !row->hint) {
            row->hint = &g->fact[i];
            row->hint_why = ot_arena_copy(texts, why);
        }
    }
    ot_space_close(space);
}

/* Nothing usable is known, but a log of others recommends something: the first of what it says, in
 * the order in which hints are given, that fits and has not only failed here. */
static bool choose_hinted(const optune_task *task, ot_choice *choice, optune_config *config)
{
    ot_choice_row *best = NULL;
    for (int i = 0; i < choice->n; i++) {
        ot_choice_row *row = &choice->row[i];
        const bool serves = row->hint && !row->hint_why[0] && !row->failed;
        if (serves && (!best || row->hint < best->hint))
            best = row;
    }
    if (!best || !in_space(task, best, best->hint, config))
        return false;
    choice->tier = OT_TIER_HINTED;
    choice->winner = (int)(best - choice->row);
    best->winner = true;
    return true;
}

/* Nothing usable is known: by plevel, whoever has a fallback that it accepts itself. Only who would
 * be chosen is asked, as opening a space costs more than all the rest. */
static int choose_untuned(const gathering *g, ot_choice *choice, optune_config *config,
                          optune_err *err)
{
    choice->tier = OT_TIER_PLEVEL;
    do {
        const ot_choice_row *plain = &choice->row[choice->default_row];
        if (plain->fallback_why[0])
            choice->default_row = by_level(g, choice, false);
        const int sound = plain->fallback_why[0] || plain->failed ? by_level(g, choice, true)
                                                                  : choice->default_row;
        choice->winner = sound < 0 ? choice->default_row : sound;
        if (choice->winner < 0)
            return nothing_valid(g->task, choice, err);
    } while (!has_fallback(g->task, &choice->texts, &choice->row[choice->winner], config));
    choice->row[choice->winner].winner = true;
    return OPTUNE_OK;
}

/* The tied set is drawn around the fastest, so it has to fit as well as the winner. */
static bool fastest_fits(const gathering *g, const ot_choice *choice)
{
    const ot_choice_row *fastest = &choice->row[choice->winner];
    for (int i = 0; i < g->n_measured; i++) {
        const ot_choice_row *row = &choice->row[g->measured[i]];
        if (competes(row) && row->fact->record.cost < fastest->fact->record.cost)
            fastest = row;
    }
    optune_config config;
    return fastest == &choice->row[choice->winner] ||
           in_space(g->task, fastest, fastest->fact, &config);
}

/* 1: a config that was trusted does not fit. */
static int choose(gathering *g, int n, ot_choice *choice, optune_err *err)
{
    ot_choice_release(choice);
    /* The config lies behind the rows. */
    const size_t rows = (size_t)n * sizeof *choice->row;
    optune_config *config;
    const size_t size = rows + sizeof *config;
    char *memory = g->arena ? ot_arena_raw(g->arena, size) : ot_alloc_raw(size);
    config = (optune_config *)(void *)(memory + rows);
    *choice = (ot_choice){.winner = -1,
                          .default_row = -1,
                          .n = n,
                          .row = memset(memory, 0, rows),
                          .lent = g->arena,
                          .config = config,
                          .strategy = g->ranking->strategy,
                          .strict = g->strict,
                          .unread_why = ""};
    for (int i = 0; i < n; i++) {
        ot_choice_row *row = &choice->row[i];
        row->candidate = g->candidate[i];
        row->hint_why = row->unfit_why = row->fallback_why = "";
    }
    find_known(g, choice);
    for (int i = 0; i < g->n_measured; i++) {
        ot_choice_row *row = &choice->row[g->measured[i]];
        find_fact(g, row);
        find_others(g, &choice->texts, row);
        if (row->fact)
            ask(g, row);
    }
    choice->winner = by_cost(g, choice);
    if (choice->winner < 0) {
        choice->default_row = by_level(g, choice, false);
        if (choice->default_row < 0)
            return nothing_valid(g->task, choice, err);
    }
    for (int i = 0; i < g->n_hinted; i++)
        find_hint(g, &choice->texts, &choice->row[g->hinted[i]]);
    if (choice->winner < 0 && choose_hinted(g->task, choice, config))
        return OPTUNE_OK;
    if (choice->winner < 0)
        return choose_untuned(g, choice, config, err);
    ot_choice_row *winner = &choice->row[choice->winner];
    choice->config = in_space(g->task, winner, winner->fact, config);
    if (!choice->config || (!g->strict && !fastest_fits(g, choice)))
        return 1;
    choice->tier =
        winner->fact->currency == OT_UNVERIFIABLE ? OT_TIER_UNVERIFIED : OT_TIER_TUNED;
    winner->winner = true;
    return OPTUNE_OK;
}

ot_refusal ot_choice_refusal(const optune_task *task, const ot_choice *choice, int i)
{
    ot_considered considered[OT_MAX_CANDIDATES];
    if (choice->row[i].candidate.refusal != OT_UNASKED)
        return choice->row[i].candidate.refusal;
    for (int k = 0; k <= i; k++)
        considered[k] = choice->row[k].candidate;
    return ot_considered_ask(task, choice->strategy, considered, i, ot_call_static(task->call));
}

int ot_choice_default(const optune_task *task, const ot_choice *choice)
{
    int best = choice->default_row;
    if (best >= 0)
        return best;
    for (int i = 0; i < choice->n; i++)
        if ((best < 0 || precedes(&choice->row[i].candidate, &choice->row[best].candidate)) &&
            ot_choice_refusal(task, choice, i) == OT_VALID)
            best = i;
    return best;
}

void ot_choice_why(const optune_task *task, const ot_choice *choice, int i, char *why)
{
    ot_considered considered[OT_MAX_CANDIDATES];
    for (int k = 0; k <= i; k++)
        considered[k] = choice->row[k].candidate;
    const bool constant = ot_call_static(task->call);
    for (int k = 0; k <= i; k++)
        ot_considered_ask(task, choice->strategy, considered, k, constant);
    ot_considered_why(task, choice->strategy, considered, i, why);
}

void ot_choice_release(ot_choice *choice)
{
    if (!choice->lent)
        free(choice->row);
    ot_arena_release(&choice->texts);
    choice->row = NULL;
    choice->n = 0;
}

void ot_choice_free(ot_choice *choice)
{
    if (choice)
        ot_choice_release(choice);
    free(choice);
}

/* A usable fact is of the present implementation, call and device, so its config fits the
 * present space; only forged or foreign ones do not. Opening a space costs more than all the
 * rest: first only what decides is looked up, and all when that is a surprise. */
int ot_select_in(ot_arena *arena, const optune_task *task, const ot_fact *fact, int n_facts,
                 ot_choice *choice, optune_err *err)
{
    ot_considered candidate[OT_MAX_CANDIDATES];
    gathering g = {.arena = arena,
                   .task = task,
                   .fact = fact,
                   .n = n_facts,
                   .candidate = candidate,
                   .constant = ot_call_static(task->call)};
    int n = 0;
    *choice = (ot_choice){.winner = -1, .default_row = -1, .unread_why = ""};
    int status = ot_consider_rows(task, &g.ranking, candidate, &n, err);
    if (status >= 0)
        status = choose(&g, n, choice, err);
    if (status == 1) {
        g.strict = true;
        status = choose(&g, n, choice, err);
        if (status == 1)
            status = optune_fail(err, OPTUNE_ENOENT,
                                 "the space of '%s' is another each time it is opened",
                                 choice->row[choice->winner].candidate.impl->name);
    }
    free(g.unfit);
    free(g.unfit_why);
    return status;
}

int ot_select(const optune_task *task, const ot_fact *fact, int n_facts, ot_choice *choice,
              optune_err *err)
{
    return ot_select_in(NULL, task, fact, n_facts, choice, err);
}
