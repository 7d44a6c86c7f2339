/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB at work: transactions, tables of bytes. Knows nothing of records, and never keeps data that
 * the logs could not restore. Read transactions wait in a pool, reset, to be used again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "db/walk.h"

/* ---- environments ------------------------------------------------------------------------ */

static const size_t smallest_map = (size_t)64 << 20, largest_map = (size_t)64 << 30;

/* Address space that this process may still use; SIZE_MAX: it is not limited. */
static size_t room_left(void)
{
    struct rlimit most;
    size_t pages = 0;
    if (getrlimit(RLIMIT_AS, &most) < 0 || most.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    FILE *used = fopen("/proc/self/statm", "re");
    if (used && fscanf(used, "%zu", &pages) != 1)
        pages = 0;
    if (used)
        fclose(used);
    const size_t bytes = pages * (size_t)sysconf(_SC_PAGESIZE);
    return most.rlim_cur > bytes ? most.rlim_cur - bytes : 0;
}

/* Of limited address space a quarter of what is left: a second store, a file that is checked and
 * all else need some beside it. What the file has already may be doubled within half of that. One
 * that is made from `source` comes behind them, and gets half; three quarters, where it takes as
 * many bytes as that has. */
static size_t map_size(const char *path, const char *source)
{
    const size_t room = room_left(), quarter = room / 4;
    if (room == SIZE_MAX)
        return largest_map;
    const size_t least = source ? 2 * quarter : quarter, most = least + quarter;
    const size_t bytes = (size_t)ot_swap_bytes(source ? source : path);
    size_t size = source ? bytes + bytes / 8 : 2 * bytes;
    size = size > least ? size : least;
    size = size < most ? size : most;
    size = size > smallest_map ? size & ~(smallest_map / 64 - 1) : smallest_map;
    return size < largest_map ? size : largest_map;
}

/* One huge sparse map, never grown while open; a smaller one where address space is limited. */
int ot_env_open_mdb(const char *path, const char *source, unsigned flags, MDB_env **mdb)
{
    int rc;
    for (size_t size = map_size(path, source);; size = size / 4) {
        size = size > smallest_map ? size : smallest_map;
        if ((rc = mdb_env_create(mdb)) != 0)
            return rc;
        mdb_env_set_maxreaders(*mdb, OT_READERS);
        mdb_env_set_maxdbs(*mdb, OT_TABLES);
        mdb_env_set_mapsize(*mdb, size);
        rc = mdb_env_open(*mdb, path, MDB_NOTLS | flags, 0664);
        if (rc == 0)
            return 0;
        mdb_env_close(*mdb);
        *mdb = NULL;
        if (size == smallest_map || (rc != ENOMEM && rc != EINVAL && rc != EFBIG))
            return rc;
    }
}

/* ---- failing ----------------------------------------------------------------------------- */

static int fail_damaged(const env *e, const char *doing, const char *how, optune_err *err)
{
    ot_text why = {0};
    ot_text_printf(&why, "cannot %s database '%s': it is damaged (%s)", doing, e->path, how);
    const int status = ot_place_damaged(e->dir, why.s, err);
    ot_text_release(&why);
    return status;
}

/* Says what LMDB or the system refused, and what to do about it. */
int ot_env_fail(const env *e, int rc, const char *doing, optune_err *err)
{
    const char *why = mdb_strerror(rc);
    int status = OPTUNE_ESTORE;
    switch (rc) {
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_BAD_TXN:
    case MDB_PANIC:
    case MDB_NOTFOUND:
        return fail_damaged(e, doing, why, err);
    case MDB_VERSION_MISMATCH:
        status = OPTUNE_EVERSION;
        why = "it was written by another version of LMDB";
        break;
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
        why = "it has outgrown the address space this process may use; raise `ulimit -v`";
        break;
    case MDB_READERS_FULL:
        why = "the places of all readers are taken; end some processes";
        break;
    default:
        if (rc > 0)
            return ot_place_refused(e->path, doing, rc, err);
    }
    return optune_fail(err, status, "cannot %s database '%s': %s", doing, e->path, why);
}

static int check_here(env *e, optune_err *err)
{
    if (e->forks != ot_forks())
        return optune_fail(err, OPTUNE_ESTORE,
                           "database '%s' was opened before fork: open it again", e->path);
    if (!ot_sight_whole(e->sight))
        return optune_fail(err, OPTUNE_ESTORE,
                           "database '%s' was removed, replaced or cut off while it was open: "
                           "open it again",
                           e->path);
    return OPTUNE_OK;
}

int ot_store_in_place(ot_store *store, optune_err *err)
{
    env *e = store->env;
    return ot_sight_look(e->sight) ? OPTUNE_OK : check_here(e, err);
}

/* ---- reading ----------------------------------------------------------------------------- */

void ot_env_drop_snapshot(ot_snapshot *r)
{
    mdb_txn_abort(r->txn);
    ot_roots_release(r);
}

static int begin_fresh(env *e, ot_snapshot *r)
{
    MDB_txn *txn = NULL;
    int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn);
    if (rc == MDB_READERS_FULL) {
        /* Places of killed processes may be among them. */
        mdb_reader_check(e->mdb, NULL);
        rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn);
    }
    r->txn = txn;
    return rc;
}

