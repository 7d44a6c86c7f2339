/* SPDX-License-Identifier: Apache-2.0 */
/* Records that go: from the logs first, as they are the truth, then from the store. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "db/prune.h"

enum { AT_ONCE = 1024 }; /* records dropped in one transaction */

/* ---- which ------------------------------------------------------------------------------- */

typedef struct trial {
    ot_digest question, digest;
    uint64_t config; /* of implementation and config */
    double time;
    bool good, final;
    unsigned decides; /* a bit for each of `deciding` that it has */
} trial;

static const char *const deciding[] = {OT_CHOSEN, OT_LAYOUTS, OT_SITES};

typedef struct trials {
    trial *trial;
    int64_t n, capacity;
} trials;

static unsigned decides(const optune_record *r)
{
    char text[1 << 14]; /* a graph's layouts are long */
    unsigned bits = 0;
    for (int i = 0; i < OT_COUNT(deciding) && r->counters; i++)
        bits |= ot_lines_get(r->counters, deciding[i], text, sizeof text) ? 1u << i : 0;
    return bits;
}

static int collect(void *arg, const optune_record *r)
{
    trials *all = arg;
    if (all->n == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 1024;
        all->trial = realloc(all->trial, (size_t)all->capacity * sizeof *all->trial);
        if (!all->trial)
            abort();
    }
    const ot_question asked = {
        .device = r->device, .target = r->target, .call = r->call, .policy = r->policy};
    ot_text config = {0};
    ot_text_printf(&config, "%s\n%s\n%s\n", r->impl ? r->impl : "", r->digest ? r->digest : "",
                   r->depends ? r->depends : "");
    ot_config_print(&r->config, &config);
    all->trial[all->n++] = (trial){
        .question = ot_question_digest(&asked),
        .digest = ot_record_digest(r),
        .config = ot_hash64(config.s, config.n),
        .time = r->time,
        .good = r->outcome == OPTUNE_OUTCOME_OK,
        .final = r->final,
        .decides = decides(r)};
    ot_text_release(&config);
    return OPTUNE_OK;
}

static bool same_kind(const trial *a, const trial *b)
{
    return memcmp(&a->question, &b->question, sizeof a->question) == 0 &&
           a->config == b->config && a->good == b->good && a->final == b->final;
}

/* Measurements of one thing side by side, the newest first. */
static int by_kind(const void *x, const void *y)
{
    const trial *a = x, *b = y;
    const int question = memcmp(&a->question, &b->question, sizeof a->question);
    if (question)
        return question;
    if (a->config != b->config)
        return a->config < b->config ? -1 : 1;
    if (a->good != b->good || a->final != b->final)
        return (a->good * 2 + a->final) - (b->good * 2 + b->final);
    return (a->time < b->time) - (a->time > b->time);
}

/* The newest first. */
static int by_time(const void *x, const void *y)
{
    const trial *a = *(const trial *const *)x, *b = *(const trial *const *)y;
    return a->time != b->time ? (a->time < b->time) - (a->time > b->time)
                              : memcmp(&a->digest, &b->digest, sizeof a->digest);
}

/* Of one question those that newer ones of the same config replaced: `history` of them stay. */
static void end_question(ot_pruning *p, const trial **old, int64_t *n, int64_t history)
{
    if (*n > history)
        qsort(old, (size_t)*n, sizeof *old, by_time);
    for (int64_t i = history < 0 ? *n : history; i < *n; i++)
        p->gone[p->n_gone++] = (ot_going){.digest = old[i]->digest, .old = true};
    *n = 0;
}

/* When the choices for a graph were made that count: of the question whose first trial `at` is. */
static void newest_choices(const trials *all, int64_t at, double time[OT_COUNT(deciding)])
{
    const trial *first = &all->trial[at];
    for (int k = 0; k < OT_COUNT(deciding); k++)
        time[k] = -INFINITY;
    for (int64_t i = at; i < all->n; i++) {
        const trial *t = &all->trial[i];
        if (memcmp(&t->question, &first->question, sizeof t->question) != 0)
            break;
        for (int k = 0; k < OT_COUNT(deciding); k++)
            if (t->good && t->decides >> k & 1 && t->time > time[k])
                time[k] = t->time;
    }
}

