/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between store.c, which knows LMDB and no record, and records.c, which knows records and no
 * LMDB: tables of keys and values in key order, read in snapshots, written in transactions.
 * Nothing outside db/ includes this. Bytes read are valid until the reader ends, or is
 * asked for more of their table.
 */
#ifndef OPTUNE_DB_KV_H
#define OPTUNE_DB_KV_H

#include <string.h>

#include "db/db.h"

typedef enum ot_kv_table {
    OT_TABLE_META,   /* "schema" -> layout number; "log:NAME" -> bytes of it that are stored */
    OT_TABLE_RECORD, /* record digest -> record, see squeeze.c */
    OT_TABLE_BEST,   /* question digest, sortable cost, record digest -> see ot_index_entry */
    OT_TABLE_DEVICE, /* device key -> device */
    /* Since 2026-11; an older store has them once it is written to. */
    OT_TABLE_FORGOTTEN,  /* record digest -> nothing: is not stored again */
    OT_TABLE_QUARANTINE, /* what was its key -> a record that was damaged */
    OT_TABLE_SHARED,     /* number -> what many records have in common; since layout 2 */
    OT_TABLE_HINT, /* of hints: digest of call and kind of target, then as in BEST -> nothing */
    OT_TABLE_SUMMARY, /* question digest -> what its entries in BEST come to, see summary.c */
    OT_TABLES,
} ot_kv_table;

typedef struct ot_bytes {
    const void *data;
    size_t n;
} ot_bytes;

typedef struct ot_roots ot_roots; /* walk.c */
struct ot_absence;

typedef struct ot_snapshot {
    ot_store *store;
    void *txn;
    bool walks;              /* its pages are those of the file: walk.c reads them */
    ot_roots *roots;         /* of such; of a transaction that writes, its own */
    void *cursor[OT_TABLES]; /* of a transaction that writes, whose pages are in no file yet */
    struct ot_peek_view *view; /* instead of all that: see peek.h */
    struct ot_hold *lent;      /* whose it is, see hold.c; NULL: its own */
    /* What was found out of it and is asked again with each answer: 1 there is, -1 there is none, 0
     * nobody asked. Of a view, which may go on to a later commit, nothing is. */
    struct ot_seen {
        signed char epoch, summary, all;
        bool whole;           /* `value` is: its checksum was looked at */
        int64_t number;       /* the snapshot of which `epoch` is */
        int64_t all_number;   /* and of which `all` is: ot_summary_has_all */
        uint64_t first;       /* ot_snapshot_epoch */
        uint8_t question[16]; /* of the summary */
        ot_bytes value;
    } seen;
} ot_snapshot;

/* As keys lie in a table. */
static inline int ot_bytes_order(const ot_bytes *a, const ot_bytes *b)
{
    const size_t n = a->n < b->n ? a->n : b->n;
    const int found = n ? memcmp(a->data, b->data, n) : 0;
    return found ? found : (a->n > b->n) - (a->n < b->n);
}

/* As ot_text_add_n, for who adds little very often. */
static inline void ot_bytes_add(ot_text *to, const void *data, size_t n)
{
    if (to->capacity - to->n > n) {
        memcpy(to->s + to->n, data, n);
        to->n += n;
        to->s[to->n] = 0;
    } else {
        ot_text_add_n(to, data, n);
    }
}

/* All returning int: 0, a negative status with its message, or 1: there is no such entry. */
int ot_snapshot_begin(ot_store *store, ot_snapshot *reader, optune_err *err);
void ot_snapshot_end(ot_snapshot *reader);
int ot_snapshot_get(ot_snapshot *reader, ot_kv_table table, ot_bytes key, ot_bytes *value,
                    optune_err *err);
/* The first entry at or behind *key; an empty key is before all others. */
int ot_snapshot_seek(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                     optune_err *err);
int ot_snapshot_next(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                     optune_err *err);
int64_t ot_snapshot_number(const ot_snapshot *reader); /* of its last commit */
/* walk.c, of a snapshot that walks: as those. */
int ot_walk_get(ot_snapshot *reader, ot_kv_table table, ot_bytes key, ot_bytes *value,
                optune_err *err);
