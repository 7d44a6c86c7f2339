/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store knows of a task, judged against the present: each thing a record depends on is
 * the same (current), has changed (stale: history and a hint, never selected), or cannot be told
 * here (unverifiable: selected, and labelled so). What was refuted or measured again later is
 * history, too. Where none of these decides, what logs of others say of the call is added
 * (hints.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/record.h"
#include "run/run.h"

/* Compares the "name=value" lines that `names` has; the first difference goes to `why`. */
static bool same_values(const char *names, const char *then, const char *now, char *why)
{
    for (const char *line = names; line && *line;) {
        const size_t n = strcspn(line, "\n");
        char name[OPTUNE_NAME_SIZE], was[512], is[512];
        const size_t eq = strcspn(line, "=\n");
        snprintf(name, sizeof name, "%.*s", (int)(eq < n ? eq : n), line);
        if (!ot_lines_get(then, name, was, sizeof was))
            ot_copy(was, sizeof was, "nothing");
        if (!ot_lines_get(now, name, is, sizeof is))
            ot_copy(is, sizeof is, "nothing");
        if (strcmp(was, is))
            return optune_refuse(why, "%s was %.80s, is %.80s", name, was, is);
        line += n + (line[n] == '\n');
    }
    return true;
}

static bool same_depends(const char *then, const char *now, char *why)
{
    then = then ? then : "";
    return !strcmp(then, now) ||
           (same_values(then, then, now, why) && same_values(now, then, now, why));
}

/* What is asked for once per implementation and question; dependencies once per library. */
typedef struct known {
    const optune_impl *impl;
    char digest[33];
    const char *depends;
} known;
typedef struct knowing {
    optune *o;
    const optune_task *task;
    const char *policy; /* of the records */
    ot_arena *arena;
    int n;
    known item[OT_MAX_CANDIDATES];
} knowing;

static bool same_library(const optune_impl *a, const optune_impl *b)
{
    return a->library == b->library ||
           (a->library && b->library && strcmp(a->library, b->library) == 0);
}

/* NULL: there is no such implementation in this version. */
static const known *know(knowing *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->item[i].impl->name, name) == 0)
            return &all->item[i];
    const optune_impl *impl = ot_impl_find(name);
    if (!impl)
        return NULL;
    known *k = &all->item[all->n < OT_MAX_CANDIDATES ? all->n++ : OT_MAX_CANDIDATES - 1];
    *k = (known){.impl = impl};
    ot_call_digest(all->task, impl, k->digest);
    for (const known *other = all->item; other < k; other++)
        if (same_library(other->impl, impl)) {
            k->depends = other->depends;
            return k;
        }
    k->depends = ot_context_depends(all->o, impl, all->policy, all->arena);
    return k;
}

static void judge(knowing *all, ot_fact *fact)
{
    const optune_record *r = &fact->record;
    const known *k = know(all, r->impl);
    fact->currency = OT_STALE;
    fact->impl = k ? k->impl : NULL;
    if (!k) {
        optune_refuse(fact->why, "no implementation '%s' in this version", r->impl);
    } else if (!r->digest || strcmp(k->digest, r->digest)) {
        optune_refuse(fact->why, "implementation '%s' has changed: digest was %.8s, is %.8s",
                      r->impl, r->digest ? r->digest : "unknown", k->digest);
    } else if (!k->depends) {
        fact->currency = OT_UNVERIFIABLE;
        optune_refuse(fact->why, "what it depends on cannot be told on this host");
    } else if (same_depends(r->depends, k->depends, fact->why)) {
        fact->currency = OT_CURRENT;
    }
}

/* ---- chosen for a graph ------------------------------------------------------------------ */

/* Of the records of one store: what another says, which is asked only where nothing before it may
 * be used, ends no choice that was made here.
 *
 * What was chosen while a graph ran is what it is computed with, the newest time that it was: its
 * cost alone does not say why, as a slower one may have been taken that holds less memory, and
 * others look faster than they are by having been many. Where its kernel has changed since, costs
 * decide. */
static void settle(ot_fact *fact, int n)
{
    char text[8];
    int chosen = -1;
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i].record;
        if (r->outcome == OPTUNE_OUTCOME_OK && r->counters &&
            ot_lines_get(r->counters, OT_CHOSEN, text, sizeof text) &&
            (chosen < 0 || r->time > fact[chosen].record.time))
            chosen = i;
    }
    if (chosen < 0 || fact[chosen].currency == OT_STALE)
        return;
    for (int i = 0; i < n; i++)
        if (fact[i].record.outcome == OPTUNE_OUTCOME_OK && fact[i].currency != OT_STALE &&
            !ot_same_trial(&fact[i].record, &fact[chosen].record)) {
            fact[i].currency = OT_STALE;
            fact[i].overtaken = true;
            optune_refuse(fact[i].why, "another one was chosen while the graph ran: %.100s",
                          fact[chosen].record.impl);
        }
}