static bool is_choice(const trial *t, const double time[OT_COUNT(deciding)])
{
    bool is = false;
    for (int k = 0; k < OT_COUNT(deciding); k++)
        is = is || (t->decides >> k & 1 && t->time >= time[k]);
    return is;
}

/* Of each config's measurements the newest stays, or several where they are of one time; of those
 * chosen for a graph, too; and of all of a question so many older ones. What failed among finalists
 * refutes others and stays. */
static void choose(ot_pruning *p, const trials *all, int64_t history, double days)
{
    const double since = ot_unix_time() - days * 86400;
    const trial **old = ot_alloc((size_t)(all->n + 1) * sizeof *old);
    int64_t n_old = 0;
    double newest = 0, choice[OT_COUNT(deciding)]; /* of its kind; of its question */
    p->gone = ot_alloc((size_t)(all->n + 1) * sizeof *p->gone);
    if (all->n)
        qsort(all->trial, (size_t)all->n, sizeof *all->trial, by_kind);
    for (int64_t i = 0; i < all->n; i++) {
        const trial *t = &all->trial[i];
        if (!i || memcmp(&t->question, &t[-1].question, sizeof t->question) != 0) {
            end_question(p, old, &n_old, history);
            newest_choices(all, i, choice);
        }
        if (!i || !same_kind(t, t - 1))
            newest = t->time;
        if (t->good && history >= 0 && t->time < newest && !is_choice(t, choice))
            old[n_old++] = t;
        if (!t->good && !t->final && days >= 0 && t->time < since)
            p->gone[p->n_gone++] = (ot_going){.digest = t->digest};
    }
    end_question(p, old, &n_old, history);
    free(old);
    ot_prune_sort(p);
}

/* ---- removing ---------------------------------------------------------------------------- */

/* The store after the logs; who forgets drops also what a log that is left alone has. What was
 * found in none may be in one that cannot be read here, and would come back from there. */
static int drop(ot_pruning *p)
{
    ot_digest digest[AT_ONCE];
    int n = 0, status = OPTUNE_OK;
    for (int64_t i = 0; status >= 0 && i < p->n_gone; i++) {
        const ot_going *g = &p->gone[i];
        if (p->forget || (!g->stays && (g->found || !p->pruned->unread))) {
            digest[n++] = g->digest;
            p->pruned->history += !p->forget && g->old;
            p->pruned->failures += !p->forget && !g->old;
        }
        if (n == AT_ONCE || (n && i + 1 == p->n_gone)) {
            status = ot_store_drop(p->store, digest, n, p->forget, p->err);
            n = 0;
        }
    }
    return status;
}

int ot_prune_remove(ot_pruning *p)
{
    int status = p->n_gone ? ot_prune_logs(p) : OPTUNE_OK;
    if (status >= 0)
        status = drop(p);
    if (status >= 0 && p->failed.status)
        status = optune_fail(p->err, p->failed.status, "%s", p->failed.text);
    for (int i = 0; i < p->n_logs; i++)
        free((char *)(uintptr_t)p->log[i].name);
    for (int i = 0; i < p->n_left; i++)
        free(p->left[i]);
    free(p->log);
    free(p->left);
    return status;
}

int ot_store_prune(ot_store *store, int64_t history, double days, ot_pruned *pruned,
                   optune_err *err)
{
    ot_pruning p = {.store = store, .pruned = pruned, .err = err};
    trials all = {0};
    int64_t added;
    *pruned = (ot_pruned){0};
    /* What the logs know and the store does not would come back later. */
    int status = ot_store_recover(store, false, &added, err);
    if (status >= 0 && ot_store_gone(store))
        status = optune_fail(err, OPTUNE_ESTORE, "the store was made anew: prune it again");
    if (status >= 0)
        status = ot_store_walk(store, collect, &all, err);
    if (status >= 0) {
        choose(&p, &all, history, days);
        status = ot_prune_remove(&p);
    }
    free(all.trial);
    free(p.gone);
    return status;
}
