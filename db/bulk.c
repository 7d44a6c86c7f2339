/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that come in by the hundred thousand. Their keys are digests, so each batch of them meets
 * most pages of a store, and every page that is met is copied and written. Here they wait,
 * squeezed, until all are known, and then go in the order of their keys: into a new store together
 * with what there was, page by page, if they are many beside it, else into the one there is, in
 * large transactions. What waits is in a log by then, or came from one: who is killed loses
 * nothing.
 */
#include "db/bulk.h"

#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"
#include "db/kv.h"
#include "db/sorter.h"

enum {
    DIGEST = 16,
    COST = 8,
    MEMORY = 24 << 20,      /* of what waits to be sorted */
    TRANSACTION = 12 << 20, /* bytes of records that go into the store there is at once, */
    MOST_AT_ONCE = 16384,   /* and so many: each of them meets a page of every table at worst */
    LOOK_AGAIN = 4096,      /* entries that are merged between two looks at `stop` */
    OLD_TO_NEW = 2, /* a store of so many records for each new one is written anew with them */
};

/* In front of a record's squeezed bytes: what leads to it, but for its digest, which is the key. */
typedef struct led {
    unsigned char hint, asked[DIGEST], cost[COST], value[OT_BEST_VALUE], hint_asked[DIGEST];
} led;

struct ot_bulk {
    ot_store *store;
    ot_sorter *records, *best, *hints; /* by table; the last two say where the first are */
    ot_writer writer;                  /* of the batch that is taken */
    ot_parts *parts;
    ot_text squeezed;
    int64_t added;           /* by the last merge */
    bool spoilt;             /* records are among them whose shared parts were not stored */
    const atomic_bool *stop; /* as given */
    bool stops;              /* it is looked at while all is stored */
};

int ot_bulk_open(const char *dir, const atomic_bool *stop, ot_bulk **bulk, optune_err *err)
{
    ot_store *store;
    *bulk = NULL;
    OT_RETURN_UNLESS_OK(ot_store_open(dir, OT_STORE_WRITE, &store, err));
    ot_store_stop(store, stop);
    ot_sorter_sweep(dir);
    ot_bulk *b = ot_alloc(sizeof *b);
    *b = (ot_bulk){.store = store,
                   .stop = stop,
                   .records = ot_sorter_new(dir, DIGEST, MEMORY),
                   .best = ot_sorter_new(dir, OT_BEST_KEY, MEMORY),
                   .hints = ot_sorter_new(dir, OT_BEST_KEY, MEMORY),
                   .parts = ot_alloc(sizeof *b->parts)};
    *bulk = b;
    return OPTUNE_OK;
}

void ot_bulk_close(ot_bulk *b)
{
    if (!b)
        return;
    ot_sorter_free(b->records);
    ot_sorter_free(b->best);
    ot_sorter_free(b->hints);
    ot_text_release(&b->squeezed);
    ot_store_close(b->store);
    free(b->parts);
    free(b);
}

bool ot_bulk_gone(const ot_bulk *b)
{
    return b->spoilt || ot_store_gone(b->store);
}

static int check_whole(const ot_bulk *b, optune_err *err)
{
    return b->spoilt
               ? optune_fail(err, OPTUNE_ESTORE,
                             "what was to be stored in '%s' is not whole, as a part could "
                             "not be written: import it again",
                             ot_store_dir(b->store))
               : OPTUNE_OK;
}

static int interrupted(optune_err *err)
{
    return optune_fail(err, OPTUNE_EINTERRUPTED,
                       "interrupted while records were stored; what was logged is not lost");
}

static int check_stop(const ot_bulk *b, optune_err *err)
{
    return b->stops && atomic_load(b->stop) ? interrupted(err) : OPTUNE_OK;
}

/* ---- taking ------------------------------------------------------------------------------ */

