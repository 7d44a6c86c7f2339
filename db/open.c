/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB's environments, opened, shared and closed. LMDB must not be opened twice in one
 * process nor be used across fork, so environments are kept in a list, counted, and belong to the
 * process that opened them. Who may only read gets one without LMDB.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/walk.h"

enum { OPEN_TRIES = 200 }; /* each fails only when another store came into place meanwhile */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static env *open_envs, *left_open; /* in use; not to be closed before the process ends */

/* Creates what is missing, one process at a time, and never while another store is put there. */
static int ensure(env *e, const char *data, bool make, optune_err *err)
{
    ot_write_lock *lock = NULL;
    OT_RETURN_UNLESS_OK(ot_write_lock_open(e->dir, OT_WRITE_LOCK, &lock, err));
    int status = ot_write_lock_take(lock, NULL, err);
    if (status >= 0) {
        ot_swap_finish(e->dir);
        if (make && !ot_exists(data)) {
            status = ot_place_make(e->path, err);
            if (status >= 0)
                status = ot_env_create(e, err);
            if (status >= 0)
                ot_sync_path(e->path);
        }
        ot_write_lock_give(lock);
    }
    ot_write_lock_close(lock);
    return status;
}

/* 1: it was not there for a moment. */
static int find(env *e, int mode, const char *data, optune_err *err)
{
    if (mode == OT_STORE_WRITE) {
        OT_RETURN_UNLESS_OK(ot_place_make(e->dir, err));
        if (!ot_exists(data))
            OT_RETURN_UNLESS_OK(ensure(e, data, true, err));
    }
    int status = ot_place_find(e->dir, e->path, data, err);
    if (status == OPTUNE_ENOENT && ot_swap_halfway(e->dir)) {
        status = ensure(e, data, false, err); /* who may not write waits for who does it */
        status = status == OPTUNE_ETIMEOUT ? status : 1;
    } else if (status == OPTUNE_ENOENT && ot_exists(data)) {
        status = 1;
    }
    return status;
}

/* Who may only read does without LMDB. */
static int open_peek(env *e, optune_err *err)
{
    ot_store store = {.env = e};
    ot_snapshot reader;
    ot_bytes value;
    e->read_only = true;
    int status = ot_snapshot_begin(&store, &reader, err);
    if (status < 0)
        return status;
    status = ot_snapshot_get(&reader, OT_TABLE_META, (ot_bytes){"schema", 6}, &value, err);
    if (status >= 0)
        status = status == 1 ? ot_env_fail(e, MDB_INVALID, "open", err)
                             : ot_env_check_schema(e, &value, err);
    ot_snapshot_end(&reader);
    return status;
}

static bool locks_with(const env *e, const struct stat *lock)
{
    return e->lock_inode == lock->st_ino && e->lock_device == lock->st_dev;
}

/* Whether the lock file that this environment uses is still in place: closing it would give away
 * the places of another environment of this process in it. */
static bool shares_lock(const env *e)
{
    struct stat now;
    ot_text path = {0};
    ot_text_printf(&path, "%s/lock.mdb", e->path);
    const bool shared = stat(path.s, &now) == 0 && locks_with(e, &now);
    ot_text_release(&path);
    return shared;
}

/* Whether this process has another one open under the same name. */
static bool has_company(const env *e)
{
    for (const env *other = open_envs; other; other = other->next)
        if (other != e && other->pid == e->pid && strcmp(other->path, e->path) == 0)
            return true;
    return false;
}

/* Whether this process has another one open whose lock file is this very file. */
static bool lock_has_company(const env *e)
{
    struct stat own;
    if (fstat(e->lock_file, &own) < 0)
        return false;
    for (const env *other = open_envs; other; other = other->next)
        if (other != e && other->pid == e->pid && locks_with(other, &own))
            return true;
    return false;
}

/* A child of fork must leave its parent's environment alone: closing it would give the parent's
 * places in the lock file away. */
static void env_release(env *e)
{
    const bool closes =
        e->mdb && e->pid == getpid() &&
        !(e->torn ? has_company(e) : e->sight && ot_sight_gone(e->sight) && shares_lock(e));
    for (int i = 0; i < e->n_idle && closes; i++)
        ot_env_drop_snapshot(&e->idle[i]);
    if (closes)
        mdb_env_close(e->mdb);
    if ((closes || !e->mdb) && e->lock_file >= 0 && e->pid == getpid() && !lock_has_company(e))
        close(e->lock_file);
    ot_write_lock_close(e->write_lock);
    ot_sight_close(e->sight);
    ot_vetted_free(e->vetted);
    pthread_mutex_destroy(&e->lock);
    if (e->mdb && !closes) {
        e->next = left_open;
        left_open = e;
    } else {
        free(e);
    }
}