int ot_walk_seek(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                 optune_err *err);
int ot_walk_next(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                 optune_err *err);
int64_t ot_walk_count(ot_snapshot *reader, ot_kv_table table);
/* Of any: no key begins so, of a table that is there; false: or it cannot be told. */
bool ot_walk_none(ot_snapshot *reader, ot_kv_table table, ot_bytes prefix);
bool ot_walk_empty(ot_snapshot *reader, ot_kv_table table); /* likewise: no key at all */
/* Shows all keys of a table, in order; false: there are more than `most`, or it is damaged. */
typedef void ot_key_fn(void *arg, const char *key, size_t n);
bool ot_walk_keys(ot_snapshot *reader, ot_kv_table table, int64_t most, ot_key_fn *take,
                  void *arg);
void ot_roots_release(ot_snapshot *reader); /* roots.c */
/* apart.c: entries of a table in key order: of pages that only one of two snapshots has. What they
 * share lies in pages that neither can change, so what differs is in these, and they are as few as
 * the changes. Valid as long as the snapshots. */
typedef struct ot_leaves {
    const ot_snapshot *of;
    uint64_t *page;
    int n, at, entry; /* which comes next */
} ot_leaves;
/* false, and both empty: all entries have to be looked at. */
bool ot_leaves_apart(ot_snapshot *a, ot_snapshot *b, ot_kv_table table, ot_leaves *only_a,
                     ot_leaves *only_b);
int ot_leaves_next(ot_leaves *leaves, ot_bytes *key, ot_bytes *value); /* 1: that was all */
void ot_leaves_release(ot_leaves *leaves);
int64_t ot_snapshot_count(ot_snapshot *reader, ot_kv_table table); /* entries; -1: not known */
/* hold.c: the snapshot that this thread holds of the store; false: it holds none, or it is lent. */
bool ot_hold_put(
    const ot_snapshot *snapshot); /* false: no place, or one of its store is there */
bool ot_hold_take(const ot_store *store, ot_snapshot *snapshot); /* for good */
bool ot_hold_lend(const ot_store *store, ot_snapshot *reader);
void ot_hold_take_back(const ot_snapshot *reader);

/* ---- sight.c: what becomes of a store's file while it is open ------------------------------- */
typedef struct ot_sight ot_sight;
struct ot_peek;
int ot_sight_open(const char *path, ot_sight **sight, optune_err *err); /* of DIR/store */
/* Commits are counted together with other processes, in a file there: not in a newer version's. */
void ot_sight_share(ot_sight *sight, const char *path);
#define OT_COUNTER "commits" /* that file in DIR/store */
/* Makes it there, in front of those who open the store and may not. */
void ot_sight_counter(const char *path);
/* That of the store `was`, whose place the one at `path` takes, counts for both: who has the old
 * one open hears of the first commit to the new one, also where nobody lives to say that it was
 * replaced. false: a file system without links. */
bool ot_sight_inherit(const char *path, const char *was);
void ot_sight_close(ot_sight *sight);                 /* NULL is fine */
struct ot_peek *ot_sight_peek(const ot_sight *sight); /* its own */
bool ot_sight_look(ot_sight *sight);                  /* now; false: it is gone */
bool ot_sight_gone(ot_sight *sight);                  /* as ot_store_gone, fork apart */
bool ot_sight_here(const ot_sight *sight);            /* as far as was seen */
bool ot_sight_whole(ot_sight *sight);   /* nothing was cut off: it may be read in a map */
int64_t ot_sight_last(ot_sight *sight); /* the last commit */
void ot_sight_count(ot_sight *sight);   /* there is one more */

/* ---- write_lock.c: whose turn it is to write ------------------------------------------------ */
/* LMDB's own lock waits for ever, also for a stopped process. This one, in DIR/write.lock, is taken
 * first; it ends with its process. For one thread at a time, too. */
typedef struct ot_write_lock ot_write_lock;
extern double ot_write_patience_s; /* tests are less patient */
#define OT_WRITE_LOCK "write.lock"
/* Of who makes another store in place of this one; taken in front of the other. */
#define OT_SWAP_LOCK "swap.lock"
/* DIR/NAME */
/* Opens a file that processes share, and makes it if it is not there: a descriptor, or -1 and
 * errno. Who of the group has made it a moment ago, and is about to share it, is waited for. */
int ot_place_open(const char *path);
/* Blocks of its own for all of a file that is mapped and written to, and for `bytes` of one that is
 * empty: who writes into a hole when the disk is full dies of SIGBUS, and on btrfs who writes to
 * what is copied when it is written. 0, or an errno; where blocks cannot be asked for, that is left
 * to luck. */
int ot_place_fill(int fd, int64_t bytes);
enum {
    OT_READERS = 2048,
    OT_LOCK_BYTES = 192 + 64 * (OT_READERS - 1), /* of the lock file that LMDB makes for them */
};
int ot_write_lock_open(const char *dir, const char *name, ot_write_lock **lock,
                       optune_err *err);
