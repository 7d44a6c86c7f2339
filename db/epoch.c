/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who wrote last: a version that makes summaries (summary.c), or one that does not know them. The
 * entry `summaries` of `meta` has the number of the last transaction that made them and that of the
 * first since which all did, which is the epoch. LMDB counts a store's transactions, so any other
 * one in between shows.
 */
#include <string.h>

#include "db/deciding.h"
#include "db/env.h"

const ot_bytes ot_epoch_name = {"summaries", 9}, ot_summing_name = {"summing", 7};

bool ot_epoch_is(const ot_bytes *key)
{
    return !ot_bytes_order(key, &ot_epoch_name) || !ot_bytes_order(key, &ot_summing_name);
}

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

bool ot_epoch_holds(const ot_bytes *value, int64_t snapshot, uint64_t *first)
{
    epoch e;
    if (!read_epoch(value, &e) || e.last != (uint64_t)snapshot)
        return false;
    *first = e.first;
    return true;
}

/* Where nothing is that has none, all have one from here on. */
static int begin(const env *e, MDB_txn *txn, uint64_t serial)
{
    MDB_stat index;
    ot_text all = {0};
    int rc = mdb_drop(txn, e->table[OT_TABLE_SUMMARY], 0);
    rc = rc ? rc : mdb_stat(txn, e->table[OT_TABLE_BEST], &index);
    if (rc || index.ms_entries)
        return rc;
    ot_summary_all(serial, &all);
    MDB_val key = value_of(ot_summary_all_key), value = value_of((ot_bytes){all.s, all.n});
    rc = mdb_put(txn, e->table[OT_TABLE_SUMMARY], &key, &value, 0);
    ot_text_release(&all);
    return rc;
}

int ot_epoch_enter(const env *e, MDB_txn *txn, uint64_t *serial)
{
    epoch was = {0};
    MDB_val key = value_of(ot_epoch_name), value;
    *serial = mdb_txn_id(txn);
    int rc = mdb_get(txn, e->table[OT_TABLE_META], &key, &value);
    const ot_bytes stored = rc ? (ot_bytes){NULL, 0} : bytes_of(value);
    if (rc && rc != MDB_NOTFOUND)
        return rc;
    if (!read_epoch(&stored, &was) || was.last + 1 != *serial) {
        was.first = *serial;
        rc = begin(e, txn, *serial);
        if (rc)
            return rc;
    }
    was.last = *serial;
    value = value_of((ot_bytes){&was, sizeof was});
    return mdb_put(txn, e->table[OT_TABLE_META], &key, &value, 0);
}

int ot_epoch_copied(MDB_env *to, const char *meta_name)
{
    MDB_txn *txn;
    MDB_dbi meta;
    int rc = mdb_txn_begin(to, NULL, 0, &txn);
    if (rc)
        return rc;
    const epoch own = {mdb_txn_id(txn), mdb_txn_id(txn)};
    MDB_val key = value_of(ot_epoch_name), value = value_of((ot_bytes){&own, sizeof own});
    rc = mdb_dbi_open(txn, meta_name, 0, &meta);
    rc = rc ? rc : mdb_put(txn, meta, &key, &value, 0);
    if (rc == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}