/* Whether this process has the store open, and not by this copy of the library: to LMDB the second
 * opening looks like the first of all, and takes the first one's places away. */
static bool other_copy(const env *e)
{
    struct stat lock, each;
    ot_text path = {0};
    ot_text_printf(&path, "%s/lock.mdb", e->path);
    bool found = false;
    DIR *all = stat(path.s, &lock) == 0 ? opendir("/proc/self/fd") : NULL;
    for (const struct dirent *entry; all && !found && (entry = readdir(all));)
        found = fstat(atoi(entry->d_name), &each) == 0 && each.st_ino == lock.st_ino &&
                each.st_dev == lock.st_dev;
    if (all)
        closedir(all);
    for (const env *own = open_envs; own; own = own->next)
        found = found && !locks_with(own, &lock);
    for (const env *own = left_open; own; own = own->next)
        found = found && !locks_with(own, &lock);
    ot_text_release(&path);
    return found;
}

/* LMDB maps its lock file, and makes it full of holes. 0, or an errno. */
static int fill_lock_file(env *e)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/lock.mdb", e->path);
    e->lock_file = ot_place_open(path.s);
    int rc = e->lock_file < 0 ? errno : 0;
    if (rc == 0) {
        ot_made(e->lock_file, path.s);
        rc = ot_place_fill(e->lock_file, OT_LOCK_BYTES);
    }
    ot_text_release(&path);
    return rc;
}

/* LMDB writes to the lock file of whatever it opens: a newer version's is not given to it. The
 * pages on the way to that, where LMDB finds its tables, are looked at by this. What cannot be told
 * in this way, LMDB is asked. */
static int refuse_newer(env *e, optune_err *err)
{
    optune_err why = {0};
    const int status = open_peek(e, &why);
    e->read_only = false;
    return status == OPTUNE_EVERSION || status == OPTUNE_EDAMAGED
               ? optune_fail(err, status, "%s", why.text)
               : OPTUNE_OK;
}

static int env_open(env *e, int mode, const char *data, optune_err *err)
{
    struct stat info;
    OT_RETURN_UNLESS_OK(ot_place_sound(e->dir, data, OT_CHECK_TO_READ, e->vetted, err));
    OT_RETURN_UNLESS_OK(ot_sight_open(e->path, &e->sight, err));
    OT_RETURN_UNLESS_OK(refuse_newer(e, err));
    ot_sight_share(e->sight, e->path);
    const bool copy = other_copy(e);
    if (copy && mode == OT_STORE_WRITE)
        return optune_fail(err, OPTUNE_ESTORE,
                           "this process has database '%s' open by another copy of the optune "
                           "library: only one of them can write to it",
                           e->path);
    int rc = copy ? 0 : fill_lock_file(e);
    if (mode == OT_STORE_READ && (copy || rc == ENOSPC || rc == EDQUOT))
        return open_peek(e, err);
    rc = rc == ENOSPC || rc == EDQUOT ? rc : ot_env_open_mdb(e->path, NULL, 0, &e->mdb);
    if (mode == OT_STORE_READ && (rc == EACCES || rc == EROFS || rc == EPERM))
        return open_peek(e, err);
    if (rc)
        return ot_env_fail(e, rc, "open", err);
    ot_text lock = {0};
    ot_text_printf(&lock, "%s/lock.mdb", e->path);
    if (stat(lock.s, &info) == 0) {
        e->lock_inode = info.st_ino;
        e->lock_device = info.st_dev;
    }
    ot_text_release(&lock);
    mdb_reader_check(e->mdb, NULL);
    int status = ot_env_load_tables(e, MDB_RDONLY, err);
    if (status == 1 && mode == OT_STORE_WRITE)
        return ot_env_load_as_twin(e, err);
    if (status == 1) {
        mdb_env_close(e->mdb);
        e->mdb = NULL;
        status = open_peek(e, err);
    }
    return status;
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

/* The open environment of the data file, this one if it is the first. */
static int join(env *e, int mode, const char *data, env **opened, optune_err *err)
{
    struct stat info;
    if (stat(data, &info) < 0)
        return ot_env_fail(e, errno, "open", err);
    if ((*opened = find_open(&info, mode)))
        return OPTUNE_OK;
    e->device_number = info.st_dev;
    e->inode = info.st_ino;
    OT_RETURN_UNLESS_OK(env_open(e, mode, data, err));
    *opened = e;
    return OPTUNE_OK;
}

/* From now on LMDB may take pages that are free, and is let at others, see meet.c. */
static int prepare_to_write(env *e, const char *data, optune_err *err)
{
    if (e->write_lock)
        return OPTUNE_OK;
    /* A place among the readers: others' commits use none of these pages again meanwhile. */
    MDB_txn *place = NULL;
    if (e->twin || mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &place) != 0)
        place = NULL;
    const int sound =
        ot_place_sound(e->dir, data, e->map ? OT_CHECK_TO_WRITE : OT_CHECK_ALL, e->vetted, err);
    if (place)
        mdb_txn_abort(place);
    OT_RETURN_UNLESS_OK(sound);
    OT_RETURN_UNLESS_OK(ot_write_lock_open(e->dir, OT_WRITE_LOCK, &e->write_lock, err));
    const int status = ot_env_add_tables(e, err);
    if (status < 0) {
        ot_write_lock_close(e->write_lock);
        e->write_lock = NULL;
    }
    return status;
}

