/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether every record can be found and everything that is found is a record: the index against
 * the records, both ways, and each value against its checksum. What does not hold is counted, and
 * mended on demand: the logs are the truth, so nothing is lost by putting a value aside.
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"
#include "db/kv.h"

enum { DIGEST = 16 };

typedef struct fault {
    enum { BAD_RECORD, NO_ENTRY, BAD_ENTRY, BAD_DEVICE, BAD_SUMMARY } kind;
    ot_bytes key;         /* owned */
    ot_index_entry entry; /* of NO_ENTRY: the one that is missing */
} fault;

typedef struct checking {
    ot_snapshot reader;
    ot_parts parts;
    ot_care *care;
    bool all_summed; /* each question has a summary */
    ot_digest asked; /* the question of the last entry */
    fault *fault;
    int n, capacity;
    bool keep;
    optune_err *err;
} checking;

static fault *note(checking *c, int kind, ot_bytes key)
{
    static fault nowhere;
    if (!c->keep)
        return &nowhere;
    c->fault = ot_room(c->fault, c->n, &c->capacity, sizeof *c->fault);
    fault *f = &c->fault[c->n++];
    void *copy = ot_alloc(key.n + 1);
    memcpy(copy, key.data, key.n);
    *f = (fault){.kind = kind, .key = {copy, key.n}};
    return f;
}

/* ---- looking ----------------------------------------------------------------------------- */

static int check_record(checking *c, ot_bytes key, ot_bytes value)
{
    ot_arena arena = {0};
    optune_record record;
    ot_bytes there;
    ot_index_entry entry;
    int status = ot_stored_decode(&c->parts, value, &arena, &record, NULL);
    c->care->records++;
    if (status == OPTUNE_EVERSION) {
        ot_arena_release(&arena);
        return OPTUNE_OK; /* a later version's, and whole */
    }
    if (status < 0) {
        c->care->damaged++;
        note(c, BAD_RECORD, key);
    } else {
        const ot_digest digest = ot_record_digest(&record);
        ot_index_entry_of(&record, &digest, &entry);
        if (key.n != DIGEST || memcmp(key.data, digest.byte, DIGEST) != 0) {
            c->care->misplaced++;
            note(c, BAD_RECORD, key);
        } else if ((status = ot_snapshot_get(&c->reader, OT_TABLE_BEST,
                                             (ot_bytes){entry.key, OT_BEST_KEY}, &there,
                                             c->err)) == 1) {
            c->care->unlisted++;
            note(c, NO_ENTRY, key)->entry = entry;
        }
    }
    ot_arena_release(&arena);
    return status < 0 && status != OPTUNE_EDAMAGED ? status : OPTUNE_OK;
}

/* Of an entry of a question: where it has no summary, nobody looks for any. */
static int check_summed(checking *c, ot_bytes key)
{
    ot_bytes none;
    const ot_bytes asked = {key.data, DIGEST};
    if (!c->all_summed || memcmp(c->asked.byte, key.data, DIGEST) == 0)
        return OPTUNE_OK;
    memcpy(c->asked.byte, key.data, DIGEST);
    const int status = ot_snapshot_get(&c->reader, OT_TABLE_SUMMARY, asked, &none, c->err);
    if (status == 1) {
        c->care->summaries++;
        note(c, BAD_SUMMARY, asked);
    }
    return status < 0 ? status : OPTUNE_OK;
}