/* ---- questions --------------------------------------------------------------------------- */

int ot_context_facts(optune *o, const optune_task *task, ot_arena *arena, ot_fact **fact,
                     int *n, optune_err *err)
{
    return ot_context_facts_at(o, task, NULL, arena, fact, n, err);
}

static bool has_usable(const ot_fact *fact, int n)
{
    for (int i = 0; i < n; i++)
        if (fact[i].record.outcome == OPTUNE_OUTCOME_OK && fact[i].currency != OT_STALE &&
            !fact[i].outdated)
            return true;
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Records of one run depend on the same: the verdict is the one before's. */
static void judge_like(knowing *all, ot_fact *fact, const ot_fact *before)
{
    const optune_record *r = &fact->record, *same = before ? &before->record : NULL;
    if (!same || !same_text(r->impl, same->impl) || !same_text(r->digest, same->digest) ||
        !same_text(r->depends, same->depends)) {
        judge(all, fact);
        return;
    }
    fact->currency = before->currency;
    fact->impl = before->impl;
    ot_copy(fact->why, sizeof fact->why, before->why);
}

/* Behind those that are there; false: one of them is stale. */
static bool judge_found(knowing *all, const ot_finds *found, const ot_consulted *other,
                        const char *from, ot_fact **fact, int *n)
{
    bool usable = true;
    ot_fact *more = ot_arena_raw(all->arena, (size_t)(*n + found->n + 1) * sizeof *more);
    if (*n)
        memcpy(more, *fact, (size_t)*n * sizeof *more);
    *fact = more;
    for (int i = 0; i < found->n; i++) {
        ot_fact *one = &more[*n];
        if (!found->record[i].impl)
            continue;
        ot_fact_of(one, &found->record[i], from);
        one->alike = found->how[i].alike;
        one->block = found->how[i].block;
        one->n_block = found->how[i].n_block;
        if (other && other->hints) {
            one->currency = OT_STALE;
            optune_refuse(one->why, "hub '%s' gives hints: it was not measured here",
                          other->hub);
        } else {
            judge_like(all, one, *n > 0 ? one - 1 : NULL);
            usable = usable && one->currency != OT_STALE;
            one->outdated = found->how[i].outdated;
        }
        ++*n;
    }
    return usable && !(other && other->hints);
}

/* Of one store, behind those that are there. What is only told of is left out if it is certain why
 * it would be stale: all that is read of the question may be used, and so could that, had it not
 * been measured again. */
static int add_facts(knowing *all, ot_store *store, const ot_consulted *other,
                     const ot_question *question, ot_which which, ot_fact **fact, int *n,
                     ot_untold *untold, optune_err *err)
{
    const int before = *n;
    ot_finds found;
    const char *from =
        other && other->hub ? ot_arena_printf(all->arena, "hub '%s'", other->hub) : NULL;
    OT_RETURN_UNLESS_OK(ot_store_find_which(store, question, which, all->arena, &found, err));
    const bool usable = judge_found(all, &found, other, from, fact, n);
    if (!found.n_told)
        return OPTUNE_OK;
    if (!usable || before) {
        *n = before;
        return add_facts(all, store, other, question, OT_DECIDING, fact, n, untold, err);
    }
    *untold = (ot_untold){
        .dir = ot_store_dir(store), .from = from, .digest = found.told, .n = found.n_told};
    return OPTUNE_OK;
}

static int gather(optune *o, const optune_task *task, const ot_question *asked,
                  const char *policy, ot_which which, ot_arena *arena, ot_fact **fact, int *n,
                  ot_untold *untold, optune_err *err)
{
    *fact = NULL;
    *n = 0;
    if (asked && asked->absent && (!policy || !strcmp(policy, asked->policy)))
        return OPTUNE_OK;
    int64_t commit;
    int status = ot_context_follow(o, &commit)
                     ? OPTUNE_OK /* all are open, and what they were */
                     : ot_context_store(o, OT_STORE_READ, err);
    if (status == OPTUNE_ENOENT)
        return OPTUNE_OK; /* nothing was ever stored here */
    if (status < 0)
        return status;
    ot_question question;
    if (asked)
        question = *asked;
    else
        ot_context_question(o, task, &question, arena);
    if (policy && policy != question.policy) {
        question.policy = policy;
        question.known = false;
    }
    knowing all; /* of the items none is there */
    all.o = o;
    all.task = task;
    all.policy = question.policy;
    all.arena = arena;
    all.n = 0;
    const bool in_graph = ot_policy_is_graph(all.policy);
    int last = 0; /* the first of the store that was asked last */
    ot_store *store;
    const ot_consulted *other;
    /* The next of the list is asked when those before it have nothing that may be used. */
    for (int i = 0; status >= 0 && (store = ot_context_nth_of(o, i, &other)); i++)
        if (!has_usable(*fact, *n)) {
            last = *n;
            status = add_facts(&all, store, other, &question, in_graph ? OT_ALL : which, fact,
                               n, untold, err);
        }
    if (status < 0) {
        *n = 0;
        return status;
    }
    if (*n > 1) { /* else there is none that could */
        ot_facts_refute(*fact, *n);
        if (in_graph) {
            ot_facts_outdate(*fact + last, *n - last);
            settle(*fact + last, *n - last);
        }
        ot_facts_supersede(*fact, *n);
    }
    ot_facts_outdate(*fact, *n);
    return OPTUNE_OK;
}

int ot_context_facts_at(optune *o, const optune_task *task, const char *policy, ot_arena *arena,
                        ot_fact **fact, int *n, optune_err *err)
{
    const unsigned turn = ot_context_enter(o);
    const int status = gather(o, task, NULL, policy, OT_ALL, arena, fact, n, NULL, err);
    ot_context_leave(o, turn);
    return status;
}

/* ---- choosing ---------------------------------------------------------------------------- */

/* `untold`: with OT_NEEDED, what was left out that is only told of, and told of in no choice that
 * rests on no measurement. */
static int choose_of(optune *o, const optune_task *task, const ot_question *asked,
                     const char *policy, ot_which which, ot_arena *arena, ot_fact **fact,
                     int *n, ot_untold *untold, ot_choice *choice, optune_err *err)
{
    optune_err why;
    why.status = 0;
    why.text[0] = '\0';
    int status = gather(o, task, asked, policy, which, arena, fact, n, untold, &why);
    const int unread = ot_context_unreadable(status) ? status : 0;
    if (status < 0 && !unread)
        return optune_fail(err, status, "%s", why.text);
    const int measured = *n;
    ot_arena *const rows = asked ? arena : NULL;
    status = ot_select_in(rows, task, *fact, *n, choice, err);
    if (untold && untold->n && (status < 0 || choice->strict || !ot_choice_measured(choice))) {
        ot_choice_release(choice);
        untold->n = 0;
        return choose_of(o, task, asked, policy, OT_DECIDING, arena, fact, n, untold, choice,
                         err);
    }
    if (status >= 0 && !unread && !ot_choice_measured(choice)) {
        ot_context_hints(o, task, asked, arena, fact, n, NULL);
        if (*n > measured) {
            ot_choice_release(choice);
            status = ot_select_in(rows, task, *fact, *n, choice, err);
            *n = measured; /* what was found out here; the choice alone knows of hints */
        }
    }
    int passed = 0;
    ot_store *store;
    for (int i = 0; status >= 0 && (store = ot_context_nth(o, i)); i++)
        passed += ot_store_damaged(store);
    choice->unread = unread;
    choice->unread_why = passed   ? ot_damaged_told(&choice->texts, passed)
                         : unread ? ot_arena_copy(&choice->texts, why.text)
                                  : "";
    return status;
}

int ot_context_choose(optune *o, const optune_task *task, const char *policy, ot_arena *arena,
                      ot_fact **fact, int *n, ot_choice *choice, optune_err *err)
{
    const unsigned turn = ot_context_enter(o);
    const int status =
        choose_of(o, task, NULL, policy, OT_ALL, arena, fact, n, NULL, choice, err);
    ot_context_leave(o, turn);
    return status;
}

int ot_context_decide(optune *o, const optune_task *task, const ot_question *question,
                      const char *policy, ot_arena *arena, int *n_known, ot_untold *untold,
                      ot_choice *choice, optune_err *err)
{
    const ot_which which = untold ? OT_NEEDED : OT_DECIDING;
    ot_fact *fact;
    int n = 0;
    choice->strict = false;
    int status =
        choose_of(o, task, question, policy, which, arena, &fact, &n, untold, choice, err);
    if (choice->strict) {
        ot_choice_release(choice);
        status =
            choose_of(o, task, question, policy, OT_ALL, arena, &fact, &n, NULL, choice, err);
    }
    *n_known = n;
    return status;
}

double ot_context_cost(optune *o, const optune_call *call, const char *policy)
{
    const optune_task task = {call, &o->target, &o->device};
    ot_choice *choice = ot_alloc(sizeof *choice);
    ot_arena arena = {0};
    ot_untold untold = {.n = 0};
    int n = 0;
    double cost = INFINITY;
    const unsigned turn = ot_context_enter(o);
    if (ot_context_decide(o, &task, NULL, policy, &arena, &n, &untold, choice, NULL) >= 0 &&
        ot_choice_measured(choice) && choice->row[choice->winner].fact)
        cost = choice->row[choice->winner].fact->record.cost;
    ot_context_leave(o, turn);
    ot_choice_free(choice);
    ot_arena_release(&arena);
    return cost;
}
