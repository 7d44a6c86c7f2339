/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and devices in the store's tables. `best` orders the records of one question by cost,
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

int ot_store_put_devices(ot_store *store, const optune_device *device, int n, optune_err *err)
{
    ot_writer writer;
    ot_text text = {0};
    int status = ot_writer_begin(store, &writer, err);
    if (status < 0)
        return status;
    for (int i = 0; status == OPTUNE_OK && i < n; i++) {
        status = ot_device_encode(&device[i], &text, err);
        if (status == OPTUNE_OK)
            status = ot_writer_put(&writer, OT_TABLE_DEVICE,
                                   (ot_bytes){device[i].key, strlen(device[i].key)},
                                   (ot_bytes){text.s, text.n}, NULL, err);
    }
    if (status == OPTUNE_OK)
        status = ot_writer_commit(&writer, err);
    else
        ot_writer_abort(&writer);
    ot_text_release(&text);
    return status;
}

int ot_store_put_device(ot_store *store, const optune_device *device, optune_err *err)
{
    return ot_store_put_devices(store, device, 1, err);
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct found {
    optune_record *record;
    int n, capacity;
} found;

static optune_record *found_slot(found *f)
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
    ot_arena *arena;
    ot_briefs entries;
    bool missed; /* an entry led to no record of the question */
} finding;

/* Until there are `most`. */
static int read_found(finding *f, optune_record *record, int *alike, int most, int *n,
                      optune_err *err)
{
    for (int i = 0; i < f->entries.n && *n < most; i++) {
        const ot_brief *b = &f->entries.at[i];
        ot_bytes value;
        optune_record *one = &record[*n];
        if (!b->keep)
            continue;
        const ot_bytes digest = {b->digest.byte, DIGEST};
        const int status = ot_snapshot_get(&f->reader, OT_TABLE_RECORD, digest, &value, err);
        if (status < 0)
            return status;
        const int decoded = status == OPTUNE_OK
                                ? ot_stored_decode(f->parts, value, f->arena, one, NULL)
                                : OPTUNE_EDAMAGED;
        if (decoded == OPTUNE_OK && answers(one, f->question) && at_cost(b->cost, one)) {
            if (alike)
                alike[*n] = b->alike;
            ++*n;
            continue;
        }
        f->missed = true;
        if (decoded == OPTUNE_EDAMAGED)
            ot_store_passed(f->store);
    }
    return OPTUNE_OK;
}

static int read_kept(finding *f, int limit, optune_record **record, int **alike, int *n,
                     optune_err *err)
{
    int kept = 0;
    *n = 0;
    for (int i = 0; i < f->entries.n; i++)
        kept += f->entries.at[i].keep;
    const int most = limit > 0 && limit < kept ? limit : kept;
    if (most) {
        *record = ot_arena_raw(f->arena, (size_t)most * sizeof **record);
        if (alike)
            *alike = ot_arena_raw(f->arena, (size_t)most * sizeof **alike);
    }
    return read_found(f, *record, alike ? *alike : NULL, most, n, err);
}

static int read_entries(finding *f, const ot_digest *asked, int limit, optune_record **record,
                        int **alike, int *n, optune_err *err)
{
    f->parts = ot_parts_borrow(f->store, &f->reader);
    ot_parts_expect(f->parts, f->question->call);
    int status = read_kept(f, limit, record, alike, n, err);
    if (status >= 0 && alike && f->missed) { /* it stood for others: all are read */
        status = ot_briefs_read(&f->reader, asked, &f->entries, err);
        if (status >= 0)
            status = read_kept(f, limit, record, alike, n, err);
    }
    ot_parts_give_back(f->store, f->parts);
    return status;
}

