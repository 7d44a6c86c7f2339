/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another store in place of this one: written whole beside it, then the two folders change places
 * (exchange.c). Who reads the old one goes on; who writes waits, and opens the new one. A folder
 * that a killed process left is removed by the next one that has the write lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/kv.h"

static int failed(const char *doing, const char *path, optune_err *err)
{
    return ot_place_refused(path, doing, errno, err);
}

/* DIR/swap/store, and an empty folder DIR/swap. */
static int begin(const char *dir, ot_text *work, ot_text *store, optune_err *err)
{
    ot_swap_finish(dir);
    ot_text_printf(work, "%s/" OT_SWAP_FOLDER, dir);
    ot_text_printf(store, "%s/store", work->s);
    ot_remove_tree(work->s);
    return mkdir(work->s, 0777) < 0 ? failed("make", work->s, err) : OPTUNE_OK;
}

/* Of a store that nobody has open. */
static int64_t size_of(const char *path)
{
    struct stat info;
    ot_text data = {0};
    ot_text_printf(&data, "%s/data.mdb", path);
    const int64_t size = stat(data.s, &info) == 0 ? info.st_size : 0;
    ot_text_release(&data);
    return size;
}

/* ---- compacting -------------------------------------------------------------------------- */

int ot_store_compact(ot_store *store, int64_t *before, int64_t *after, optune_err *err)
{
    const char *dir = ot_store_dir(store);
    ot_text work = {0}, made = {0}, data = {0};
    *before = ot_store_bytes_used(store);
    *after = 0;
    OT_RETURN_UNLESS_OK(
        ot_write_lock_take(ot_store_lock(store), ot_store_stopped_by(store), err));
    int status = ot_store_in_place(store, err); /* what another has replaced must not come back */
    if (status >= 0)
        status = begin(dir, &work, &made, err);
    if (status >= 0 && mkdir(made.s, 0777) < 0)
        status = failed("make", made.s, err);
    if (status >= 0)
        status = ot_store_copy(store, made.s, err);
    if (status >= 0)
        ot_text_printf(&data, "%s/data.mdb", made.s);
    if (status >= 0)
        status = ot_check_pages(data.s, err);
    if (status >= 0)
        *after = size_of(made.s);
    if (status >= 0)
        status = ot_swap_exchange(dir, err);
    if (status >= 0)
        ot_store_touch(store);
    if (work.s)
        ot_remove_tree(work.s);
    ot_write_lock_give(ot_store_lock(store));
    ot_text_release(&work);
    ot_text_release(&made);
    ot_text_release(&data);
    return status;
}

/* ---- from logs --------------------------------------------------------------------------- */

typedef struct reading {
    ot_store *store;
    int64_t added, *refused;
    optune_err *err;
} reading;

static int read_one(void *arg, const char *path, const char *name, int64_t size)
{
    reading *r = arg;
    (void)name;
    (void)size;
    const int status = ot_store_read_log(r->store, path, true, &r->added, r->refused, r->err);
    return status < 0 ? status : ot_store_log_done(r->store, path, r->err);
}

/* First as the logs have it, in work/raw, then in key order, as the store `made`. */
static int fill(const char *work, const char *made, const char *dir, const char *const *logs,
                ot_store_stats *stats, int64_t *refused, optune_err *err)
{
    reading r = {.refused = refused, .err = err};
    ot_text raw = {0};
    ot_text_printf(&raw, "%s/raw", work);
    int status = mkdir(raw.s, 0777) < 0 || mkdir(made, 0777) < 0 ? failed("make", raw.s, err)
                                                                 : OPTUNE_OK;
    if (status >= 0)
        status = ot_store_open(raw.s, OT_STORE_WRITE, &r.store, err);
    if (status < 0) {
        ot_text_release(&raw);
        return status;
    }
    if (!logs || !*logs)
        status = ot_each_log(dir, read_one, &r);
    for (int i = 0; status >= 0 && logs && logs[i]; i++)
        status = read_one(&r, logs[i], NULL, 0);
    if (status >= 0)
        status = ot_store_stats_get(r.store, stats, err);
    if (status >= 0)
        status = ot_store_copy(r.store, made, err);
    ot_store_close(r.store);
    if (status >= 0)
        stats->bytes = size_of(made);
    ot_remove_tree(raw.s);
    ot_text_release(&raw);
    return status;
}

int ot_store_rebuild(const char *dir, const char *const *logs, ot_store_stats *stats,
                     int64_t *refused, optune_err *err)
{
    ot_write_lock *lock = NULL;
    ot_text work = {0}, made = {0};
    *stats = (ot_store_stats){0};
    *refused = 0;
    OT_RETURN_UNLESS_OK(ot_place_make(dir, err));
    OT_RETURN_UNLESS_OK(ot_write_lock_open(dir, &lock, err));
    int status = ot_write_lock_take(lock, NULL, err);
    if (status >= 0) {
        status = begin(dir, &work, &made, err);
        if (status >= 0)
            status = fill(work.s, made.s, dir, logs, stats, refused, err);
        ot_store *old = NULL; /* what there is may be damaged, or nothing */
        if (status >= 0 && ot_store_open(dir, OT_STORE_READ, &old, NULL) < 0)
            old = NULL;
        if (status >= 0)
            status = ot_swap_exchange(dir, err);
        if (old)
            ot_store_touch(old);
        ot_store_close(old);
        if (work.s)
            ot_remove_tree(work.s);
        ot_write_lock_give(lock);
    }
    ot_write_lock_close(lock);
    ot_text_release(&work);
    ot_text_release(&made);
    return status;
}
