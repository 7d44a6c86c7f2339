/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB's one door: environments, transactions, tables of bytes. Knows nothing of records, and
 * never keeps data that the logs could not restore. LMDB must not be opened twice in one
 * process nor be used across fork, so environments are kept in a list, counted, and belong to
 * the process that opened them. Read transactions wait in a pool, reset, to be used again.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdb.h>

#include "db/kv.h"
#include "db/peek.h"

enum {
    SCHEMA = 1,
    READERS = 2048,
    TABLES = 8,
    POOL = 64, /* idle read transactions kept */
};
static const size_t smallest_map = (size_t)64 << 20, largest_map = (size_t)64 << 30;

static const char *const table_names[OT_TABLES] = {
    [OT_TABLE_META] = "meta",           [OT_TABLE_RECORD] = "record",
    [OT_TABLE_BEST] = "best",           [OT_TABLE_DEVICE] = "device",
    [OT_TABLE_FORGOTTEN] = "forgotten", [OT_TABLE_QUARANTINE] = "quarantine",
};

typedef struct env {
    struct env *next;
    MDB_env *mdb;
    MDB_dbi table[OT_TABLES];
    bool absent[OT_TABLES]; /* an older version made the store */
    dev_t device_number;    /* of the data file: what "the same store" means */
    ino_t inode, lock_inode;
    pid_t pid;
    int users;
    bool read_only; /* this process may only read: there is no mdb */
    ot_sight *sight;
    ot_write_lock *write_lock;
    unsigned forks;
    char path[4096]; /* DIR/store */
    char dir[4096];
    pthread_mutex_t lock; /* over the pool */
    ot_reader idle[POOL];
    int n_idle;
} env;

