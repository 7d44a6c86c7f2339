/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who wrote last: a version that makes summaries (summary.c), or one that does not know them. The
 * entry `summaries` of `meta` has the number of the last transaction that made them and that of the
 * first since which all did, which is the epoch. LMDB counts a store's transactions, so any other
 * one in between shows.
 */
#include <string.h>

#include "db/env.h"

static const ot_bytes name = {"summaries", 9};

typedef struct epoch {
    uint64_t first, last; /* transactions */
} epoch;

static bool read_epoch(const ot_bytes *value, epoch *e)
{
    if (value->n != sizeof *e)
        return false;
    memcpy(e, value->data, sizeof *e);
    return true;
}

bool ot_snapshot_epoch(ot_snapshot *reader, uint64_t *first)
{
    epoch e = {0};
    ot_bytes value;
    if (ot_snapshot_get(reader, OT_TABLE_META, name, &value, NULL) || !read_epoch(&value, &e) ||
        e.last != (uint64_t)ot_snapshot_number(reader))
        return false;
    *first = e.first;
    return true;
}

/* In front of the first change of a transaction. */
int ot_writer_enter(ot_writer *writer, optune_err *err)
{
    env *e = writer->store->env;
    epoch was = {0};
    MDB_val key = value_of(name), value;
    if (writer->serial || e->absent[OT_TABLE_SUMMARY])
        return OPTUNE_OK;
    writer->serial = mdb_txn_id(writer->txn);
    int rc = mdb_get(writer->txn, e->table[OT_TABLE_META], &key, &value);
    const ot_bytes stored = rc ? (ot_bytes){NULL, 0} : bytes_of(value);
    if (rc && rc != MDB_NOTFOUND)
        return ot_env_fail(e, rc, "write to", err);
    if (!read_epoch(&stored, &was) || was.last + 1 != writer->serial) {
        was.first = writer->serial;
        rc = mdb_drop(writer->txn, e->table[OT_TABLE_SUMMARY], 0);
        if (rc)
            return ot_env_fail(e, rc, "write to", err);
    }
    was.last = writer->serial;
    value = value_of((ot_bytes){&was, sizeof was});
    rc = mdb_put(writer->txn, e->table[OT_TABLE_META], &key, &value, 0);
    return rc ? ot_env_fail(e, rc, "write to", err) : OPTUNE_OK;
}

/* The same of a copy, whose transactions are counted anew. */
int ot_epoch_copied(MDB_env *to)
{
    MDB_txn *txn;
    MDB_dbi meta;
    int rc = mdb_txn_begin(to, NULL, 0, &txn);
    if (rc)
        return rc;
    const epoch own = {mdb_txn_id(txn), mdb_txn_id(txn)};
    MDB_val key = value_of(name), value = value_of((ot_bytes){&own, sizeof own});
    rc = mdb_dbi_open(txn, ot_env_tables[OT_TABLE_META], 0, &meta);
    rc = rc ? rc : mdb_put(txn, meta, &key, &value, 0);
    if (rc == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}