void ot_write_lock_close(ot_write_lock *lock); /* NULL is fine */
bool ot_write_lock_try(ot_write_lock *lock);   /* at once */
/* ETIMEOUT names who has it; EINTERRUPTED: *stop (may be NULL) became true; ESTORE: the file system
 * has no locks, or has lost them. */
int ot_write_lock_take(ot_write_lock *lock, const atomic_bool *stop, optune_err *err);
void ot_write_lock_give(ot_write_lock *lock);
/* For who will take it again at once: meanwhile those who wait look at it. */
void ot_write_lock_pause(void);
/* How often this process is a child of fork, counted from its start. */
unsigned ot_forks(void);

/* ---- exchange.c: another store in place of this one ------------------------------------------ */
#define OT_SWAP_FOLDER "swap"     /* in DIR, with the other one in its folder `store` */
extern bool ot_swap_in_two_steps; /* for tests */
/* DIR/swap, which is empty then, and the name of DIR/swap/store; under both locks. */
int ot_swap_begin(const char *dir, ot_text *work, ot_text *store, optune_err *err);
int64_t ot_swap_bytes(const char *path); /* of the data file in that folder; 0: there is none */
int ot_swap_exchange(const char *dir, optune_err *err); /* under the write lock */
bool ot_swap_halfway(const char *dir); /* it is between two steps, or was killed there */
/* What a killed process left, unless somebody is at work there or writes. */
void ot_swap_sweep(const char *dir);
void ot_swap_finish(const char *dir); /* what was killed there; under the write lock */

typedef struct ot_writer {
    ot_store *store;
    void *txn;
    uint64_t serial; /* of the transaction, once it changes something */
    ot_roots *roots; /* of the snapshot it began with, see meet.c; NULL: all of it was met */
} ot_writer;

/* One writer at a time, all processes together; waits for the others. */
int ot_writer_begin(ot_store *store, ot_writer *writer, optune_err *err);
/* With `known`, an entry that is there stays: returns 1 and what it is. */
int ot_writer_put(ot_writer *writer, ot_kv_table table, ot_bytes key, ot_bytes value,
                  ot_bytes *known, optune_err *err);
/* 1: there is none. The value is valid until the next change. */
int ot_writer_get(ot_writer *writer, ot_kv_table table, ot_bytes key, ot_bytes *value,
                  optune_err *err);
int ot_writer_delete(ot_writer *writer, ot_kv_table table, ot_bytes key, optune_err *err);
/* Whether nobody committed between that snapshot and this transaction. */
bool ot_writer_follows(const ot_writer *writer, int64_t snapshot);
int ot_writer_commit(ot_writer *writer, optune_err *err); /* durable on return */
void ot_writer_abort(ot_writer *writer);
/* What there is in the midst of a transaction; nothing is written before it ends. */
void ot_writer_view(ot_writer *writer, ot_snapshot *reader);
void ot_writer_view_end(ot_snapshot *reader);

/* Whether all who wrote have made summaries, see epoch.c. False: the last one has not. *first:
 * since which transaction all have. */
bool ot_snapshot_epoch(ot_snapshot *reader, uint64_t *first);
extern const ot_bytes ot_epoch_name; /* epoch.c: the entry of `meta` that says it */
extern const ot_bytes
    ot_summing_name; /* summing.c: the one that says which have been made since */
bool ot_epoch_is(const ot_bytes *key); /* one of both: of this store's transactions alone */

int ot_store_in_place(ot_store *store, optune_err *err); /* asked now; under the write lock */

/* ---- making.c: a store that is written whole, in key order ----------------------------------- */
typedef struct ot_making ot_making;
/* Of the tables of `from`'s store, in the folder PATH that is there and empty. *made is to be
 * closed in any case. */
int ot_making_begin(ot_snapshot *from, const char *path, ot_making **made, optune_err *err);
/* Behind all that the table has; tables may take turns. */
int ot_making_put(ot_making *made, ot_kv_table table, ot_bytes key, ot_bytes value,
                  optune_err *err);
/* EINTERRUPTED: *stop (may be NULL) became true. */
int ot_making_copy(ot_making *made, ot_snapshot *from, ot_kv_table table,
                   const atomic_bool *stop, optune_err *err);
int ot_making_goes_on(const atomic_bool *stop, optune_err *err); /* EINTERRUPTED: it does not */
/* The index in key order, and a summary of each question, of which it says that none lacks one;
 * nothing else is put into both tables. *questions: how many there are. */
