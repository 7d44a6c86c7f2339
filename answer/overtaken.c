/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of several measurements of one config, which one counts; and what is told of those that do not,
 * to whoever asks. That decides nothing, so an answer keeps their names alone, and they are read
 * when its reasons are written: of the database in which they were, which somebody may have closed,
 * or replaced, meanwhile. A record never changes, so it says then what it would have said before;
 * where one is not there any more, what is told is of the database as it is then.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/record.h"

/* The finals verify with a second seed: what fails there is refuted, however fast it was. */
void ot_facts_refute(ot_fact *fact, int n)
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

/* ---- measured again ---------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
    return hash * 0x9e3779b97f4a7c15u + ot_hash64(data, n);
}

static uint64_t hash_of(const optune_record *r)
{
    uint64_t hash = ot_hash64(r->impl, strlen(r->impl));
    for (int i = 0; i < r->config.n; i++) {
        const optune_entity *e = &r->config.entity[i];
        const bool word = e->kind == OPTUNE_KNOB_OTHER && e->scalar == OPTUNE_SCALAR_WORD;
        hash = mix(hash, e->name, strlen(e->name));
        hash =
            word ? mix(hash, e->word, strlen(e->word))
                 : mix(hash, e->v, (e->kind == OPTUNE_KNOB_OTHER ? 1 : e->n) * sizeof e->v[0]);
    }
    return hash;
}

bool ot_same_trial(const optune_record *a, const optune_record *b)
{
    return !strcmp(a->impl, b->impl) && ot_config_equal(&a->config, &b->config);
}

static void overtake(ot_fact *fact, const optune_record *newer)
{
    fact->currency = OT_STALE;
    fact->overtaken = true;
    fact->remeasured = true;
    fact->later = (ot_later){.cost = newer->cost,
                             .low = newer->low,
                             .high = newer->high,
                             .host = newer->host,
                             .counters = newer->counters,
                             .tool = newer->tool};
}

/* Of several measurements of one config the newest counts, however fast an older one claims to
 * be. What was measured among finalists tells more than the trial before it, which stays: it is
 * the search's. */
typedef struct newest {
    int trial, final; /* the newest of each; -1: none */
} newest;

void ot_facts_supersede(ot_fact *fact, int n)
{
    enum { FEW = 8 }; /* are compared one by one, which needs no hash and no memory */
    newest few[2 * FEW];
    int slot_of_few[FEW];
    size_t size = OT_COUNT(few);
    while (n > FEW && size < 4 * (size_t)n)
        size *= 2;
    newest *table = n > FEW ? ot_alloc(size * sizeof *table) : few;
    int *slot = n > FEW ? ot_alloc((size_t)n * sizeof *slot) : slot_of_few;
    for (size_t i = 0; i < size; i++)
        table[i] = (newest){-1, -1};
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i].record;
        slot[i] = -1;
        if (r->outcome != OPTUNE_OUTCOME_OK || fact[i].currency == OT_STALE)
            continue;
        size_t at = n > FEW ? hash_of(r) % size : 0;
        for (;; at = (at + 1) % size) {
            const int other = table[at].trial < 0 ? table[at].final : table[at].trial;
            if (other < 0 || ot_same_trial(r, &fact[other].record))
                break;
        }
        int *last = r->final ? &table[at].final : &table[at].trial;
        if (*last < 0 || r->time > fact[*last].record.time)
            *last = i;
        slot[i] = (int)at;
    }
    for (int i = 0; i < n; i++) {
        const newest *of = slot[i] < 0 ? NULL : &table[slot[i]];
        if (!of)
            continue;
        const int same = fact[i].record.final ? of->final : of->trial;
        if (fact[same].record.time > fact[i].record.time)
            overtake(&fact[i], &fact[same].record);
        else if (fact[i].record.final && of->trial >= 0 &&
                 fact[of->trial].record.time > fact[i].record.time)
            overtake(&fact[i], &fact[of->trial].record);
    }
    if (n > FEW) {
        free(table);
        free(slot);
    }
}