static int take(void *arg, const ot_lead *lead, ot_bytes whole, optune_err *err)
{
    ot_bulk *b = arg;
    const ot_bytes nothing = {NULL, 0};
    led head = {.hint = lead->hint};
    memcpy(head.asked, lead->entry.key, DIGEST);
    memcpy(head.cost, lead->entry.key + DIGEST, COST);
    memcpy(head.value, lead->entry.value, OT_BEST_VALUE);
    if (lead->hint)
        memcpy(head.hint_asked, lead->hint_key, DIGEST);
    OT_RETURN_UNLESS_OK(ot_squeeze(b->parts, whole, &b->squeezed, err));
    OT_RETURN_UNLESS_OK(ot_sorter_add(
        b->best, lead->entry.key, (ot_bytes){lead->entry.value, OT_BEST_VALUE}, nothing, err));
    if (lead->hint)
        OT_RETURN_UNLESS_OK(ot_sorter_add(b->hints, lead->hint_key, nothing, nothing, err));
    return ot_sorter_add(b->records, lead->digest.byte, (ot_bytes){&head, sizeof head},
                         (ot_bytes){b->squeezed.s, b->squeezed.n}, err);
}

int ot_bulk_take(ot_bulk *b, ot_batch *batch, optune_err *err)
{
    OT_RETURN_UNLESS_OK(check_whole(b, err));
    OT_RETURN_UNLESS_OK(ot_writer_begin(b->store, &b->writer, err));
    *b->parts = (ot_parts){.writer = &b->writer};
    int status = ot_batch_each(batch, take, b, err);
    ot_parts_release(b->parts);
    if (status >= 0 && b->writer.serial) /* what records share was put there */
        status = ot_writer_commit(&b->writer, err);
    else
        ot_writer_abort(&b->writer);
    b->spoilt = status < 0;
    return status;
}

/* The reverse; *squeezed is in the value. */
static void lead_of(const ot_bytes *key, const ot_bytes *value, ot_lead *lead,
                    ot_bytes *squeezed)
{
    led head;
    memcpy(&head, value->data, sizeof head);
    memcpy(lead->digest.byte, key->data, DIGEST);
    memcpy(lead->entry.key, head.asked, DIGEST);
    memcpy(lead->entry.key + DIGEST, head.cost, COST);
    memcpy(lead->entry.key + DIGEST + COST, key->data, DIGEST);
    memcpy(lead->entry.value, head.value, OT_BEST_VALUE);
    lead->hint = head.hint;
    memcpy(lead->hint_key, lead->entry.key, OT_BEST_KEY);
    memcpy(lead->hint_key, head.hint_asked, DIGEST);
    *squeezed = (ot_bytes){(const char *)value->data + sizeof head, value->n - sizeof head};
}

/* ---- into a new store -------------------------------------------------------------------- */

typedef struct merging {
    ot_snapshot *old;
    ot_making *made;
    ot_parts *parts;
    bool forgets; /* some digests are not to come back */
    ot_store_stats *stats;
    int64_t added;
    optune_err *err;
} merging;

typedef struct stream { /* one of the two that are merged */
    ot_bytes key, value;
    int status; /* OPTUNE_OK: there is one; 1: it is through */
} stream;

static int put(merging *m, ot_kv_table table, const stream *from)
{
    return ot_making_put(m->made, table, from->key, from->value, m->err);
}

/* Of all that was taken the digest is the key, or its end. */
static bool is_forgotten(merging *m, const ot_bytes *key)
{
    ot_bytes none;
    const ot_bytes digest = {(const char *)key->data + key->n - DIGEST, DIGEST};
    return m->forgets &&
           ot_snapshot_get(m->old, OT_TABLE_FORGOTTEN, digest, &none, NULL) == OPTUNE_OK;
}

static int put_new(merging *m, const stream *from)
{
    ot_lead lead;
    ot_bytes squeezed;
    lead_of(&from->key, &from->value, &lead, &squeezed);
    m->stats->records++;
    m->added++;
    return ot_making_put(m->made, OT_TABLE_RECORD, from->key, squeezed, m->err);
}

/* The one of the two that goes into the table. */
static int take_one(merging *m, ot_kv_table table, const stream *from, bool fresh)
{
    if (fresh && is_forgotten(m, &from->key))
        return OPTUNE_OK;
    if (table == OT_TABLE_BEST)
        return ot_making_index_put(m->made, from->key, from->value, m->err);
    if (table == OT_TABLE_RECORD && fresh)
        return put_new(m, from);
    m->stats->records += table == OT_TABLE_RECORD;
    return put(m, table, from);
}