static int check_entry(checking *c, ot_bytes key, ot_bytes value)
{
    ot_arena arena = {0};
    optune_record record;
    ot_index_entry entry;
    ot_digest digest;
    ot_bytes stored;
    bool sound = false;
    int status = 1;
    c->care->entries++;
    if (key.n == OT_BEST_KEY) {
        memcpy(digest.byte, (const char *)key.data + DIGEST + 8, DIGEST);
        status = ot_snapshot_get(&c->reader, OT_TABLE_RECORD, (ot_bytes){digest.byte, DIGEST},
                                 &stored, c->err);
    }
    if (status == OPTUNE_OK) {
        const int decoded = ot_stored_decode(&c->parts, stored, &arena, &record, NULL);
        sound = decoded == OPTUNE_EVERSION;
        if (decoded == OPTUNE_OK) {
            ot_index_entry_of(&record, &digest, &entry);
            /* Entries of layout 1 say nothing. */
            sound = memcmp(entry.key, key.data, OT_BEST_KEY) == 0 &&
                    (value.n == 0 || (value.n == OT_BEST_VALUE &&
                                      memcmp(entry.value, value.data, OT_BEST_VALUE) == 0));
        }
    }
    if (status >= 0 && !sound) {
        c->care->dangling++;
        note(c, BAD_ENTRY, key);
    }
    if (status >= 0 && sound)
        status = check_summed(c, key);
    ot_arena_release(&arena);
    return status < 0 ? status : OPTUNE_OK;
}

static int check_device(checking *c, ot_bytes key, ot_bytes value)
{
    optune_device device;
    c->care->devices++;
    const int status = ot_device_decode(value.data, value.n, &device, NULL);
    if (status == OPTUNE_EVERSION || (status == OPTUNE_OK && strlen(device.key) == key.n &&
                                      memcmp(device.key, key.data, key.n) == 0))
        return OPTUNE_OK;
    c->care->devices_damaged++;
    note(c, BAD_DEVICE, key);
    return OPTUNE_OK;
}

/* In a store whose summaries are believed. */
static int check_summary(checking *c, ot_bytes key, ot_bytes value)
{
    const int status = ot_summary_check(&c->reader, &key, &value, c->err);
    if (status == 1) {
        c->care->summaries++;
        note(c, BAD_SUMMARY, key);
    }
    return status < 0 ? status : OPTUNE_OK;
}

static int count(checking *c, ot_kv_table table, int64_t *n)
{
    ot_bytes key = {0}, value;
    int status = ot_snapshot_seek(&c->reader, table, &key, &value, c->err);
    for (; status == OPTUNE_OK; ++*n)
        status = ot_snapshot_next(&c->reader, table, &key, &value, c->err);
    return status < 0 ? status : OPTUNE_OK;
}

static int check_table(checking *c, ot_kv_table table,
                       int (*check)(checking *, ot_bytes, ot_bytes))
{
    ot_bytes key = {0}, value;
    int status = ot_snapshot_seek(&c->reader, table, &key, &value, c->err);
    while (status == OPTUNE_OK) {
        /* Looking elsewhere may move what was read. */
        ot_text kept = {0};
        ot_text_add_n(&kept, key.data, key.n);
        status = check(c, (ot_bytes){kept.s, kept.n}, value);
        if (status >= 0)
            status = ot_snapshot_next(&c->reader, table, &key, &value, c->err);
        ot_text_release(&kept);
    }
    return status < 0 ? status : OPTUNE_OK;
}

static int look(checking *c, ot_store *store)
{
    uint64_t epoch;
    *c->care = (ot_care){0};
    int status = ot_snapshot_begin(store, &c->reader, c->err);
    if (status < 0)
        return status;
    c->parts = (ot_parts){.reader = &c->reader};
    c->all_summed = ot_snapshot_epoch(&c->reader, &epoch) && ot_summary_has_all(&c->reader);
    status = check_table(c, OT_TABLE_RECORD, check_record);
    if (status >= 0)
        status = check_table(c, OT_TABLE_BEST, check_entry);
    if (status >= 0)
        status = check_table(c, OT_TABLE_DEVICE, check_device);
    if (status >= 0 && ot_snapshot_epoch(&c->reader, &epoch))
        status = check_table(c, OT_TABLE_SUMMARY, check_summary);
    if (status >= 0)
        status = count(c, OT_TABLE_QUARANTINE, &c->care->quarantined);
    if (status >= 0)
        status = count(c, OT_TABLE_FORGOTTEN, &c->care->forgotten);
    ot_parts_release(&c->parts);
    ot_snapshot_end(&c->reader);
    return status;
}

