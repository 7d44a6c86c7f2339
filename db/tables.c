/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a store: made with it, opened once for all transactions of a process, and those
 * added that an older version did not have. Which layout they are of.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "db/walk.h"

enum { SCHEMA = 2 }; /* layout: 1 had no shared parts */

static int open_tables(env *e, MDB_txn *txn, unsigned flags)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < OT_TABLES; i++) {
        rc = mdb_dbi_open(txn, ot_env_tables[i], flags, &e->table[i]);
        e->absent[i] = rc == MDB_NOTFOUND && i > OT_TABLE_DEVICE;
        rc = e->absent[i] ? 0 : rc;
    }
    return rc;
}

/* Those that are missing, and which schema they are of. */
static int make_tables(env *e)
{
    MDB_txn *txn = NULL;
    uint32_t schema = SCHEMA;
    MDB_val key = value_of((ot_bytes){"schema", 6});
    MDB_val value = value_of((ot_bytes){&schema, sizeof schema});
    int rc = mdb_txn_begin(e->mdb, NULL, 0, &txn);
    if (rc == 0)
        rc = open_tables(e, txn, MDB_CREATE);
    if (rc == 0)
        rc = mdb_put(txn, e->table[OT_TABLE_META], &key, &value, 0);
    if (rc == 0)
        rc = mdb_txn_commit(txn);
    else if (txn)
        mdb_txn_abort(txn);
    return rc;
}

/* Makes an environment with its tables elsewhere and moves its data file into place: a data
 * file that is there is complete, whenever the process that made it was killed. */
int ot_env_create(env *e, optune_err *err)
{
    ot_text fresh = {0}, made = {0}, final = {0};
    ot_text_printf(&fresh, "%s/new", e->path);
    ot_text_printf(&made, "%s/data.mdb", fresh.s);
    ot_text_printf(&final, "%s/data.mdb", e->path);
    ot_remove_tree(fresh.s);
    int rc =
        mkdir(fresh.s, 0777) == 0 ? ot_env_open_mdb(fresh.s, NULL, MDB_NOLOCK, &e->mdb) : errno;
    if (rc == 0)
        rc = make_tables(e);
    if (e->mdb)
        mdb_env_close(e->mdb);
    e->mdb = NULL;
    if (rc == 0)
        ot_sight_counter(e->path);
    if (rc == 0 && rename(made.s, final.s) < 0)
        rc = errno;
    if (rc == 0)
        ot_made_at(final.s);
    ot_remove_tree(fresh.s);
    ot_text_release(&fresh);
    ot_text_release(&made);
    ot_text_release(&final);
    return rc ? ot_env_fail(e, rc, "create", err) : OPTUNE_OK;
}

int ot_env_check_schema(env *e, const ot_bytes *value, optune_err *err)
{
    uint32_t schema = 0;
    if (value->n != sizeof schema)
        return ot_env_fail(e, MDB_INVALID, "open", err);
    memcpy(&schema, value->data, sizeof schema);
    if (schema >= 1 && schema <= SCHEMA)
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EVERSION,
                       "database '%s' has layout %u, this version of optune knows %d; update "
                       "optune, or move it away and import the logs under '%s/logs'",
                       e->path, schema, SCHEMA, e->dir);
}

/* Tables are opened once, for all transactions of the process. 1: it may not read, as a process of
 * its number does. */
int ot_env_load_tables(env *e, unsigned flags, optune_err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(e->mdb, NULL, flags, &txn);
    if (rc == EAGAIN && flags == MDB_RDONLY)
        return 1;
    if (rc)
        return ot_env_fail(e, rc, "open", err);
    MDB_val key = value_of((ot_bytes){"schema", 6}), value;
    rc = open_tables(e, txn, 0);
    if (rc == 0)
        rc = mdb_get(txn, e->table[OT_TABLE_META], &key, &value);
    if (rc == 0)
        ot_roots_map(e, value.mv_data);
    const ot_bytes schema = bytes_of(value);
    const int status =
        rc ? ot_env_fail(e, rc, "open", err) : ot_env_check_schema(e, &schema, err);
    if (status < 0)
        mdb_txn_abort(txn);
    else
        mdb_txn_commit(txn); /* keeps the tables open */
    return status;
}

/* Who writes needs no place among the readers. */
int ot_env_load_as_twin(env *e, optune_err *err)
{
    ot_write_lock *lock = NULL;
    e->twin = true;
    int status = ot_write_lock_open(e->dir, OT_WRITE_LOCK, &lock, err);
    if (status >= 0)
        status = ot_write_lock_take(lock, NULL, err);
    if (status >= 0) {
        status = ot_env_load_tables(e, 0, err);
        ot_write_lock_give(lock);
    }
    ot_write_lock_close(lock);
    return status;
}

/* What an older version did not make yet; from then on it would misread what is written. */
int ot_env_add_tables(env *e, optune_err *err)
{
    if (!e->absent[OT_TABLE_FORGOTTEN] && !e->absent[OT_TABLE_QUARANTINE] &&
        !e->absent[OT_TABLE_SHARED] && !e->absent[OT_TABLE_HINT] &&
        !e->absent[OT_TABLE_SUMMARY])
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_write_lock_take(e->write_lock, NULL, err));
    const int rc = make_tables(e);
    ot_write_lock_give(e->write_lock);
    return rc ? ot_env_fail(e, rc, "write to", err) : OPTUNE_OK;
}