static int merge_table(merging *m, const ot_bulk *b, ot_kv_table table, ot_sorter *sorter)
{
    stream old = {.key = {0}}, fresh = {.key = {0}};
    unsigned char last[OT_BEST_KEY]; /* of the fresh ones */
    size_t n_last = 0;
    OT_RETURN_UNLESS_OK(ot_sorter_rewind(sorter, m->err));
    old.status = ot_snapshot_seek(m->old, table, &old.key, &old.value, m->err);
    fresh.status = ot_sorter_next(sorter, &fresh.key, &fresh.value, m->err);
    int status = OPTUNE_OK;
    for (int64_t i = 0; status >= 0 && old.status >= 0 && fresh.status >= 0 &&
                        (old.status == OPTUNE_OK || fresh.status == OPTUNE_OK);
         i++) {
        if (i % LOOK_AGAIN == 0)
            OT_RETURN_UNLESS_OK(check_stop(b, m->err));
        const int turn = old.status == 1     ? 1
                         : fresh.status == 1 ? -1
                                             : ot_bytes_order(&old.key, &fresh.key);
        /* What is there stays, unless it is damaged. */
        const bool stays = turn < 0 || (turn == 0 && table == OT_TABLE_RECORD &&
                                        !ot_value_damaged(m->parts, old.value));
        const bool again = turn > 0 && n_last && memcmp(last, fresh.key.data, n_last) == 0;
        if (!again)
            status = take_one(m, table, stays ? &old : &fresh, !stays);
        if (turn >= 0) {
            n_last = fresh.key.n;
            memcpy(last, fresh.key.data, n_last);
            fresh.status = ot_sorter_next(sorter, &fresh.key, &fresh.value, m->err);
        }
        if (turn <= 0)
            old.status = ot_snapshot_next(m->old, table, &old.key, &old.value, m->err);
    }
    return status < 0         ? status
           : old.status < 0   ? old.status
           : fresh.status < 0 ? fresh.status
                              : OPTUNE_OK;
}

static int merge_all(merging *m, const ot_bulk *b)
{
    static const ot_kv_table as_they_are[] = {OT_TABLE_META, OT_TABLE_DEVICE,
                                              OT_TABLE_FORGOTTEN, OT_TABLE_QUARANTINE,
                                              OT_TABLE_SHARED};
    int status = OPTUNE_OK;
    for (int i = 0; i < OT_COUNT(as_they_are) && status >= 0; i++)
        status =
            ot_making_copy(m->made, m->old, as_they_are[i], b->stops ? b->stop : NULL, m->err);
    if (status >= 0)
        status = merge_table(m, b, OT_TABLE_RECORD, b->records);
    if (status >= 0)
        status = ot_making_index_begin(m->made, m->err);
    if (status >= 0)
        status = merge_table(m, b, OT_TABLE_BEST, b->best);
    if (status >= 0)
        status = ot_making_index_end(m->made, &m->stats->questions, m->err);
    if (status >= 0)
        status = merge_table(m, b, OT_TABLE_HINT, b->hints);
    return status < 0 ? status : ot_making_end(m->made, true, m->err);
}

int ot_bulk_merge(ot_bulk *b, ot_snapshot *old, const char *path, ot_store_stats *stats,
                  optune_err *err)
{
    merging m = {.old = old, .stats = stats, .err = err, .parts = b->parts};
    ot_bytes key = {0}, none;
    *stats = (ot_store_stats){0};
    OT_RETURN_UNLESS_OK(check_whole(b, err));
    *b->parts = (ot_parts){.reader = old};
    m.forgets = ot_snapshot_seek(old, OT_TABLE_FORGOTTEN, &key, &none, NULL) == OPTUNE_OK;
    int status = ot_making_begin(old, path, &m.made, err);
    if (status >= 0)
        status = merge_all(&m, b);
    b->added = m.added;
    ot_making_close(m.made);
    ot_parts_release(b->parts);
    return status;
}

/* ---- into the store there is ------------------------------------------------------------- */

typedef struct some { /* records of one transaction */
    ot_arena arena;
    ot_lead *lead;
    ot_bytes *value;
    int n, lead_capacity, value_capacity;
    size_t bytes;
} some;