struct ot_store {
    env *env;
    int mode;
    const atomic_bool *stop;
    atomic_int passed; /* damaged records passed over */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static env *open_envs;

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
static int fail(const env *e, int rc, const char *doing, optune_err *err)
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

/* ---- reading ----------------------------------------------------------------------------- */

static void drop_reader(ot_reader *r)
{
    for (int i = 0; i < OT_TABLES; i++)
        if (r->cursor[i])
            mdb_cursor_close(r->cursor[i]);
    mdb_txn_abort(r->txn);
}

static int begin_fresh(env *e, ot_reader *r)
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

static int begin_peek(ot_store *store, ot_reader *reader, optune_err *err)
{
    optune_err why = {0};
    ot_peek_view *view;
    const int status =
        ot_peek_begin(ot_sight_peek(store->env->sight), table_names, &view, &why);
    *reader = (ot_reader){.store = store, .view = view};
    return status < 0 ? ot_place_damaged(store->env->dir, why.text, err) : status;
}

int ot_reader_begin(ot_store *store, ot_reader *reader, optune_err *err)
{
    env *e = store->env;
    *reader = (ot_reader){.store = store};
    OT_RETURN_UNLESS_OK(check_here(e, err));
    if (e->read_only)
        return begin_peek(store, reader, err);
    *reader = (ot_reader){0};
    pthread_mutex_lock(&e->lock);
    if (e->n_idle > 0)
        *reader = e->idle[--e->n_idle];
    pthread_mutex_unlock(&e->lock);
    reader->store = store;
    int rc;
    if (!reader->txn)
        rc = begin_fresh(e, reader);
    else if ((rc = mdb_txn_renew(reader->txn)) != 0)
        drop_reader(reader);
    return rc ? fail(e, rc, "read", err) : OPTUNE_OK;
}

void ot_reader_end(ot_reader *reader)
{
    env *e = reader->store->env;
    if (reader->view) {
        ot_peek_end(reader->view);
        return;
    }
    mdb_txn_reset(reader->txn);
    memset(reader->live, 0, sizeof(reader->live));
    pthread_mutex_lock(&e->lock);
    bool kept = e->n_idle < POOL;
    if (kept)
        e->idle[e->n_idle++] = *reader;
    pthread_mutex_unlock(&e->lock);
    if (!kept)
        drop_reader(reader);
}

static MDB_val value_of(ot_bytes bytes)
{
    return (MDB_val){.mv_size = bytes.n, .mv_data = (void *)(uintptr_t)bytes.data};
}

static ot_bytes bytes_of(MDB_val value)
{
    return (ot_bytes){.data = value.mv_data, .n = value.mv_size};
}

static int peek(ot_reader *reader, ot_table table, ot_bytes from, bool behind, ot_bytes *key,
                ot_bytes *value, optune_err *err)
{
    optune_err why = {0};
    const int status = ot_peek_seek(reader->view, table, from, behind, key, value, &why);
    return status < 0 ? ot_place_damaged(reader->store->env->dir, why.text, err) : status;
}

int ot_reader_get(ot_reader *reader, ot_table table, ot_bytes key, ot_bytes *value,
                  optune_err *err)
{
    env *e = reader->store->env;
    if (reader->view) {
        ot_bytes at;
        const int status = peek(reader, table, key, false, &at, value, err);
        return status ? status : at.n != key.n || memcmp(at.data, key.data, key.n) != 0;
    }
    if (e->absent[table])
        return 1;
    MDB_val wanted = value_of(key), got;
    int rc = mdb_get(reader->txn, e->table[table], &wanted, &got);
    if (rc == MDB_NOTFOUND)
        return 1;
    if (rc)
        return fail(e, rc, "read", err);
    *value = bytes_of(got);
    return OPTUNE_OK;
}

static int move(ot_reader *reader, ot_table table, MDB_cursor_op op, ot_bytes *key,
                ot_bytes *value, optune_err *err)
{
    env *e = reader->store->env;
    int rc = 0;
    if (reader->view)
        return peek(reader, table, *key, op == MDB_NEXT, key, value, err);
    if (e->absent[table])
        return 1;
    if (!reader->cursor[table]) {
        MDB_cursor *cursor = NULL;
        rc = mdb_cursor_open(reader->txn, e->table[table], &cursor);
        reader->cursor[table] = cursor;
    } else if (!reader->live[table]) {
        rc = mdb_cursor_renew(reader->txn, reader->cursor[table]);
    }
    reader->live[table] = rc == 0;
    MDB_val at = value_of(*key), got;
    if (rc == 0)
        rc = mdb_cursor_get(reader->cursor[table], &at, &got, op);
    if (rc == MDB_NOTFOUND)
        return 1;
    if (rc)
        return fail(e, rc, "read", err);
    *key = bytes_of(at);
    *value = bytes_of(got);
    return OPTUNE_OK;
}

int ot_reader_seek(ot_reader *reader, ot_table table, ot_bytes *key, ot_bytes *value,
                   optune_err *err)
{
    return move(reader, table, key->n ? MDB_SET_RANGE : MDB_FIRST, key, value, err);
}

int ot_reader_next(ot_reader *reader, ot_table table, ot_bytes *key, ot_bytes *value,
                   optune_err *err)
{
    return move(reader, table, MDB_NEXT, key, value, err);
}

/* ---- writing ----------------------------------------------------------------------------- */

int ot_writer_begin(ot_store *store, ot_writer *writer, optune_err *err)
{
    env *e = store->env;
    assert(store->mode == OT_STORE_WRITE);
    *writer = (ot_writer){.store = store};
    OT_RETURN_UNLESS_OK(check_here(e, err));
    OT_RETURN_UNLESS_OK(ot_write_lock_take(e->write_lock, store->stop, err));
    MDB_txn *txn = NULL;
    writer->txn = NULL;
    int status = ot_sight_look(e->sight) ? OPTUNE_OK : check_here(e, err);
    int rc = status < 0 ? 0 : mdb_txn_begin(e->mdb, NULL, 0, &txn);
    writer->txn = txn;
    status = rc ? fail(e, rc, "write to", err) : status;
    if (status < 0)
        ot_write_lock_give(e->write_lock);
    return status;
}

int ot_writer_put(ot_writer *writer, ot_table table, ot_bytes key, ot_bytes value,
                  ot_bytes *known, optune_err *err)
{
    env *e = writer->store->env;
    MDB_val at = value_of(key), what = value_of(value);
    int rc = mdb_put(writer->txn, e->table[table], &at, &what, known ? MDB_NOOVERWRITE : 0);
    if (rc == MDB_KEYEXIST) {
        *known = bytes_of(what);
        return 1;
    }
    return rc ? fail(e, rc, "write to", err) : OPTUNE_OK;
}

int ot_writer_get(ot_writer *writer, ot_table table, ot_bytes key, ot_bytes *value,
                  optune_err *err)
{
    env *e = writer->store->env;
    MDB_val at = value_of(key), got;
    const int rc = mdb_get(writer->txn, e->table[table], &at, &got);
    if (rc == MDB_NOTFOUND)
        return 1;
    if (rc)
        return fail(e, rc, "read", err);
    *value = bytes_of(got);
    return OPTUNE_OK;
}

int ot_writer_delete(ot_writer *writer, ot_table table, ot_bytes key, optune_err *err)
{
    env *e = writer->store->env;
    MDB_val at = value_of(key);
    const int rc = mdb_del(writer->txn, e->table[table], &at, NULL);
    return rc && rc != MDB_NOTFOUND ? fail(e, rc, "write to", err) : OPTUNE_OK;
}

int ot_writer_commit(ot_writer *writer, optune_err *err)
{
    env *e = writer->store->env;
    const int rc = mdb_txn_commit(writer->txn);
    ot_sight_count(e->sight);
    ot_write_lock_give(e->write_lock);
    return rc ? fail(writer->store->env, rc, "write to", err) : OPTUNE_OK;
}

void ot_writer_abort(ot_writer *writer)
{
    mdb_txn_abort(writer->txn);
    ot_write_lock_give(writer->store->env->write_lock);
}

int ot_store_copy(ot_store *store, const char *path, optune_err *err)
{
    const int rc = mdb_env_copy2(store->env->mdb, path, MDB_CP_COMPACT);
    return rc ? fail(store->env, rc, "copy", err) : OPTUNE_OK;
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
    ot_reader reader;
    if (ot_reader_begin(store, &reader, NULL) < 0)
        return -1;
    const int64_t snapshot =
        reader.view ? ot_peek_snapshot(reader.view) : (int64_t)mdb_txn_id(reader.txn);
    ot_reader_end(&reader);
    return snapshot;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* One huge sparse map, never grown while open; a smaller one where address space is limited. */
static int open_mdb(const char *path, unsigned flags, MDB_env **mdb)
{
    int rc = ENOMEM;
    for (size_t size = largest_map; size >= smallest_map; size /= 4) {
        if ((rc = mdb_env_create(mdb)) != 0)
            return rc;
        mdb_env_set_maxreaders(*mdb, READERS);
        mdb_env_set_maxdbs(*mdb, TABLES);
        mdb_env_set_mapsize(*mdb, size);
        rc = mdb_env_open(*mdb, path, MDB_NOTLS | flags, 0664);
        if (rc == 0)
            return 0;
        mdb_env_close(*mdb);
        *mdb = NULL;
        if (rc != ENOMEM && rc != EINVAL && rc != EFBIG)
            break;
    }
    return rc;
}

static int open_tables(env *e, MDB_txn *txn, unsigned flags)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < OT_TABLES; i++) {
        rc = mdb_dbi_open(txn, table_names[i], flags, &e->table[i]);
        e->absent[i] = rc == MDB_NOTFOUND && i > OT_TABLE_DEVICE;
        rc = e->absent[i] ? 0 : rc;
    }
    return rc;
}