static int begin_peek(ot_store *store, ot_snapshot *reader, optune_err *err)
{
    optune_err why = {0};
    ot_peek_view *view;
    const int status = ot_peek_begin(ot_sight_peek(store->env->sight), store->env->vetted,
                                     ot_env_tables, &view, &why);
    *reader = (ot_snapshot){.store = store, .view = view};
    return status < 0 ? ot_place_damaged(store->env->dir, why.text, err) : status;
}

int ot_snapshot_begin(ot_store *store, ot_snapshot *reader, optune_err *err)
{
    env *e = store->env;
    if (ot_hold_lend(store, reader))
        return OPTUNE_OK;
    *reader = (ot_snapshot){.store = store};
    OT_RETURN_UNLESS_OK(check_here(e, err));
    if (e->read_only || e->twin || !e->map)
        return begin_peek(store, reader, err);
    *reader = (ot_snapshot){0};
    pthread_mutex_lock(&e->lock);
    if (e->n_idle > 0)
        *reader = e->idle[--e->n_idle];
    pthread_mutex_unlock(&e->lock);
    reader->store = store;
    reader->walks = true;
    int rc;
    if (!reader->txn)
        rc = begin_fresh(e, reader);
    else if ((rc = mdb_txn_renew(reader->txn)) != 0)
        ot_env_drop_snapshot(reader);
    if (rc)
        return ot_env_fail(e, rc, "read", err);
    const int status = ot_roots_begin(reader, &rc, err);
    if (status != OPTUNE_OK)
        ot_env_drop_snapshot(reader);
    if (rc)
        return ot_env_fail(e, rc, "read", err);
    return status == 1 ? begin_peek(store, reader, err) : status;
}

void ot_snapshot_end(ot_snapshot *reader)
{
    env *e = reader->store->env;
    if (reader->lent) {
        ot_hold_take_back(reader);
        return;
    }
    if (reader->view) {
        ot_peek_end(reader->view);
        return;
    }
    mdb_txn_reset(reader->txn);
    reader->seen.summary =
        0; /* the epoch is that of a snapshot of this number, whoever reads it */
    pthread_mutex_lock(&e->lock);
    bool kept = e->n_idle < POOL;
    if (kept)
        e->idle[e->n_idle++] = *reader;
    pthread_mutex_unlock(&e->lock);
    if (!kept)
        ot_env_drop_snapshot(reader);
}

static int peek(ot_snapshot *reader, ot_kv_table table, ot_bytes from, bool behind,
                ot_bytes *key, ot_bytes *value, optune_err *err)
{
    optune_err why = {0};
    const int status = ot_peek_seek(reader->view, table, from, behind, key, value, &why);
    return status < 0 ? ot_place_damaged(reader->store->env->dir, why.text, err) : status;
}

/* What mdb_get said; 1: there is none. */
static int got_value(const env *e, int rc, const MDB_val *got, ot_bytes *value, optune_err *err)
{
    if (rc == MDB_NOTFOUND)
        return 1;
    if (rc)
        return ot_env_fail(e, rc, "read", err);
    *value = bytes_of(*got);
    return OPTUNE_OK;
}

int ot_snapshot_get(ot_snapshot *reader, ot_kv_table table, ot_bytes key, ot_bytes *value,
                    optune_err *err)
{
    env *e = reader->store->env;
    if (reader->view) {
        ot_bytes at;
        const int status = peek(reader, table, key, false, &at, value, err);
        return status ? status : at.n != key.n || memcmp(at.data, key.data, key.n) != 0;
    }
    if (reader->walks)
        return ot_walk_get(reader, table, key, value, err);
    if (e->absent[table])
        return 1;
    OT_RETURN_UNLESS_OK(ot_meet_key(reader->store, reader->roots, table, key, err));
    MDB_val wanted = value_of(key), got;
    int rc = mdb_get(reader->txn, e->table[table], &wanted, &got);
    return got_value(e, rc, &got, value, err);
}

