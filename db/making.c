/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is written whole, beside the one it is made from: each table in key order, so that
 * its pages are full and each is written once. Nobody sees it before it is in its place, so it is
 * waited for once, at its end.
 */
#include <stdlib.h>

#include "db/deciding.h"
#include "db/env.h"

enum {
    AT_ONCE = 16 << 20, /* bytes of a transaction */
    DIGEST = 16
};

struct ot_making {
    const env *from;
    MDB_env *to;
    MDB_txn *txn;
    MDB_dbi table[OT_TABLES];
    bool absent[OT_TABLES];
    MDB_cursor *cursor[OT_TABLES]; /* at the end of what is there */
    size_t waiting;
    ot_digest asked;   /* the question whose entries of the index come */
    ot_briefs entries; /* those that came */
    int64_t questions; /* that have a summary */
    ot_text summary;
};

static int begin(ot_making *m)
{
    m->waiting = 0;
    return mdb_txn_begin(m->to, NULL, 0, &m->txn);
}

static void close_cursors(ot_making *m)
{
    for (int i = 0; i < OT_TABLES; i++)
        if (m->cursor[i])
            mdb_cursor_close(m->cursor[i]);
    memset(m->cursor, 0, sizeof m->cursor);
}

static int commit(ot_making *m)
{
    close_cursors(m);
    const int rc = mdb_txn_commit(m->txn);
    m->txn = NULL;
    return rc;
}

static int fail(const ot_making *m, int rc, optune_err *err)
{
    return ot_env_fail(m->from, rc, "copy", err);
}

int ot_making_begin(ot_snapshot *from, const char *path, ot_making **made, optune_err *err)
{
    ot_making *m = ot_alloc(sizeof *m);
    m->from = from->store->env;
    /* Nobody else has it, and LMDB's lock file is full of holes: SIGBUS where the disk is. */
    int rc = ot_env_open_mdb(path, m->from->path, MDB_NOSYNC | MDB_NOLOCK, &m->to);
    rc = rc ? rc : begin(m);
    for (int i = 0; i < OT_TABLES && rc == 0; i++) {
        m->absent[i] = m->from->absent[i];
        if (!m->absent[i])
            rc = mdb_dbi_open(m->txn, ot_env_tables[i], MDB_CREATE, &m->table[i]);
    }
    *made = m;
    return rc ? fail(m, rc, err) : OPTUNE_OK;
}

static int put(ot_making *m, ot_kv_table table, ot_bytes key, ot_bytes value)
{
    MDB_val at = value_of(key), what = value_of(value);
    int rc = m->waiting > AT_ONCE ? commit(m) : 0;
    if (rc == 0 && !m->txn)
        rc = begin(m);
    if (rc == 0 && !m->cursor[table])
        rc = mdb_cursor_open(m->txn, m->table[table], &m->cursor[table]);
    if (rc == 0)
        rc = mdb_cursor_put(m->cursor[table], &at, &what, MDB_APPEND);
    m->waiting += key.n + value.n;
    return rc;
}

int ot_making_put(ot_making *m, ot_kv_table table, ot_bytes key, ot_bytes value,
                  optune_err *err)
{
    const int rc = put(m, table, key, value);
    return rc ? fail(m, rc, err) : OPTUNE_OK;
}

/* ---- the index, with its summaries ------------------------------------------------------- */

int ot_making_index_begin(ot_making *m, optune_err *err)
{
    ot_summary_all(OT_SUMMARY_MADE, &m->summary);
    return ot_making_put(m, OT_TABLE_SUMMARY, ot_summary_all_key,
                         (ot_bytes){m->summary.s, m->summary.n}, err);
}

/* A damaged key may be nobody's, which is what stands in front of all summaries. */
static int sum_up(ot_making *m, optune_err *err)
{
    const bool any = m->entries.n > 0;
    if (any)
        ot_deciding(m->entries.at, m->entries.n);
    if (any)
        ot_summary_print(&m->asked, OT_SUMMARY_MADE, &m->entries, &m->summary);
    m->entries.n = 0;
    if (!any || memcmp(m->asked.byte, ot_summary_all_key.data, DIGEST) == 0)
        return OPTUNE_OK;
    m->questions++;
    return ot_making_put(m, OT_TABLE_SUMMARY, (ot_bytes){m->asked.byte, DIGEST},
                         (ot_bytes){m->summary.s, m->summary.n}, err);
}

