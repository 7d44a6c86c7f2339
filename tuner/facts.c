/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store knows of a task, judged against the present: each thing a record depends on is
 * the same (current), has changed (stale: history and a hint, never selected), or cannot be told
 * here (unverifiable: selected, and labelled so).
 */
#include <string.h>

#include "tuner/tuner.h"

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
    return same_values(then, then, now, why) && same_values(now, then, now, why);
}

/* Dependencies are asked for once per implementation and call of this file. */
typedef struct known {
    const optune_impl *impl;
    const char *depends;
} known;

static const char *depends_of(optune *o, const optune_impl *impl, known *all, int *n,
                              ot_arena *arena)
{
    for (int i = 0; i < *n; i++)
        if (all[i].impl == impl)
            return all[i].depends;
    const char *depends = ot_context_depends(o, impl, arena);
    if (*n < OT_MAX_CANDIDATES)
        all[(*n)++] = (known){impl, depends};
    return depends;
}

static void judge(optune *o, const optune_call *call, ot_fact *fact, known *all, int *n,
                  ot_arena *arena)
{
    const optune_record *r = &fact->record;
    const optune_impl *impl = ot_impl_find(r->impl);
    fact->currency = OT_STALE;
    if (!impl) {
        optune_refuse(fact->why, "no implementation '%s' in this version", r->impl);
        return;
    }
    char digest[33];
    ot_call_digest(call, impl, digest);
    if (!r->digest || strcmp(digest, r->digest)) {
        optune_refuse(fact->why, "implementation '%s' has changed: digest was %.8s, is %.8s",
                      r->impl, r->digest ? r->digest : "unknown", digest);
        return;
    }
    const char *now = depends_of(o, impl, all, n, arena);
    if (!now) {
        fact->currency = OT_UNVERIFIABLE;
        optune_refuse(fact->why, "what it depends on cannot be told on this host");
        return;
    }
    if (same_depends(r->depends, now, fact->why))
        fact->currency = OT_CURRENT;
}

/* The finals verify with a second seed: what fails there is refuted, however fast it was. */
static void refute(ot_fact *fact, int n)
{
    for (int k = 0; k < n; k++) {
        const optune_record *failed = &fact[k].record;
        if (!failed->final || failed->outcome == OPTUNE_OUTCOME_OK ||
            fact[k].currency == OT_STALE)
            continue;
        for (int i = 0; i < n; i++) {
            const optune_record *r = &fact[i].record;
            if (r->outcome == OPTUNE_OUTCOME_OK && fact[i].currency != OT_STALE &&
                r->time <= failed->time && !strcmp(r->impl, failed->impl) &&
                ot_config_equal(&r->config, &failed->config)) {
                fact[i].currency = OT_STALE;
                optune_refuse(fact[i].why, "it failed when verified again: %.160s",
                              failed->message ? failed->message
                                              : ot_outcome_name(failed->outcome));
            }
        }
    }
}

int ot_context_question(optune *o, const optune_task *task, ot_question *question,
                        ot_arena *arena)
{
    ot_text target = {0}, call = {0};
    ot_target_print(task->target, true, &target);
    ot_call_print(task->call, &call);
    *question = (ot_question){
        .device = ot_arena_copy(arena, o->device.key),
        .target = ot_arena_copy(arena, ot_text_str(&target)),
        .call = ot_arena_copy(arena, ot_text_str(&call)),
        .policy = ot_policy_warm.name,
    };
    ot_text_release(&target);
    ot_text_release(&call);
    return OPTUNE_OK;
}

int ot_context_facts(optune *o, const optune_task *task, ot_arena *arena, ot_fact **fact,
                     int *n, optune_err *err)
{
    return ot_context_facts_at(o, task, NULL, arena, fact, n, err);
}

int ot_context_facts_at(optune *o, const optune_task *task, const char *policy,
                        ot_arena *arena, ot_fact **fact, int *n, optune_err *err)
{
    *fact = NULL;
    *n = 0;
    int status = ot_context_store(o, OT_STORE_READ, err);
    if (status == OPTUNE_ENOENT)
        return OPTUNE_OK; /* nothing was ever stored here */
    if (status < 0)
        return status;
    ot_question question;
    ot_context_question(o, task, &question, arena);
    if (policy)
        question.policy = policy;
    optune_record *record = NULL;
    int n_records = 0;
    status = ot_store_find(o->store, &question, 0, arena, &record, &n_records, err);
    if (status < 0)
        return status;
    known all[OT_MAX_CANDIDATES];
    int n_known = 0;
    *fact = ot_arena_alloc(arena, (size_t)(n_records + 1) * sizeof **fact);
    for (int i = 0; i < n_records; i++) {
        (*fact)[i].record = record[i];
        judge(o, task->call, &(*fact)[i], all, &n_known, arena);
    }
    refute(*fact, n_records);
    *n = n_records;
    return OPTUNE_OK;
}