int ot_making_index_begin(ot_making *made, optune_err *err);
int ot_making_index_put(ot_making *made, ot_bytes key, ot_bytes value, optune_err *err);
int ot_making_index_end(ot_making *made, int64_t *questions, optune_err *err);
/* Synced. `summed`: its summaries are all made, see epoch.c. */
int ot_making_end(ot_making *made, bool summed, optune_err *err);
void ot_making_close(ot_making *made); /* NULL is fine */
/* A compact copy of all, so made. */
int ot_store_copy(ot_snapshot *from, const char *path, const atomic_bool *stop,
                  optune_err *err);
/* swap.c: what `fill` makes of `from`, in the empty folder it is given, takes the place of this
 * store, whose handle is of the old one afterwards. Others write meanwhile, and what they write is
 * there, too. */
typedef int ot_fill_fn(void *arg, ot_snapshot *from, const char *path, optune_err *err);
int ot_store_replace(ot_store *store, ot_fill_fn *fill, void *arg, optune_err *err);
/* follow.c: does to the store DIR/store, which was made of `was`, what has changed from there to
 * `is`. *changes: how many. EINTERRUPTED: *stop (may be NULL) became true. */
int ot_store_follow(const char *dir, ot_snapshot *was, ot_snapshot *is, const atomic_bool *stop,
                    int64_t *changes, optune_err *err);
/* catch_up.c: for who has the write lock: what a killed writer committed can be read. */
void ot_store_say_last(ot_store *store);
/* Makes all who have it open look at once what became of it. */
void ot_store_touch(ot_store *store);
/* One more damaged record was passed over. */
void ot_store_passed(ot_store *store);
void ot_absence_free(struct ot_absence *absence); /* absent.c; NULL is fine */
/* ---- squeeze.c: a record as it lies in a store ------------------------------------------- */
typedef struct ot_part {
    bool used;
    uint32_t id;
    ot_bytes bytes;
} ot_part;
/* What records share, as a snapshot or a transaction sees it (one of both), with what was seen of
 * it; not longer than these. Zero but for that to start. */
typedef struct ot_parts {
    ot_snapshot *reader;
    ot_writer *writer;
    ot_part part[256];
    ot_part expected; /* the caller's, until it gives them back */
    ot_arena arena;
    ot_text scratch;
    size_t kept;              /* bytes in the arena */
    struct ot_rows_met *rows; /* restore.c: texts that stood in a row; owned, NULL: none yet */
    int n_decoded;            /* while there are none */
    ot_bytes block; /* in which the texts and samples of the last record lie; or none */
    bool
        carried; /* some were seen in an earlier snapshot: what fits a checksum is what it was */
} ot_parts;
void ot_parts_release(ot_parts *parts);
/* With what an earlier reader of the store saw, which saves looking most of it up; records that do
 * not fit it are looked at again without (ot_stored_decode). Given back, not released. */
ot_parts *ot_parts_borrow(ot_store *store, ot_snapshot *reader);
void ot_parts_give_back(ot_store *store, ot_parts *parts);
void ot_parts_expect(ot_parts *parts, const char *text); /* what is read next may have it */
/* codec.c: the OT_RECORD_FIELDS fields in the order of its bytes, and what these begin with. */
struct ot_record_field;
const struct ot_record_field *const *ot_record_stored(void);
void ot_record_magic(char to[4]);
/* EDAMAGED, EVERSION: these bytes are not what ot_record_encode made; or a record that was made of
 * such, laid out like one or not, contradicts itself. */
int ot_record_seal(const void *data, size_t n, optune_err *err);
int ot_record_vet(const optune_record *record, bool laid_out, optune_err *err);
/* Of ot_record_encode's bytes; what is new to share is put there. */
int ot_squeeze(ot_parts *parts, ot_bytes record, ot_text *to, optune_err *err);
/* restore.c: a stored value; as ot_record_decode, but entities behind the config's last are left as
 * they are. */
int ot_stored_decode(ot_parts *parts, ot_bytes value, ot_arena *arena, optune_record *record,
                     optune_err *err);
bool ot_value_damaged(ot_parts *parts, ot_bytes value);
/* The record is there, whole, or it is not to come back. */
bool ot_parts_know(ot_parts *parts, const ot_digest *digest);
/* index.c: what leads to a record. */
enum { OT_BEST_KEY = 16 + 8 + 16, OT_BEST_VALUE = 1 + 8 + 8 + 8 };
/* An entry of the index. Its value says what decides between records before they are read: whether
 * it is good and final (a bit each), its time, and hashes of its config and of its basis, which is
 * implementation, digest and what it depends on. Older entries have none. */
