/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store from logs, in place of whatever is there. Records wait until all are known and are
 * written in the order of their keys (bulk.c); what else the logs say goes into a store of its own
 * first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/bulk.h"
#include "db/kv.h"

typedef struct rebuilding {
    const char *dir;
    ot_reading *reading;
    ot_stored_log *log; /* of the directory, as long as they were when they were read */
    int n, capacity;
    int logs;     /* all of them */
    int64_t gone; /* removed before they were read */
    optune_err *err;
} rebuilding;

/* One that was named may lie elsewhere. */
static bool is_in(const char *dir, const char *name, const struct stat *log)
{
    struct stat own;
    ot_text path = {0};
    ot_text_printf(&path, "%s/logs/%s", dir, name);
    const bool found =
        stat(path.s, &own) == 0 && own.st_ino == log->st_ino && own.st_dev == log->st_dev;
    ot_text_release(&path);
    return found;
}

/* Of a log of the directory, or one that the user named. */
static int read_one(rebuilding *r, const char *path, const char *name, bool listed)
{
    struct stat info;
    /* In front of the reading: what is appended meanwhile is read by the next one that writes. */
    const bool own = stat(path, &info) == 0 && is_in(r->dir, name, &info);
    const int status = ot_reading_take(r->reading, path, true, r->err);
    if (status == OPTUNE_ENOENT && listed && !ot_exists(path)) {
        r->gone++;
        return OPTUNE_OK;
    }
    OT_RETURN_UNLESS_OK(status);
    r->logs++;
    if (own) {
        r->log = ot_room(r->log, r->n, &r->capacity, sizeof *r->log);
        r->log[r->n++] = (ot_stored_log){ot_strdup(name), info.st_size};
    }
    return OPTUNE_OK;
}

typedef struct names {
    char **name;
    int n, capacity;
} names;