static int find_records(finding *f, int limit, optune_record **record, int **alike, int *n,
                        optune_err *err)
{
    const ot_digest asked = ot_question_digest(f->question);
    *record = NULL;
    *n = 0;
    int status = ot_snapshot_begin(f->store, &f->reader, err);
    if (status < 0)
        return status;
    const bool listed = alike && ot_summary_read(&f->reader, &asked, &f->entries) == OPTUNE_OK;
    if (!listed)
        status = ot_briefs_read(&f->reader, &asked, &f->entries, err);
    if (status >= 0 && alike && !listed)
        ot_deciding(f->entries.at, f->entries.n);
    if (status >= 0 && f->entries.n)
        status = read_entries(f, &asked, limit, record, alike, n, err);
    ot_snapshot_end(&f->reader);
    free(f->entries.at);
    if (status < 0)
        *n = 0;
    return status;
}

int ot_store_find(ot_store *store, const ot_question *question, int limit, ot_arena *arena,
                  optune_record **record, int *n, optune_err *err)
{
    finding f = {.store = store, .question = question, .arena = arena};
    return find_records(&f, limit, record, NULL, n, err);
}

int ot_store_find_deciding(ot_store *store, const ot_question *question, ot_arena *arena,
                           optune_record **record, int **alike, int *n, optune_err *err)
{
    *alike = NULL;
    finding f = {.store = store, .question = question, .arena = arena};
    return find_records(&f, 0, record, alike, n, err);
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
                      ot_arena *arena, found *f, optune_err *err)
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
        if (ot_stored_decode(&parts, value, arena, found_slot(f), NULL) == OPTUNE_OK)
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
    found f = {0};
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

int ot_store_devices(ot_store *store, ot_arena *arena, optune_device **device, int *n,
                     optune_err *err)
{
    *device = NULL;
    *n = 0;
    ot_snapshot reader;
    int status = ot_snapshot_begin(store, &reader, err);
    if (status < 0)
        return status;
    int capacity = 0;
    optune_device *known = NULL;
    ot_bytes key = {0}, value;
    status = ot_snapshot_seek(&reader, OT_TABLE_DEVICE, &key, &value, err);
    while (status == OPTUNE_OK) {
        known = ot_room(known, *n, &capacity, sizeof *known);
        if (ot_device_decode(value.data, value.n, &known[*n], NULL) == OPTUNE_OK)
            ++*n;
        status = ot_snapshot_next(&reader, OT_TABLE_DEVICE, &key, &value, err);
    }
    ot_snapshot_end(&reader);
    if (*n) {
        *device = ot_arena_alloc(arena, (size_t)*n * sizeof **device);
        memcpy(*device, known, (size_t)*n * sizeof **device);
    }
    free(known);
    return status < 0 ? status : OPTUNE_OK;
}

static int no_device(ot_store *store, const char *key, optune_err *err)
{
    ot_arena arena = {0};
    optune_device *known;
    ot_text keys = {0};
    int n;
    int status = ot_store_devices(store, &arena, &known, &n, err);
    for (int i = 0; status == OPTUNE_OK && i < n; i++)
        ot_text_printf(&keys, "%s'%s'", i ? ", " : "", known[i].key);
    if (status == OPTUNE_OK)
        status = optune_fail(err, OPTUNE_ENOENT, "device '%s' is not known; known are: %s", key,
                             n ? keys.s : "none");
    ot_text_release(&keys);
    ot_arena_release(&arena);
    return status;
}

int ot_store_device(ot_store *store, const char *key, optune_device *device, optune_err *err)
{
    ot_snapshot reader;
    ot_bytes value;
    int status =
        *key && strlen(key) < sizeof device->key ? ot_snapshot_begin(store, &reader, err) : 1;
    if (status == OPTUNE_OK) {
        status = ot_snapshot_get(&reader, OT_TABLE_DEVICE, (ot_bytes){key, strlen(key)}, &value,
                                 err);
        if (status == OPTUNE_OK && ot_device_decode(value.data, value.n, device, NULL) < 0)
            status = 1;
        ot_snapshot_end(&reader);
    }
    return status == 1 ? err ? no_device(store, key, err) : OPTUNE_ENOENT : status;
}