typedef struct ot_index_entry {
    unsigned char key[OT_BEST_KEY], value[OT_BEST_VALUE];
} ot_index_entry;
ot_question ot_record_question(const optune_record *record);
void ot_index_cost(const optune_record *record, unsigned char to[8]); /* sorts as it does */
/* Of which question. */
static inline const ot_digest *ot_index_asked(const ot_index_entry *entry)
{
    return (const ot_digest *)(const void *)entry->key;
}
/* `config`: as ot_config_print prints it. */
void ot_index_entry_make(const optune_record *record, const ot_digest *digest,
                         const char *config, ot_index_entry *entry);
void ot_index_entry_of(const optune_record *record, const ot_digest *digest,
                       ot_index_entry *entry);
typedef struct ot_lead { /* all that leads to a record */
    ot_digest digest;
    ot_index_entry entry;
    bool hint; /* it is one, and is found so, too: */
    unsigned char hint_key[OT_BEST_KEY];
} ot_lead;
void ot_lead_make(const optune_record *record, const ot_digest *digest, const char *config,
                  ot_lead *lead);
/* Of records that were put by this transaction; and their questions' summaries. They are sorted. */
int ot_leads_put(ot_writer *writer, const ot_lead **lead, int n, optune_err *err);
/* batch.c: what is not known of it. */
typedef int ot_lead_fn(void *arg, const ot_lead *lead, ot_bytes record, optune_err *err);
int ot_batch_each(const ot_batch *batch, ot_lead_fn *fn, void *arg, optune_err *err);
/* A hint names no digest: nobody knows what computed it. Where it is found, whatever device and
 * options it is of, by call and kind of target; false: the record is none that may serve. */
ot_digest ot_hint_digest(const char *call, const char *target);
bool ot_index_hint(const optune_record *record, const ot_digest *digest,
                   unsigned char key[OT_BEST_KEY]);
/* Removes records with their entries; `forget`: and they are not stored again. */
int ot_store_drop(ot_store *store, const ot_digest *digest, int n, bool forget,
                  optune_err *err);
const atomic_bool *ot_store_stopped_by(const ot_store *store);
/* recover.c: the logs of a database, oldest first; a negative status ends it. */
typedef int (*ot_each_log_fn)(void *arg, const char *path, const char *name, int64_t size);
#define OT_LOG_PRUNED                                                                          \
    ".pruned" /* behind a log's name: what is to take its place; who has
                                 * claimed the log writes it, and what a killed one left goes */
int ot_each_log(const char *dir, ot_each_log_fn fn, void *arg, optune_err *err);
extern int64_t
    ot_recover_at_once; /* bytes of logs that are stored together; tests want fewer */
/* Of each of them so many bytes are stored; -1: all of it is to be read again. */
typedef struct ot_stored_log {
    const char *name;
    int64_t size;
} ot_stored_log;
int ot_store_logs_done(ot_store *store, const ot_stored_log *log, int n, optune_err *err);
/* How many bytes of it are stored; -1: that is not known. *old: an older version says so, which did
 * not know all lines. */
int64_t ot_store_log_mark(ot_store *store, const char *name, bool *old);
/* reading.c: logs one behind the other, what they say into the store, or `given` (NULL: none),
 * which is stored by whoever gave it. */
typedef struct ot_reading ot_reading;
struct ot_bulk;
ot_reading *ot_reading_open(ot_store *store, struct ot_bulk *given);
void ot_reading_close(ot_reading *reading); /* what was not stored is not; NULL is fine */
/* `own`: what it says was forgotten is. What it says waits, at most until the next call. */
int ot_reading_take(ot_reading *reading, const char *path, bool own, optune_err *err);
/* All that was read; afterwards another store may be there. */
int ot_reading_store(ot_reading *reading, optune_err *err);
/* Whether something could not be stored, for who wants to know that it was no log's fault. */
int ot_reading_failed(ot_reading *reading, optune_err *err);
int64_t ot_reading_added(const ot_reading *reading);   /* records that were missing */
int64_t ot_reading_refused(const ot_reading *reading); /* lines */
/* An open file while which nobody appends to it; -1: somebody does, or it cannot be opened, which
 * errno says if it was 0 before. close() ends that. */
int ot_log_claim(const char *path);
ot_write_lock *ot_store_lock(const ot_store *store); /* of who writes */

#endif