static int note_name(void *arg, const char *path, const char *name, int64_t size)
{
    names *all = arg;
    (void)path;
    (void)size;
    all->name = ot_room(all->name, all->n, &all->capacity, sizeof *all->name);
    all->name[all->n++] = ot_strdup(name);
    return OPTUNE_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void release(names *all)
{
    for (int i = 0; i < all->n; i++)
        free(all->name[i]);
    free(all->name);
}

/* Those of the directory that were not among `before`; *came: there was one. */
static int read_listed(rebuilding *r, const names *before, const names *now, bool *came)
{
    ot_text path = {0};
    int status = OPTUNE_OK;
    for (int i = 0; i < now->n && status >= 0; i++) {
        if (before->n &&
            bsearch(&now->name[i], before->name, (size_t)before->n, sizeof *now->name, by_name))
            continue;
        *came = true;
        ot_text_clear(&path);
        ot_text_printf(&path, "%s/logs/%s", r->dir, now->name[i]);
        status = read_one(r, path.s, now->name[i], true);
    }
    ot_text_release(&path);
    return status;
}

/* What was in a log that was removed meanwhile may be in one that came since. */
static int read_directory(rebuilding *r)
{
    enum { LOOKS = 8 };
    names before = {0};
    bool came = true; /* a log that is renamed while the directory is listed may be missed */
    int status = OPTUNE_OK;
    for (int i = 0; i < LOOKS && status >= 0 && came; i++) {
        names now = {0};
        came = false;
        status = ot_each_log(r->dir, note_name, &now, r->err);
        if (status >= 0)
            status = read_listed(r, &before, &now, &came);
        release(&before);
        before = now;
        if (before.n)
            qsort(before.name, (size_t)before.n, sizeof *before.name, by_name);
    }
    release(&before);
    return status;
}

static int read_all(rebuilding *r, const ot_rebuilding *how)
{
    const char *const *log = how->logs;
    int status = log && *log ? OPTUNE_OK : read_directory(r);
    for (; status >= 0 && log && *log; log++) {
        const char *slash = strrchr(*log, '/');
        status = read_one(r, *log, slash ? slash + 1 : *log, false);
    }
    if (status >= 0 && !r->logs)
        status = optune_fail(r->err, OPTUNE_ENOENT,
                             "there is no log in '%s/logs': a store that is made of none would "
                             "be empty; name the logs",
                             r->dir);
    return status < 0 ? status : ot_reading_store(r->reading, r->err);
}

/* Records wait until all are known; what else the logs say is in the store work/raw. */
static int fill(const char *work, const char *made, const char *dir, const ot_rebuilding *how,
                ot_store_stats *stats, int64_t *refused, optune_err *err)
{
    rebuilding r = {.dir = dir, .err = err};
    ot_store *store = NULL;
    ot_bulk *bulk = NULL;
    ot_text raw = {0};
    ot_text_printf(&raw, "%s/raw", work);
    int status = mkdir(raw.s, 0777) < 0 || mkdir(made, 0777) < 0
                     ? ot_place_refused(raw.s, "make", errno, err)
                     : OPTUNE_OK;
    if (status >= 0)
        ot_made_at(made);
    if (status >= 0)
        status = ot_store_open(raw.s, OT_STORE_WRITE, &store, err);
    if (status >= 0) {
        ot_store_stop(store, how->stop);
        status = ot_bulk_open(raw.s, NULL, &bulk, err);
    }
    if (status < 0) {
        ot_store_close(store);
        ot_text_release(&raw);
        return status;
    }
    r.reading = ot_reading_open(store, bulk);
    status = read_all(&r, how);
    *refused += ot_reading_refused(r.reading);
    if (how->gone)
        *how->gone = r.gone;
    ot_reading_close(r.reading);
    if (status >= 0)
        status = ot_store_logs_done(store, r.log, r.n, err);
    if (status >= 0)
        status = ot_making_goes_on(how->stop, err);
    ot_snapshot old;
    if (status >= 0)
        status = ot_snapshot_begin(store, &old, err);
    if (status >= 0) {
        status = ot_bulk_merge(bulk, &old, made, stats, err);
        ot_snapshot_end(&old);
    }
    ot_bulk_close(bulk);
    ot_store_close(store);
    if (status >= 0)
        stats->bytes = ot_swap_bytes(made);
    ot_remove_tree(raw.s);
    ot_text_release(&raw);
    for (int i = 0; i < r.n; i++)
        free((char *)(uintptr_t)r.log[i].name);
    free(r.log);
    return status;
}

/* What there is may be damaged, or nothing; a newer version's is not replaced by what this one
 * understands of its logs. */
static int refuse_newer(const char *dir, optune_err *err)
{
    optune_err why = {0};
    ot_store *old = NULL;
    const int status = ot_store_open(dir, OT_STORE_READ, &old, &why);
    ot_store_close(old);
    return status == OPTUNE_EVERSION ? optune_fail(err, status, "%s", why.text) : OPTUNE_OK;
}

int ot_store_rebuild(const char *dir, const ot_rebuilding *how, ot_store_stats *stats,
                     int64_t *refused, optune_err *err)
{
    ot_write_lock *turn = NULL, *lock = NULL;
    ot_text work = {0}, made = {0};
    static const ot_rebuilding all = {0};
    how = how ? how : &all;
    *stats = (ot_store_stats){0};
    *refused = 0;
    OT_RETURN_UNLESS_OK(refuse_newer(dir, err));
    OT_RETURN_UNLESS_OK(ot_place_make(dir, err));
    OT_RETURN_UNLESS_OK(ot_write_lock_open(dir, OT_SWAP_LOCK, &turn, err));
    int status = ot_write_lock_open(dir, OT_WRITE_LOCK, &lock, err);
    const bool first = status >= 0 && (status = ot_write_lock_take(turn, how->stop, err)) >= 0;
    if (first && (status = ot_write_lock_take(lock, how->stop, err)) >= 0) {
        status = ot_swap_begin(dir, &work, &made, err);
        if (status >= 0)
            status = fill(work.s, made.s, dir, how, stats, refused, err);
        ot_store *old = NULL; /* what there is may be damaged, or nothing */
        if (status >= 0 && ot_store_open(dir, OT_STORE_READ, &old, NULL) < 0)
            old = NULL;
        if (status >= 0)
            status = ot_swap_exchange(dir, err);
        if (old)
            ot_store_touch(old);
        ot_store_close(old);
        if (work.s && !ot_swap_halfway(dir))
            ot_remove_tree(work.s);
        ot_write_lock_give(lock);
    }
    if (first)
        ot_write_lock_give(turn);
    ot_write_lock_close(turn);
    ot_write_lock_close(lock);
    ot_text_release(&work);
    ot_text_release(&made);
    return status;
}