static int move(ot_snapshot *reader, ot_kv_table table, MDB_cursor_op op, ot_bytes *key,
                ot_bytes *value, optune_err *err)
{
    env *e = reader->store->env;
    int rc = 0;
    if (reader->view)
        return peek(reader, table, *key, op == MDB_NEXT, key, value, err);
    if (e->absent[table])
        return 1;
    OT_RETURN_UNLESS_OK(
        ot_meet_next(reader->store, reader->roots, table, *key, op == MDB_NEXT, err));
    if (!reader->cursor[table]) {
        MDB_cursor *cursor = NULL;
        rc = mdb_cursor_open(reader->txn, e->table[table], &cursor);
        reader->cursor[table] = cursor;
    }
    MDB_val at = value_of(*key), got;
    if (rc == 0)
        rc = mdb_cursor_get(reader->cursor[table], &at, &got, op);
    if (rc == MDB_NOTFOUND)
        return 1;
    if (rc)
        return ot_env_fail(e, rc, "read", err);
    *key = bytes_of(at);
    *value = bytes_of(got);
    return OPTUNE_OK;
}

int ot_snapshot_seek(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                     optune_err *err)
{
    if (reader->walks)
        return ot_walk_seek(reader, table, key, value, err);
    return move(reader, table, key->n ? MDB_SET_RANGE : MDB_FIRST, key, value, err);
}

int ot_snapshot_next(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                     optune_err *err)
{
    if (reader->walks)
        return ot_walk_next(reader, table, key, value, err);
    return move(reader, table, MDB_NEXT, key, value, err);
}

int64_t ot_snapshot_number(const ot_snapshot *reader)
{
    return reader->view ? ot_peek_snapshot(reader->view) : (int64_t)mdb_txn_id(reader->txn);
}

int64_t ot_snapshot_count(ot_snapshot *reader, ot_kv_table table)
{
    MDB_stat stat;
    const env *e = reader->store->env;
    if (reader->walks)
        return ot_walk_count(reader, table);
    if (reader->view || e->absent[table] || mdb_stat(reader->txn, e->table[table], &stat) != 0)
        return -1;
    return (int64_t)stat.ms_entries;
}

bool ot_snapshot_epoch(ot_snapshot *reader, uint64_t *first)
{
    struct ot_seen *seen = &reader->seen;
    ot_bytes value;
    const int64_t number = reader->view ? 0 : ot_snapshot_number(reader);
    if (!seen->epoch || reader->view || seen->number != number) {
        seen->epoch =
            ot_snapshot_get(reader, OT_TABLE_META, ot_epoch_name, &value, NULL) == OPTUNE_OK &&
                    ot_epoch_holds(&value, ot_snapshot_number(reader), &seen->first)
                ? 1
                : -1;
        seen->number = number;
    }
    if (seen->epoch > 0)
        *first = seen->first;
    return seen->epoch > 0;
}

/* ---- writing ----------------------------------------------------------------------------- */

int ot_writer_begin(ot_store *store, ot_writer *writer, optune_err *err)
{
    env *e = store->env;
    *writer = (ot_writer){.store = store};
    if (store->mode != OT_STORE_WRITE)
        return optune_fail(err, OPTUNE_ESTORE, "database '%s' was opened to be read", e->path);
    OT_RETURN_UNLESS_OK(check_here(e, err));
    OT_RETURN_UNLESS_OK(ot_write_lock_take(e->write_lock, store->stop, err));
    MDB_txn *txn = NULL;
    writer->txn = NULL;
    int status = ot_store_in_place(store, err);
    int rc = status < 0 ? 0 : mdb_txn_begin(e->mdb, NULL, 0, &txn);
    writer->txn = txn;
    status = rc ? ot_env_fail(e, rc, "write to", err) : status;
    if (status >= 0 && (status = ot_meet_begin(writer, err)) < 0)
        mdb_txn_abort(txn);
    if (status < 0)
        ot_write_lock_give(e->write_lock);
    return status;
}

/* In front of the first change of a transaction. */
static int enter(ot_writer *writer, optune_err *err)
{
    env *e = writer->store->env;
    ot_bytes value;
    uint64_t first;
    if (writer->serial || e->absent[OT_TABLE_SUMMARY])
        return OPTUNE_OK;
    const int found = ot_writer_get(writer, OT_TABLE_META, ot_epoch_name, &value, err);
    if (found < 0)
        return found;
    /* All summaries are removed if an older version wrote last. */
    if (found || !ot_epoch_holds(&value, (int64_t)mdb_txn_id(writer->txn) - 1, &first))
        OT_RETURN_UNLESS_OK(ot_meet_all(writer->store, err));
    const int rc = ot_epoch_enter(e, writer->txn, &writer->serial);
    return rc ? ot_env_fail(e, rc, "write to", err) : OPTUNE_OK;
}

