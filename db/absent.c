/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which questions nobody has answered, told without looking into the store: most that a compiler
 * asks are such. Once a store was asked often enough between two commits, a few bits of the digests
 * of all its questions are kept in memory, and who is not among them has no record. It says nothing
 * of a store with hints, which are found otherwise, nor of one that does not know all its questions
 * (summary.c).
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"
#include "db/env.h"

enum {
    DIGEST = 16,
    FIRST_LOOK = 8, /* questions, before anybody counts what there is */
    SHARE = 16,     /* to learn of all costs what a look costs for each so many of them */
    MOST = 1 << 17, /* of these there is memory for */
};

struct ot_absence {
    int64_t snapshot; /* of which it speaks */
    int64_t asked, needed;
    bool told;    /* the table is of this snapshot */
    uint32_t *at; /* 0: empty */
    size_t size;  /* a power of two */
};

static uint32_t *slot_of(const struct ot_absence *a, const void *digest)
{
    uint64_t word;
    memcpy(&word, digest, sizeof word);
    const uint32_t bits = (uint32_t)(word >> 32) | 1;
    size_t at = (uint32_t)word & (a->size - 1);
    while (a->at[at] && a->at[at] != bits)
        at = (at + 1) & (a->size - 1);
    return &a->at[at];
}

static void put(struct ot_absence *a, const void *digest)
{
    uint64_t word;
    memcpy(&word, digest, sizeof word);
    *slot_of(a, digest) = (uint32_t)(word >> 32) | 1;
}

static void put_key(void *absence, const char *key, size_t n)
{
    if (n == DIGEST)
        put(absence, key);
}

static bool make_room(struct ot_absence *a, int64_t n)
{
    size_t size = 64;
    while (size < 2 * (size_t)n)
        size *= 2;
    if (size > a->size) {
        free(a->at);
        a->size = 0;
        a->at = ot_try_alloc(size * sizeof *a->at, "the questions of a database", NULL);
        if (!a->at)
            return false;
        a->size = size;
    }
    memset(a->at, 0, a->size * sizeof *a->at);
    return true;
}

/* With needed < 0: nothing is said of this snapshot. */
static void learn(struct ot_absence *a, ot_snapshot *reader)
{
    uint64_t epoch;
    const int64_t n = ot_snapshot_count(reader, OT_TABLE_SUMMARY);
    a->needed = -1;
    a->snapshot = ot_snapshot_number(reader);
    if (n < 0 || n > MOST || !ot_walk_empty(reader, OT_TABLE_HINT) ||
        !ot_snapshot_epoch(reader, &epoch) || !ot_summary_has_all(reader))
        return;
    a->needed = n / SHARE;
    if (a->asked < a->needed)
        return;
    if (!make_room(a, n)) {
        a->needed = -1;
        return;
    }
    a->told = ot_walk_keys(reader, OT_TABLE_SUMMARY, n, put_key, a);
}

static void look(struct ot_absence *a, ot_store *store)
{
    ot_snapshot reader;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return;
    if (reader.view)
        a->needed = -1; /* it may go on to a later one */
    else
        learn(a, &reader);
    ot_snapshot_end(&reader);
}

bool ot_store_lacks(ot_store *store, const ot_digest *asked, int64_t *snapshot)
{
    struct ot_absence *a = atomic_exchange(&store->absence, NULL), *none = NULL;
    if (!a) { /* or another thread has it at the moment */
        a = ot_try_alloc(sizeof *a, "the questions of a database", NULL);
        if (!a)
            return false;
        *a = (struct ot_absence){.snapshot = -1};
    }
    const int64_t last = ot_store_last(store);
    if (a->snapshot != last) {
        a->snapshot = last;
        a->asked = 0;
        a->needed = FIRST_LOOK;
        a->told = false;
    }
    if (!a->told && a->needed >= 0 && ++a->asked >= a->needed)
        look(a, store);
    *snapshot = a->snapshot;
    /* Behind the look at its last commit, which may have found another store in its place. */
    const bool lacks =
        a->told && a->snapshot == last && ot_store_here(store) && !*slot_of(a, asked->byte);
    if (!atomic_compare_exchange_strong(&store->absence, &none, a))
        ot_absence_free(a);
    return lacks;
}

void ot_absence_free(struct ot_absence *absence)
{
    if (absence)
        free(absence->at);
    free(absence);
}