/* Makes an environment with its tables elsewhere and moves its data file into place: a data
 * file that is there is complete, whenever the process that made it was killed. */
static int create(env *e, optune_err *err)
{
    ot_text fresh = {0}, made = {0}, final = {0};
    ot_text_printf(&fresh, "%s/new", e->path);
    ot_text_printf(&made, "%s/data.mdb", fresh.s);
    ot_text_printf(&final, "%s/data.mdb", e->path);
    ot_remove_tree(fresh.s);
    MDB_txn *txn = NULL;
    uint32_t schema = SCHEMA;
    MDB_val key = value_of((ot_bytes){"schema", 6});
    MDB_val value = value_of((ot_bytes){&schema, sizeof(schema)});
    int rc = mkdir(fresh.s, 0777) == 0 ? open_mdb(fresh.s, 0, &e->mdb) : errno;
    if (rc == 0)
        rc = mdb_txn_begin(e->mdb, NULL, 0, &txn);
    if (rc == 0)
        rc = open_tables(e, txn, MDB_CREATE);
    if (rc == 0)
        rc = mdb_put(txn, e->table[OT_TABLE_META], &key, &value, 0);
    if (rc == 0)
        rc = mdb_txn_commit(txn);
    else if (txn)
        mdb_txn_abort(txn);
    if (e->mdb)
        mdb_env_close(e->mdb);
    e->mdb = NULL;
    if (rc == 0 && rename(made.s, final.s) < 0)
        rc = errno;
    ot_remove_tree(fresh.s);
    ot_text_release(&fresh);
    ot_text_release(&made);
    ot_text_release(&final);
    return rc ? fail(e, rc, "create", err) : OPTUNE_OK;
}

