/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in the store's tables. `best` orders the records of one question by cost,
 * so that the best is its first entry; `record` holds each record once, by the digest of its
 * content (squeeze.c). Digests only find: the full texts are compared after decoding, so two that
 * collide do no harm. A value whose checksum is wrong is passed over, and mended when it is put
 * again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/deciding.h"
#include "db/kv.h"

enum {
    DIGEST = 16,
    BEST_KEY = OT_BEST_KEY,
    WALK_BATCH = 64, /* records read before a callback sees them */
};

/* ---- writing ----------------------------------------------------------------------------- */

static int drop_one(ot_writer *writer, const ot_digest *digest, bool forget, optune_err *err)
{
    const ot_bytes key = {digest->byte, DIGEST};
    ot_bytes value;
    ot_arena arena = {0};
    optune_record record;
    ot_index_entry entry;
    ot_parts parts = {.writer = writer};
    int status = ot_writer_get(writer, OT_TABLE_RECORD, key, &value, err);
    if (status == OPTUNE_OK &&
        ot_stored_decode(&parts, value, &arena, &record, NULL) == OPTUNE_OK) {
        ot_index_entry_of(&record, digest, &entry);
        status = ot_writer_delete(writer, OT_TABLE_BEST, (ot_bytes){entry.key, BEST_KEY}, err);
        if (status >= 0)
            status = ot_summary_make(writer, ot_index_asked(&entry), err);
        if (status >= 0 && ot_index_hint(&record, digest, entry.key))
            status =
                ot_writer_delete(writer, OT_TABLE_HINT, (ot_bytes){entry.key, BEST_KEY}, err);
    }
    ot_parts_release(&parts);
    if (status >= 0)
        status = ot_writer_delete(writer, OT_TABLE_RECORD, key, err);
    if (status >= 0 && forget)
        status = ot_writer_put(writer, OT_TABLE_FORGOTTEN, key, (ot_bytes){"", 0}, NULL, err);
    ot_arena_release(&arena);
    return status;
}

int ot_store_drop(ot_store *store, const ot_digest *digest, int n, bool forget, optune_err *err)
{
    ot_writer writer;
    int status = ot_writer_begin(store, &writer, err);
    if (status < 0)
        return status;
    for (int i = 0; status >= 0 && i < n; i++)
        status = drop_one(&writer, &digest[i], forget, err);
    if (status >= 0)
        return ot_writer_commit(&writer, err);
    ot_writer_abort(&writer);
    return status;
}