/* Whether the folder that was opened still has its name. */
static bool in_place(int folder, const char *path)
{
    struct stat opened, named;
    return fstat(folder, &opened) == 0 && stat(path, &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* 1: another store came into this one's place between two steps (swap.c), so what was opened may
 * be of both, and what failed means nothing. */
static int open_once(env *e, int mode, const char *data, env **opened, optune_err *err)
{
    int status = find(e, mode, data, err);
    if (status != OPTUNE_OK)
        return status;
    /* Held, so that no other folder gets its inode. */
    const int folder = open(e->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT ? 1 : ot_place_refused(e->path, "open", errno, err);
    pthread_mutex_lock(&table_lock);
    status = join(e, mode, data, opened, err);
    if (in_place(folder, e->path) && status == OPTUNE_OK && mode == OT_STORE_WRITE)
        status = prepare_to_write(*opened, data, err);
    if (!in_place(folder, e->path)) {
        e->torn = true;
        status = 1;
    }
    if (status != OPTUNE_OK) {
        *opened = NULL;
    } else if ((*opened)->users++ == 0) {
        e->next = open_envs;
        open_envs = e;
    }
    pthread_mutex_unlock(&table_lock);
    close(folder);
    return status;
}

static env *env_new(const char *dir)
{
    env *e = ot_alloc(sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    e->lock_file = -1;
    e->pid = getpid();
    e->forks = ot_forks();
    e->vetted = ot_vetted_new();
    snprintf(e->dir, sizeof e->dir, "%s", dir);
    snprintf(e->path, sizeof e->path, "%s/store", dir);
    return e;
}

int ot_store_open(const char *dir, int mode, ot_store **store, optune_err *err)
{
    env *opened = NULL;
    ot_text data = {0};
    int status = 1;
    *store = NULL;
    if (strlen(dir) + 8 > sizeof opened->path)
        return optune_fail(err, OPTUNE_ELIMIT, "database directory has too long a name");
    ot_text_printf(&data, "%s/store/data.mdb", dir);
    for (int i = 0; i < OPEN_TRIES && status == 1; i++) {
        env *e = env_new(dir);
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = i < 10 ? 100000 : 5000000}, NULL);
        status = open_once(e, mode, data.s, &opened, err);
        if (opened != e) {
            pthread_mutex_lock(&table_lock);
            env_release(e);
            pthread_mutex_unlock(&table_lock);
        }
    }
    if (opened) {
        *store = ot_alloc(sizeof **store);
        **store = (ot_store){.env = opened, .mode = mode};
    } else if (status == 1) {
        status = optune_fail(err, OPTUNE_ESTORE,
                             "cannot open database '%s': another store is being put in its "
                             "place; what a killed process left half done, the next one that "
                             "may write finishes",
                             dir);
    }
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
    ot_parts *parts = atomic_load(&store->parts);
    if (parts)
        ot_parts_release(parts);
    free(parts);
    ot_absence_free(atomic_load(&store->absence));
    free(store);
}