/* Creates what is missing, one process at a time. */
static int ensure(env *e, const char *data, optune_err *err)
{
    int status = ot_place_make(e->path, err);
    if (status < 0 || ot_exists(data))
        return status;
    const int directory = ot_place_lock(e->path, err);
    if (directory < 0)
        return directory;
    if (!ot_exists(data))
        status = create(e, err);
    if (status == OPTUNE_OK)
        fsync(directory);
    close(directory);
    return status;
}

static int check_schema(env *e, const ot_bytes *value, optune_err *err)
{
    uint32_t schema = 0;
    if (value->n != sizeof(schema))
        return fail(e, MDB_INVALID, "open", err);
    memcpy(&schema, value->data, sizeof(schema));
    if (schema == SCHEMA)
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EVERSION,
                       "database '%s' has layout %u, this version of optune knows %d; update "
                       "optune, or move it away and import the logs under '%s/logs'",
                       e->path, schema, SCHEMA, e->dir);
}

/* Tables are opened once, for all transactions of the process. */
static int load_tables(env *e, optune_err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn);
    if (rc)
        return fail(e, rc, "open", err);
    MDB_val key = value_of((ot_bytes){"schema", 6}), value;
    rc = open_tables(e, txn, 0);
    if (rc == 0)
        rc = mdb_get(txn, e->table[OT_TABLE_META], &key, &value);
    const ot_bytes schema = bytes_of(value);
    const int status = rc ? fail(e, rc, "open", err) : check_schema(e, &schema, err);
    if (status < 0)
        mdb_txn_abort(txn);
    else
        mdb_txn_commit(txn); /* keeps the tables open */
    return status;
}

/* What an older version did not make yet. */
static int add_tables(env *e, optune_err *err)
{
    MDB_txn *txn = NULL;
    if (!e->absent[OT_TABLE_FORGOTTEN] && !e->absent[OT_TABLE_QUARANTINE])
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_write_lock_take(e->write_lock, NULL, err));
    int rc = mdb_txn_begin(e->mdb, NULL, 0, &txn);
    if (rc == 0)
        rc = open_tables(e, txn, MDB_CREATE);
    if (rc == 0)
        rc = mdb_txn_commit(txn);
    else if (txn)
        mdb_txn_abort(txn);
    ot_write_lock_give(e->write_lock);
    return rc ? fail(e, rc, "write to", err) : OPTUNE_OK;
}

/* Who may only read does without LMDB. */
static int open_peek(env *e, optune_err *err)
{
    ot_store store = {.env = e};
    ot_reader reader;
    ot_bytes value;
    e->read_only = true;
    int status = ot_reader_begin(&store, &reader, err);
    if (status < 0)
        return status;
    status = ot_reader_get(&reader, OT_TABLE_META, (ot_bytes){"schema", 6}, &value, err);
    if (status >= 0)
        status = status == 1 ? fail(e, MDB_INVALID, "open", err) : check_schema(e, &value, err);
    ot_reader_end(&reader);
    return status;
}

/* Whether the lock file that this environment uses is still in place: closing it would give away
 * the places of another environment of this process in it. */
static bool shares_lock(const env *e)
{
    struct stat now;
    ot_text path = {0};
    ot_text_printf(&path, "%s/lock.mdb", e->path);
    const bool shared = stat(path.s, &now) == 0 && now.st_ino == e->lock_inode;
    ot_text_release(&path);
    return shared;
}