/* What no reader meets, too. A place among the readers keeps writers from using its pages again
 * while they are looked at. */
static int check_pages(ot_store *store, optune_err *err)
{
    ot_text data = {0};
    ot_snapshot place;
    OT_RETURN_UNLESS_OK(ot_snapshot_begin(store, &place, err));
    ot_text_printf(&data, "%s/store/data.mdb", ot_store_dir(store));
    const int status = ot_place_sound(ot_store_dir(store), data.s, OT_CHECK_ALL, NULL, err);
    ot_text_release(&data);
    ot_snapshot_end(&place);
    return status;
}

int ot_store_check(ot_store *store, ot_care *care, optune_err *err)
{
    checking c = {.care = care, .err = err};
    OT_RETURN_UNLESS_OK(check_pages(store, err));
    return look(&c, store);
}

/* ---- mending ----------------------------------------------------------------------------- */

/* The entries of a question are others now. */
static int sum_again(ot_writer *w, const fault *f, optune_err *err)
{
    ot_digest asked;
    const void *key = f->kind == NO_ENTRY ? f->entry.key : f->key.data;
    if (f->kind == BAD_SUMMARY)
        OT_RETURN_UNLESS_OK(ot_writer_delete(w, OT_TABLE_SUMMARY, f->key, err));
    if (f->kind == BAD_RECORD || f->kind == BAD_DEVICE ||
        (f->kind != NO_ENTRY && f->key.n < DIGEST))
        return OPTUNE_OK;
    memcpy(asked.byte, key, DIGEST);
    return ot_summary_make(w, &asked, err);
}

static int mend_one(ot_writer *w, const fault *f, optune_err *err)
{
    ot_bytes value;
    int status = OPTUNE_OK;
    if (f->kind == BAD_SUMMARY)
        return OPTUNE_OK;
    if (f->kind == BAD_ENTRY)
        return ot_writer_delete(w, OT_TABLE_BEST, f->key, err);
    if (f->kind == BAD_DEVICE)
        return ot_writer_delete(w, OT_TABLE_DEVICE, f->key, err);
    if (f->kind == NO_ENTRY)
        return ot_writer_put(w, OT_TABLE_BEST, (ot_bytes){f->entry.key, OT_BEST_KEY},
                             (ot_bytes){f->entry.value, OT_BEST_VALUE}, NULL, err);
    status = ot_writer_get(w, OT_TABLE_RECORD, f->key, &value, err);
    if (status == 1)
        return OPTUNE_OK;
    if (status == OPTUNE_OK) {
        ot_text copy = {0}; /* the value lies in a page that is about to change */
        ot_text_add_n(&copy, value.data, value.n);
        status = ot_writer_put(w, OT_TABLE_QUARANTINE, f->key, (ot_bytes){copy.s, copy.n}, NULL,
                               err);
        ot_text_release(&copy);
    }
    return status < 0 ? status : ot_writer_delete(w, OT_TABLE_RECORD, f->key, err);
}

int ot_store_mend(ot_store *store, ot_care *care, optune_err *err)
{
    checking c = {.care = care, .err = err, .keep = true};
    ot_writer writer;
    int status = look(&c, store);
    if (status >= 0 && c.n) {
        status = ot_writer_begin(store, &writer, err);
        for (int i = 0; status >= 0 && i < c.n; i++)
            status = mend_one(&writer, &c.fault[i], err);
        for (int i = 0; status >= 0 && i < c.n; i++)
            status = sum_again(&writer, &c.fault[i], err);
        if (status >= 0)
            status = ot_writer_commit(&writer, err);
        else if (writer.txn)
            ot_writer_abort(&writer);
    }
    for (int i = 0; i < c.n; i++)
        free((void *)c.fault[i].key.data);
    free(c.fault);
    return status < 0 ? status : ot_store_recover(store, true, &care->restored, err);
}