int ot_writer_put(ot_writer *writer, ot_kv_table table, ot_bytes key, ot_bytes value,
                  ot_bytes *known, optune_err *err)
{
    env *e = writer->store->env;
    MDB_val at = value_of(key), what = value_of(value);
    OT_RETURN_UNLESS_OK(enter(writer, err));
    OT_RETURN_UNLESS_OK(ot_meet_key(writer->store, writer->roots, table, key, err));
    int rc = mdb_put(writer->txn, e->table[table], &at, &what, known ? MDB_NOOVERWRITE : 0);
    if (rc == MDB_KEYEXIST) {
        *known = bytes_of(what);
        return 1;
    }
    return rc ? ot_env_fail(e, rc, "write to", err) : OPTUNE_OK;
}

int ot_writer_get(ot_writer *writer, ot_kv_table table, ot_bytes key, ot_bytes *value,
                  optune_err *err)
{
    env *e = writer->store->env;
    OT_RETURN_UNLESS_OK(ot_meet_key(writer->store, writer->roots, table, key, err));
    MDB_val at = value_of(key), got;
    const int rc = mdb_get(writer->txn, e->table[table], &at, &got);
    return got_value(e, rc, &got, value, err);
}

int ot_writer_delete(ot_writer *writer, ot_kv_table table, ot_bytes key, optune_err *err)
{
    env *e = writer->store->env;
    MDB_val at = value_of(key);
    OT_RETURN_UNLESS_OK(enter(writer, err));
    OT_RETURN_UNLESS_OK(ot_meet_all(writer->store, err));
    const int rc = mdb_del(writer->txn, e->table[table], &at, NULL);
    return rc && rc != MDB_NOTFOUND ? ot_env_fail(e, rc, "write to", err) : OPTUNE_OK;
}

bool ot_writer_follows(const ot_writer *writer, int64_t snapshot)
{
    return (int64_t)mdb_txn_id(writer->txn) == snapshot + 1;
}

int ot_writer_commit(ot_writer *writer, optune_err *err)
{
    env *e = writer->store->env;
    ot_meet_end(writer);
    const int rc = mdb_txn_commit(writer->txn);
    ot_sight_count(e->sight);
    ot_write_lock_give(e->write_lock);
    return rc ? ot_env_fail(e, rc, "write to", err) : OPTUNE_OK;
}

void ot_writer_abort(ot_writer *writer)
{
    ot_meet_end(writer);
    mdb_txn_abort(writer->txn);
    ot_write_lock_give(writer->store->env->write_lock);
}

void ot_writer_view(ot_writer *writer, ot_snapshot *reader)
{
    *reader = (ot_snapshot){.store = writer->store, .txn = writer->txn, .roots = writer->roots};
}

void ot_writer_view_end(ot_snapshot *reader)
{
    for (int i = 0; i < OT_TABLES; i++)
        if (reader->cursor[i])
            mdb_cursor_close(reader->cursor[i]);
}

void ot_store_touch(ot_store *store)
{
    ot_sight_count(store->env->sight);
}

void ot_store_passed(ot_store *store)
{
    atomic_fetch_add(&store->passed, 1);
}

int ot_store_damaged(const ot_store *store)
{
    return atomic_load(&store->passed);
}

const atomic_bool *ot_store_stopped_by(const ot_store *store)
{
    return store->stop;
}

ot_write_lock *ot_store_lock(const ot_store *store)
{
    return store->env->write_lock;
}

const char *ot_store_dir(const ot_store *store)
{
    return store->env->dir;
}

int64_t ot_store_bytes_used(ot_store *store)
{
    MDB_envinfo info;
    MDB_stat size;
    if (store->env->read_only)
        return ot_peek_bytes(ot_sight_peek(store->env->sight));
    mdb_env_info(store->env->mdb, &info);
    mdb_env_stat(store->env->mdb, &size);
    return (int64_t)(info.me_last_pgno + 1) * size.ms_psize;
}

bool ot_store_gone(ot_store *store)
{
    return store->env->forks != ot_forks() || ot_sight_gone(store->env->sight);
}

bool ot_store_here(const ot_store *store)
{
    return store->env->forks == ot_forks() && ot_sight_here(store->env->sight);
}

int64_t ot_store_last(const ot_store *store)
{
    return ot_sight_last(store->env->sight);
}

int64_t ot_store_snapshot(ot_store *store)
{
    ot_snapshot reader;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return -1;
    const int64_t snapshot = ot_snapshot_number(&reader);
    ot_snapshot_end(&reader);
    return snapshot;
}