/* ---- told of later ------------------------------------------------------------------------- */

void ot_fact_of(ot_fact *fact, const optune_record *record, const char *from)
{
    ot_record_copy(&fact->record, record);
    fact->record.source = from ? from : record->source;
    fact->why[0] = '\0';
    fact->overtaken = fact->remeasured = fact->outdated = false;
    fact->alike = 0;
    fact->impl = NULL;
    fact->block = NULL;
}

void ot_facts_outdate(ot_fact *fact, int n)
{
    for (int i = 0; i < n; i++) {
        if (!fact[i].outdated || fact[i].currency == OT_STALE)
            continue;
        fact[i].currency = OT_STALE;
        fact[i].overtaken = true;
        optune_refuse(fact[i].why,
                      "it was measured again later, and that record cannot be read: "
                      "`optune db check --mend`");
    }
}

const char *ot_damaged_told(ot_arena *arena, int passed)
{
    return ot_arena_printf(arena,
                           "damaged records were passed over (%d so far): "
                           "`optune db check --mend`",
                           passed);
}

/* All that is there could be used, had it not been measured again, or refuted. */
static ot_fact *facts_of(const ot_finds *found, const char *from, ot_arena *arena)
{
    ot_fact *fact = ot_arena_raw(arena, (size_t)(found->n + 1) * sizeof *fact);
    for (int i = 0; i < found->n; i++) {
        ot_fact_of(&fact[i], &found->record[i], from);
        fact[i].currency = OT_CURRENT;
        fact[i].outdated = found->how && found->how[i].outdated;
    }
    ot_facts_refute(fact, found->n);
    ot_facts_supersede(fact, found->n);
    ot_facts_outdate(fact, found->n);
    return fact;
}

/* As the first of several would be told of, in the order in which a store has them. */
static bool goes_first(const optune_record *a, const optune_record *b)
{
    if (a->final != b->final)
        return a->final;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    const ot_digest one = ot_record_digest(a), two = ot_record_digest(b);
    return memcmp(one.byte, two.byte, sizeof one.byte) < 0;
}

static void tell(ot_choice_row *row, const ot_fact *fact, int n)
{
    for (int i = 0; i < n; i++)
        if (fact[i].currency == OT_STALE && fact[i].record.outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(fact[i].record.impl, row->candidate.impl->name) &&
            (!row->stale || goes_first(&fact[i].record, &row->stale->record)))
            row->stale = &fact[i];
}

/* Where one is not there any more, or is damaged, all that decides is read, as for an answer. */
static int read_untold(const ot_answer *answer, ot_store *store, ot_arena *arena,
                       ot_finds *found)
{
    const ot_untold *untold = &answer->untold;
    const int status = ot_store_find_these(store, &answer->question, untold->digest, untold->n,
                                           arena, found, NULL);
    return status < 0 || found->n == untold->n
               ? status
               : ot_store_find_which(store, &answer->question, OT_DECIDING, arena, found, NULL);
}

ot_choice ot_answer_explained(const ot_answer *answer, ot_arena *arena, optune_config *config)
{
    ot_choice choice = ot_answer_choice(answer, config);
    ot_store *store = NULL;
    ot_finds found;
    if (!answer->untold.n || ot_store_open(answer->untold.dir, OT_STORE_READ, &store, NULL) < 0)
        return choice;
    if (read_untold(answer, store, arena, &found) >= 0) {
        const ot_fact *fact = facts_of(&found, answer->untold.from, arena);
        const size_t rows = (size_t)choice.n * sizeof *choice.row;
        choice.row = memcpy(ot_arena_raw(arena, rows), choice.row, rows);
        for (int i = 0; i < choice.n; i++)
            tell(&choice.row[i], fact, found.n);
        if (ot_store_damaged(store) && !*choice.unread_why)
            choice.unread_why = ot_damaged_told(arena, ot_store_damaged(store));
    }
    ot_store_close(store);
    return choice;
}