bool ot_store_knows(ot_store *store, const optune_record *record)
{
    ot_snapshot reader;
    const ot_digest digest = ot_record_digest(record);
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return false;
    ot_parts parts = {.reader = &reader};
    const bool known = ot_parts_know(&parts, &digest);
    ot_parts_release(&parts);
    ot_snapshot_end(&reader);
    return known;
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct walked {
    optune_record *record;
    int n, capacity;
} walked;

static optune_record *walked_slot(walked *f)
{
    f->record = ot_room(f->record, f->n, &f->capacity, sizeof *f->record);
    return &f->record[f->n];
}

static bool answers(const optune_record *record, const ot_question *question)
{
    const ot_question own = ot_record_question(record);
    const char *policy = question->policy ? question->policy : "warm";
    return strcmp(own.device, question->device) == 0 &&
           strcmp(own.target, question->target) == 0 && strcmp(own.call, question->call) == 0 &&
           strcmp(own.policy, policy) == 0;
}

/* An entry that another, mended record left behind stands at that one's cost. */
static bool at_cost(const unsigned char stands[8], const optune_record *record)
{
    unsigned char cost[8];
    ot_index_cost(record, cost);
    return memcmp(stands, cost, sizeof cost) == 0;
}

typedef struct finding {
    ot_snapshot reader;
    ot_parts *parts;
    ot_store *store;
    const ot_question *question;
    ot_which which;
    int limit; /* 0: none */
    ot_arena *arena;
    ot_briefs entries;
    bool missed; /* an entry led to no record of the question */
    ot_finds *found;
} finding;

/* 1: the digest leads to no whole record of the question. */
static int read_one(finding *f, const ot_digest *digest, optune_record *one, optune_err *err)
{
    ot_bytes value;
    const int status = ot_snapshot_get(&f->reader, OT_TABLE_RECORD,
                                       (ot_bytes){digest->byte, DIGEST}, &value, err);
    if (status < 0)
        return status;
    const int decoded = status == OPTUNE_OK
                            ? ot_stored_decode(f->parts, value, f->arena, one, NULL)
                            : OPTUNE_EDAMAGED;
    if (decoded == OPTUNE_EDAMAGED)
        ot_store_passed(f->store);
    return decoded != OPTUNE_OK || !answers(one, f->question);
}

static bool is_wanted(const finding *f, const ot_brief *b)
{
    return b->keep && !(b->spare && f->which == OT_NEEDED);
}

/* Until there are `most`. Of those that are not read `lost` is noted. */
static int read_found(finding *f, int most, optune_err *err)
{
    ot_finds *to = f->found;
    for (int i = 0; i < f->entries.n && to->n < most; i++) {
        ot_brief *b = &f->entries.at[i];
        optune_record *one = &to->record[to->n];
        if (!is_wanted(f, b))
            continue;
        const int status = read_one(f, &b->digest, one, err);
        if (status < 0)
            return status;
        b->lost = status || !at_cost(b->cost, one);
        f->missed |= b->lost;
        if (!b->lost)
            to->how[to->n++] = (ot_found_how){
                .alike = b->alike, .block = f->parts->block.data, .n_block = f->parts->block.n};
    }
    return OPTUNE_OK;
}

static int read_kept(finding *f, optune_err *err)
{
    ot_finds *to = f->found;
    int kept = 0;
    to->n = 0;
    for (int i = 0; i < f->entries.n; i++)
        kept += is_wanted(f, &f->entries.at[i]);
    const int most = f->limit > 0 && f->limit < kept ? f->limit : kept;
    if (most) {
        to->record = ot_arena_raw(f->arena, (size_t)most * sizeof *to->record);
        to->how = ot_arena_raw(f->arena, (size_t)most * sizeof *to->how);
    }
    return read_found(f, most, err);
}

static bool overtakes(const ot_brief *newer, const ot_brief *b)
{
    return b->told && b->good && newer->tried == b->tried && newer->basis == b->basis &&
           (b->final || !newer->final) && newer->time > b->time;
}

/* What was measured again stays overtaken where the newer record cannot be read, if that decides
 * nothing: who reads what decides does not look at it. All entries were looked for. */
static void note_outdated(finding *f)
{
    const ot_briefs *all = &f->entries;
    const size_t size = (size_t)all->n * sizeof *all->at;
    ot_brief *deciding = memcpy(ot_alloc_raw(size), all->at, size);
    ot_deciding(deciding, all->n);
    for (int k = 0; k < all->n; k++) {
        const ot_brief *newer = &all->at[k];
        if (!newer->lost || !newer->told || !newer->good ||
            (deciding[k].keep && !deciding[k].spare))
            continue;
        for (int i = 0, at = 0; i < all->n; i++)
            if (!all->at[i].lost)
                f->found->how[at++].outdated |= overtakes(newer, &all->at[i]);
    }
    free(deciding);
}

static void list_told(finding *f)
{
    ot_finds *to = f->found;
    int n = 0;
    for (int i = 0; i < f->entries.n; i++)
        n += f->entries.at[i].tells;
    if (!n)
        return;
    to->told = ot_arena_raw(f->arena, (size_t)n * sizeof *to->told);
    for (int i = 0; i < f->entries.n; i++)
        if (f->entries.at[i].tells)
            to->told[to->n_told++] = f->entries.at[i].digest;
}

static int read_entries(finding *f, const ot_digest *asked, optune_err *err)
{
    f->parts = ot_parts_borrow(f->store, &f->reader);
    ot_parts_expect(f->parts, f->question->call);
    int status = read_kept(f, err);
    if (status >= 0 && f->which != OT_ALL &&
        f->missed) { /* it stood for others: all are read */
        f->which = OT_ALL;
        status = ot_briefs_read(&f->reader, asked, &f->entries, err);
        if (status >= 0)
            status = read_kept(f, err);
    }
    if (status >= 0 && f->missed && !f->limit)
        note_outdated(f);
    if (status >= 0 && f->which == OT_NEEDED)
        list_told(f);
    ot_parts_give_back(f->store, f->parts);
    return status;
}

static int find_records(finding *f, optune_err *err)
{
    const ot_digest asked = ot_question_digest(f->question);
    const bool deciding = f->which != OT_ALL;
    *f->found = (ot_finds){.n = 0};
    int status = ot_snapshot_begin(f->store, &f->reader, err);
    if (status < 0)
        return status;
    const bool listed =
        deciding && ot_summary_read(&f->reader, &asked, &f->entries) == OPTUNE_OK;
    if (!listed)
        status = ot_briefs_read(&f->reader, &asked, &f->entries, err);
    if (status >= 0 && deciding && !listed)
        ot_deciding(f->entries.at, f->entries.n);
    if (status >= 0 && f->entries.n)
        status = read_entries(f, &asked, err);
    ot_snapshot_end(&f->reader);
    free(f->entries.at);
    if (status < 0)
        *f->found = (ot_finds){.n = 0};
    return status;
}

int ot_store_find(ot_store *store, const ot_question *question, int limit, ot_arena *arena,
                  optune_record **record, int *n, optune_err *err)
{
    ot_finds found;
    finding f = {.store = store,
                 .question = question,
                 .which = OT_ALL,
                 .limit = limit,
                 .arena = arena,
                 .found = &found};
    const int status = find_records(&f, err);
    *record = found.record;
    *n = found.n;
    return status;
}

int ot_store_find_which(ot_store *store, const ot_question *question, ot_which which,
                        ot_arena *arena, ot_finds *found, optune_err *err)
{
    finding f = {
        .store = store, .question = question, .which = which, .arena = arena, .found = found};
    return find_records(&f, err);
}

int ot_store_find_these(ot_store *store, const ot_question *question, const ot_digest *digest,
                        int n, ot_arena *arena, ot_finds *found, optune_err *err)
{
    finding f = {.store = store, .question = question, .arena = arena};
    *found = (ot_finds){.record = ot_arena_raw(arena, (size_t)n * sizeof *found->record)};
    int status = ot_snapshot_begin(store, &f.reader, err);
    if (status < 0)
        return status;
    f.parts = ot_parts_borrow(store, &f.reader);
    ot_parts_expect(f.parts, question->call);
    for (int i = 0; i < n && status >= 0; i++) {
        status = read_one(&f, &digest[i], &found->record[found->n], err);
        found->n += status == OPTUNE_OK;
    }
    ot_parts_give_back(store, f.parts);
    ot_snapshot_end(&f.reader);
    return status < 0 ? status : OPTUNE_OK;
}

/* ---- hints ------------------------------------------------------------------------------- */

static bool of_hint(const ot_bytes *key, const ot_digest *asked)
{
    return key->n == BEST_KEY && memcmp(key->data, asked->byte, DIGEST) == 0;
}

/* An entry may have outlived its record, and digests only find. */
static bool is_hint(const optune_record *r, const char *call, const char *target)
{
    const size_t n = strcspn(target, " ");
    return !(r->digest && *r->digest) && r->outcome == OPTUNE_OUTCOME_OK && r->call &&
           r->target && !strcmp(r->call, call) && strcspn(r->target, " ") == n &&
           !strncmp(r->target, target, n);
}

bool ot_store_may_hint(ot_store *store)
{
    ot_snapshot reader;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return true; /* who reads them is told */
    const bool empty = ot_walk_empty(&reader, OT_TABLE_HINT);
    ot_snapshot_end(&reader);
    return !empty;
}

int ot_store_find_hints(ot_store *store, const char *call, const char *target, int most,
                        ot_arena *arena, optune_record **record, int *n, optune_err *err)
{
    const ot_digest asked = ot_hint_digest(call, target);
    ot_snapshot reader;
    ot_bytes key = {asked.byte, DIGEST}, none, value;
    *n = 0;
    *record = NULL;
    int status = ot_snapshot_begin(store, &reader, err);
    if (status < 0)
        return status;
    if (ot_walk_none(&reader, OT_TABLE_HINT, key)) {
        ot_snapshot_end(&reader);
        return OPTUNE_OK;
    }
    ot_parts *parts = ot_parts_borrow(store, &reader);
    status = ot_snapshot_seek(&reader, OT_TABLE_HINT, &key, &none, err);
    while (status == OPTUNE_OK && *n < most && of_hint(&key, &asked)) {
        ot_digest digest;
        optune_record one;
        memcpy(digest.byte, (const char *)key.data + DIGEST + 8, DIGEST);
        status = ot_snapshot_get(&reader, OT_TABLE_RECORD, (ot_bytes){digest.byte, DIGEST},
                                 &value, err);
        if (status == OPTUNE_OK &&
            ot_stored_decode(parts, value, arena, &one, NULL) == OPTUNE_OK &&
            is_hint(&one, call, target)) {
            if (!*record)
                *record = ot_arena_alloc(arena, (size_t)most * sizeof **record);
            ot_record_copy(&(*record)[(*n)++], &one);
        }
        if (status >= 0)
            status = ot_snapshot_next(&reader, OT_TABLE_HINT, &key, &none, err);
    }
    ot_parts_give_back(store, parts);
    ot_snapshot_end(&reader);
    if (status < 0)
        *n = 0;
    return status < 0 ? status : OPTUNE_OK;
}

/* Reads the next records behind `last`, of last->n bytes in last_key; 1 at the end. */
static int walk_batch(ot_store *store, ot_bytes *last, unsigned char last_key[DIGEST],
                      ot_arena *arena, walked *f, optune_err *err)
{
    f->n = 0;
    ot_snapshot reader;
    int status = ot_snapshot_begin(store, &reader, err);
    if (status < 0)
        return status;
    ot_bytes key = *last, value;
    ot_parts parts = {.reader = &reader};
    status = ot_snapshot_seek(&reader, OT_TABLE_RECORD, &key, &value, err);
    if (status == OPTUNE_OK && last->n && key.n == DIGEST &&
        memcmp(key.data, last_key, DIGEST) == 0)
        status = ot_snapshot_next(&reader, OT_TABLE_RECORD, &key, &value, err);
    while (status == OPTUNE_OK && f->n < WALK_BATCH) {
        if (key.n == DIGEST) {
            memcpy(last_key, key.data, DIGEST);
            *last = (ot_bytes){last_key, DIGEST};
        }
        if (ot_stored_decode(&parts, value, arena, walked_slot(f), NULL) == OPTUNE_OK)
            f->n++;
        status = ot_snapshot_next(&reader, OT_TABLE_RECORD, &key, &value, err);
    }
    ot_parts_release(&parts);
    ot_snapshot_end(&reader);
    return status;
}

int ot_store_walk(ot_store *store, ot_record_fn fn, void *arg, optune_err *err)
{
    /* In batches: no transaction is open while the callback runs, however long it takes. */
    walked f = {0};
    unsigned char last_key[DIGEST];
    ot_bytes last = {0};
    int status = OPTUNE_OK, answer = 0;
    while (status == OPTUNE_OK && answer == 0) {
        ot_arena arena = {0};
        status = walk_batch(store, &last, last_key, &arena, &f, err);
        for (int i = 0; status >= 0 && answer == 0 && i < f.n; i++)
            answer = fn(arg, &f.record[i]);
        ot_arena_release(&arena);
    }
    free(f.record);
    return status < 0 ? status : answer;
}

int ot_store_stats_get(ot_store *store, ot_store_stats *stats, optune_err *err)
{
    *stats = (ot_store_stats){.bytes = ot_store_bytes_used(store)};
    ot_snapshot reader;
    int status = ot_snapshot_begin(store, &reader, err);
    if (status < 0)
        return status;
    ot_bytes key = {0}, value;
    ot_parts parts = {.reader = &reader};
    status = ot_snapshot_seek(&reader, OT_TABLE_RECORD, &key, &value, err);
    while (status == OPTUNE_OK) {
        stats->records++;
        stats->damaged += ot_value_damaged(&parts, value);
        status = ot_snapshot_next(&reader, OT_TABLE_RECORD, &key, &value, err);
    }
    ot_parts_release(&parts);
    /* From each question's first entry to the place behind all of its entries. */
    unsigned char behind[BEST_KEY];
    key = (ot_bytes){0};
    while (status >= 0) {
        status = ot_snapshot_seek(&reader, OT_TABLE_BEST, &key, &value, err);
        if (status || key.n != BEST_KEY)
            break;
        stats->questions++;
        memcpy(behind, key.data, DIGEST);
        memset(behind + DIGEST, 0xff, BEST_KEY - DIGEST);
        key = (ot_bytes){behind, BEST_KEY};
    }
    ot_snapshot_end(&reader);
    return status < 0 ? status : OPTUNE_OK;
}