static void env_release(env *e)
{
    /* A child of fork must leave its parent's environment alone: closing it would give the
     * parent's places in the lock file away. */
    if (e->mdb && e->pid == getpid() &&
        !(e->sight && ot_sight_gone(e->sight) && shares_lock(e))) {
        for (int i = 0; i < e->n_idle; i++)
            drop_reader(&e->idle[i]);
        mdb_env_close(e->mdb);
    }
    ot_write_lock_close(e->write_lock);
    ot_sight_close(e->sight);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static int env_open(env *e, int mode, const char *data, optune_err *err)
{
    struct stat info;
    OT_RETURN_UNLESS_OK(ot_place_sound(e->dir, data, err));
    OT_RETURN_UNLESS_OK(ot_sight_open(e->path, &e->sight, err));
    const int rc = open_mdb(e->path, 0, &e->mdb);
    if (mode == OT_STORE_READ && (rc == EACCES || rc == EROFS || rc == EPERM))
        return open_peek(e, err);
    if (rc)
        return fail(e, rc, "open", err);
    ot_text lock = {0};
    ot_text_printf(&lock, "%s/lock.mdb", e->path);
    e->lock_inode = stat(lock.s, &info) == 0 ? info.st_ino : 0;
    ot_text_release(&lock);
    mdb_reader_check(e->mdb, NULL);
    return load_tables(e, err);
}

static env *find_open(const struct stat *info, int mode)
{
    for (env *e = open_envs; e; e = e->next)
        if (e->inode == info->st_ino && e->device_number == info->st_dev &&
            e->pid == getpid() && !ot_sight_gone(e->sight) &&
            (mode == OT_STORE_READ || !e->read_only))
            return e;
    return NULL;
}

int ot_store_open(const char *dir, int mode, ot_store **store, optune_err *err)
{
    *store = NULL;
    env *e = ot_alloc(sizeof(*e));
    env *opened = NULL;
    ot_text data = {0};
    struct stat info;
    int status = OPTUNE_OK;
    pthread_mutex_init(&e->lock, NULL);
    e->pid = getpid();
    e->forks = ot_forks();
    if (!ot_copy(e->dir, sizeof(e->dir), dir) || strlen(dir) + 8 > sizeof(e->path)) {
        status = optune_fail(err, OPTUNE_ELIMIT, "database directory has too long a name");
        goto out;
    }
    strcat(strcpy(e->path, dir), "/store");
    ot_text_printf(&data, "%s/data.mdb", e->path);
    if (mode == OT_STORE_WRITE)
        status = ensure(e, data.s, err);
    else
        status = ot_place_find(dir, e->path, data.s, err);
    if (status < 0)
        goto out;
    pthread_mutex_lock(&table_lock);
    if (stat(data.s, &info) < 0) {
        status = fail(e, errno, "open", err);
    } else if (!(opened = find_open(&info, mode))) {
        e->device_number = info.st_dev;
        e->inode = info.st_ino;
        status = env_open(e, mode, data.s, err);
        if (status == OPTUNE_OK) {
            opened = e;
            e->next = open_envs;
            open_envs = e;
        }
    }
    if (opened && mode == OT_STORE_WRITE && !opened->write_lock) {
        status = ot_write_lock_open(dir, &opened->write_lock, err);
        if (status >= 0)
            status = add_tables(opened, err);
        if (status < 0 && opened == e)
            open_envs = e->next;
        if (status < 0)
            opened = NULL;
    }
    if (opened) {
        opened->users++;
        *store = ot_alloc(sizeof(**store));
        **store = (ot_store){.env = opened, .mode = mode};
    }
    pthread_mutex_unlock(&table_lock);
out:
    if (opened != e)
        env_release(e);
    ot_text_release(&data);
    return status;
}

void ot_store_stop(ot_store *store, const atomic_bool *stop)
{
    store->stop = stop;
}

void ot_store_close(ot_store *store)
{
    if (!store)
        return;
    pthread_mutex_lock(&table_lock);
    env *e = store->env;
    if (--e->users == 0) {
        env **at = &open_envs;
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
        env_release(e);
    }
    pthread_mutex_unlock(&table_lock);
    free(store);
}