int ot_making_index_put(ot_making *m, ot_bytes key, ot_bytes value, optune_err *err)
{
    if (key.n == OT_BEST_KEY) {
        if (memcmp(m->asked.byte, key.data, DIGEST) != 0)
            OT_RETURN_UNLESS_OK(sum_up(m, err));
        memcpy(m->asked.byte, key.data, DIGEST);
        ot_briefs_add(&m->entries, &key, &value);
    }
    return ot_making_put(m, OT_TABLE_BEST, key, value, err);
}

int ot_making_index_end(ot_making *m, int64_t *questions, optune_err *err)
{
    const int status = sum_up(m, err);
    *questions = m->questions;
    return status;
}

/* ---- of another -------------------------------------------------------------------------- */

int ot_making_goes_on(const atomic_bool *stop, optune_err *err)
{
    return stop && atomic_load(stop)
               ? optune_fail(
                     err, OPTUNE_EINTERRUPTED,
                     "interrupted while a store was made in place of another, which is as "
                     "it was")
               : OPTUNE_OK;
}

int ot_making_copy(ot_making *m, ot_snapshot *from, ot_kv_table table, const atomic_bool *stop,
                   optune_err *err)
{
    ot_bytes key = {0}, value;
    ot_text moved = {0};
    int status = ot_snapshot_seek(from, table, &key, &value, err);
    while (status == OPTUNE_OK && (status = ot_making_goes_on(stop, err)) >= 0) {
        /* Of the old one's transactions; the new one gets its own (ot_making_end), or none. */
        const bool stays = table == OT_TABLE_META && ot_epoch_is(&key);
        if (table == OT_TABLE_SUMMARY) {
            ot_summary_moved(&key, &value, &moved);
            value = (ot_bytes){moved.s, moved.n};
        }
        status = stays ? OPTUNE_OK : ot_making_put(m, table, key, value, err);
        if (status == OPTUNE_OK)
            status = ot_snapshot_next(from, table, &key, &value, err);
    }
    ot_text_release(&moved);
    return status < 0 ? status : OPTUNE_OK;
}

int ot_making_end(ot_making *m, bool summed, optune_err *err)
{
    int rc = m->txn ? commit(m) : 0;
    if (rc == 0 && summed)
        rc = ot_epoch_copied(m->to, ot_env_tables[OT_TABLE_META]);
    if (rc == 0)
        rc = mdb_env_sync(m->to, 1);
    return rc ? fail(m, rc, err) : OPTUNE_OK;
}

void ot_making_close(ot_making *m)
{
    if (!m)
        return;
    close_cursors(m);
    if (m->txn)
        mdb_txn_abort(m->txn);
    if (m->to)
        mdb_env_close(m->to);
    free(m->entries.at);
    ot_text_release(&m->summary);
    free(m);
}

static int copy_index(ot_making *m, ot_snapshot *from, const atomic_bool *stop, optune_err *err)
{
    ot_bytes key = {0}, value;
    int64_t questions;
    OT_RETURN_UNLESS_OK(ot_making_index_begin(m, err));
    int status = ot_snapshot_seek(from, OT_TABLE_BEST, &key, &value, err);
    while (status == OPTUNE_OK && (status = ot_making_goes_on(stop, err)) >= 0) {
        status = ot_making_index_put(m, key, value, err);
        if (status == OPTUNE_OK)
            status = ot_snapshot_next(from, OT_TABLE_BEST, &key, &value, err);
    }
    return status < 0 ? status : ot_making_index_end(m, &questions, err);
}

/* Where not each question has a summary that is believed, all are made anew. */
int ot_store_copy(ot_snapshot *from, const char *path, const atomic_bool *stop, optune_err *err)
{
    ot_making *made = NULL;
    uint64_t epoch;
    int status = ot_making_begin(from, path, &made, err);
    const bool summed = ot_snapshot_epoch(from, &epoch) && ot_summary_has_all(from);
    const bool anew = !summed && status >= 0 && !made->absent[OT_TABLE_SUMMARY];
    for (int i = 0; i < OT_TABLES && status >= 0; i++)
        if (i == OT_TABLE_SUMMARY ? summed : i != OT_TABLE_BEST || !anew)
            status = ot_making_copy(made, from, (ot_kv_table)i, stop, err);
    if (status >= 0 && anew)
        status = copy_index(made, from, stop, err);
    if (status >= 0)
        status = ot_making_end(made, summed || anew, err);
    ot_making_close(made);
    return status;
}