/* The next ones, each once; 1: there are none behind them. */
static int read_some(ot_bulk *b, some *s, optune_err *err)
{
    int status = OPTUNE_OK;
    ot_arena_reset(&s->arena);
    s->n = 0;
    s->bytes = 0;
    while (status == OPTUNE_OK && s->bytes < TRANSACTION && s->n < MOST_AT_ONCE) {
        ot_bytes key, value, squeezed;
        status = ot_sorter_next(b->records, &key, &value, err);
        if (status != OPTUNE_OK ||
            (s->n && memcmp(s->lead[s->n - 1].digest.byte, key.data, DIGEST) == 0))
            continue;
        s->lead = ot_room(s->lead, s->n, &s->lead_capacity, sizeof *s->lead);
        s->value = ot_room(s->value, s->n, &s->value_capacity, sizeof *s->value);
        lead_of(&key, &value, &s->lead[s->n], &squeezed);
        char *copy = ot_arena_raw(&s->arena, squeezed.n);
        memcpy(copy, squeezed.data, squeezed.n);
        s->value[s->n++] = (ot_bytes){copy, squeezed.n};
        s->bytes += squeezed.n;
    }
    return status;
}

static int put_some(ot_bulk *b, const some *s, int64_t *added, optune_err *err)
{
    const ot_lead **fresh = ot_alloc((size_t)(s->n + 1) * sizeof *fresh);
    int n = 0, status = OPTUNE_OK;
    *b->parts = (ot_parts){.writer = &b->writer};
    for (int i = 0; status >= 0 && i < s->n; i++) {
        const ot_lead *lead = &s->lead[i];
        if (ot_parts_know(b->parts, &lead->digest))
            continue;
        status = ot_writer_put(&b->writer, OT_TABLE_RECORD,
                               (ot_bytes){lead->digest.byte, DIGEST}, s->value[i], NULL, err);
        fresh[n++] = lead;
    }
    if (status >= 0)
        status = ot_leads_put(&b->writer, fresh, n, err);
    ot_parts_release(b->parts);
    free(fresh);
    *added += n;
    return status;
}

static int put_in(ot_bulk *b, int64_t *added, optune_err *err)
{
    some s = {.n = 0};
    ot_sorter_free(b->best); /* the records say what leads to them */
    ot_sorter_free(b->hints);
    b->best = b->hints = NULL;
    int status = ot_sorter_rewind(b->records, err);
    bool more = status >= 0;
    while (more) {
        status = read_some(b, &s, err);
        more = status == OPTUNE_OK;
        if (status < 0 || !s.n)
            continue;
        status = check_stop(b, err);
        if (status >= 0)
            status = ot_writer_begin(b->store, &b->writer, err);
        if (status >= 0 && (status = put_some(b, &s, added, err)) < 0)
            ot_writer_abort(&b->writer);
        else if (status >= 0)
            status = ot_writer_commit(&b->writer, err);
        more = more && status >= 0;
        if (more)
            ot_write_lock_pause();
    }
    ot_arena_release(&s.arena);
    free(s.lead);
    free(s.value);
    return status < 0 ? status : OPTUNE_OK;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int fill(void *arg, ot_snapshot *old, const char *path, optune_err *err)
{
    ot_store_stats stats;
    return ot_bulk_merge(arg, old, path, &stats, err);
}

int ot_bulk_store(ot_bulk *b, int64_t *added, bool *replaced, optune_err *err)
{
    ot_snapshot reader;
    optune_err why = {0};
    int status = OPTUNE_ESTORE;
    *added = 0;
    *replaced = false;
    OT_RETURN_UNLESS_OK(check_whole(b, err));
    if (!ot_sorter_count(b->records))
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_snapshot_begin(b->store, &reader, err));
    const int64_t before = ot_snapshot_count(&reader, OT_TABLE_RECORD);
    ot_snapshot_end(&reader);
    /* Who asked to end while lines were read wants to keep what was read by then. */
    b->stops = b->stop && !atomic_load(b->stop);
    if (before >= 0 && before <= OLD_TO_NEW * ot_sorter_count(b->records))
        status = ot_store_replace(b->store, fill, b, &why);
    *replaced = status >= 0;
    if (status == OPTUNE_EINTERRUPTED)
        return interrupted(err);
    if (status == OPTUNE_ETIMEOUT || status == OPTUNE_EDAMAGED) /* LMDB is not let at it */
        return optune_fail(err, status, "%s", why.text);
    if (!*replaced) /* no room for two, or what is damaged keeps its order in no new store */
        return put_in(b, added, err);
    *added = b->added;
    return OPTUNE_OK;
}
