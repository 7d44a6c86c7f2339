/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another store in place of this one: written whole beside it, then the two folders change places
 * (exchange.c). Who reads the old one goes on; so does who writes, and what he changed meanwhile is
 * done to the new one as well (follow.c), most of it before his turn ends: the write lock is held
 * for the last look at what has changed since the one before. One at a time replaces, which is a
 * lock of its own. A folder that a killed process left is removed by the next one that has both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/kv.h"

enum {
    ROUNDS = 4, /* in which writers are followed without keeping them out, */
    FEW = 1024, /* unless so little has changed in the last one */
};

typedef struct swapping {
    ot_store *store;
    ot_write_lock *turn; /* of who replaces */
    bool locked;         /* nobody else writes */
    ot_snapshot was;     /* what is in the new one */
    bool reads;
    ot_text work, made;
    struct stat folder;      /* of `made`, as this made it */
    const atomic_bool *stop; /* NULL: what was to stop this had come before it began */
    optune_err *err;
} swapping;

static int lock(swapping *s)
{
    const atomic_bool *stop = ot_store_stopped_by(s->store);
    if (!s->locked)
        OT_RETURN_UNLESS_OK(ot_write_lock_take(ot_store_lock(s->store), stop, s->err));
    s->locked = true;
    /* What another has replaced must not come back. */
    const int status = ot_store_in_place(s->store, s->err);
    if (status >= 0)
        ot_store_say_last(s->store);
    return status;
}

static void unlock(swapping *s)
{
    if (s->locked)
        ot_write_lock_give(ot_store_lock(s->store));
    s->locked = false;
}

static int begin(swapping *s)
{
    const char *dir = ot_store_dir(s->store);
    OT_RETURN_UNLESS_OK(lock(s));
    OT_RETURN_UNLESS_OK(ot_swap_begin(dir, &s->work, &s->made, s->err));
    if (mkdir(s->made.s, 0777) < 0 || stat(s->made.s, &s->folder) < 0)
        return ot_place_refused(s->made.s, "make", errno, s->err);
    ot_made_at(s->made.s);
    OT_RETURN_UNLESS_OK(ot_snapshot_begin(s->store, &s->was, s->err));
    s->reads = true;
    /* Who has no place among the readers reads what writers overwrite. */
    if (!s->was.view)
        unlock(s);
    return OPTUNE_OK;
}

/* *changes: since the last time. */
static int follow(swapping *s, int64_t *changes)
{
    ot_snapshot is;
    *changes = 0;
    if (s->was.view)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_snapshot_begin(s->store, &is, s->err));
    if (is.view) { /* it could not be followed from here */
        ot_snapshot_end(&is);
        return optune_fail(s->err, OPTUNE_ESTORE,
                           "'%s' changes all the time: try again when fewer write",
                           ot_store_dir(s->store));
    }
    const int status = ot_snapshot_number(&is) == ot_snapshot_number(&s->was)
                           ? OPTUNE_OK
                           : ot_store_follow(s->work.s, &s->was, &is, s->stop, changes, s->err);
    ot_snapshot_end(&s->was);
    s->was = is;
    return status;
}

/* An older optune knows no turn: it takes the folder away from who fills it. */
static int still_ours(const swapping *s)
{
    struct stat now;
    return stat(s->made.s, &now) == 0 && now.st_ino == s->folder.st_ino &&
                   now.st_dev == s->folder.st_dev
               ? OPTUNE_OK
               : optune_fail(s->err, OPTUNE_ESTORE,
                             "'%s' was taken away while a store was made in it, as by an older "
                             "optune: do it again while no other one writes",
                             s->made.s);
}

static int follow_all(swapping *s)
{
    int64_t changes = FEW + 1;
    int status = OPTUNE_OK;
    for (int i = 0; i < ROUNDS && status >= 0 && changes > FEW; i++)
        status = follow(s, &changes);
    if (status >= 0)
        status = lock(s);
    if (status >= 0)
        status = still_ours(s);
    return status < 0 ? status : follow(s, &changes);
}

static int check_made(const swapping *s)
{
    ot_text data = {0};
    ot_text_printf(&data, "%s/data.mdb", s->made.s);
    const int status = ot_check_pages(data.s, OT_CHECK_TO_WRITE, NULL, s->err);
    ot_text_release(&data);
    return status;
}

int ot_store_replace(ot_store *store, ot_fill_fn *fill, void *arg, optune_err *err)
{
    const char *dir = ot_store_dir(store);
    const atomic_bool *stop = ot_store_stopped_by(store);
    swapping s = {.store = store, .err = err};
    s.stop = stop && atomic_load(stop) ? NULL : stop;
    OT_RETURN_UNLESS_OK(ot_write_lock_open(dir, OT_SWAP_LOCK, &s.turn, err));
    int status = ot_write_lock_take(s.turn, ot_store_stopped_by(store), err);
    if (status < 0) {
        ot_write_lock_close(s.turn);
        return status;
    }
    status = begin(&s);
    if (status >= 0)
        status = fill(arg, &s.was, s.made.s, err);
    if (status >= 0)
        status = ot_making_goes_on(s.stop, err);
    if (status >= 0)
        status = check_made(&s);
    if (status >= 0)
        status = follow_all(&s);
    if (s.reads)
        ot_snapshot_end(&s.was);
    if (status >= 0)
        status = ot_swap_exchange(dir, err);
    if (status >= 0)
        ot_store_touch(store);
    if (s.work.s && !ot_swap_halfway(dir))
        ot_remove_tree(s.work.s);
    unlock(&s);
    ot_write_lock_give(s.turn);
    ot_write_lock_close(s.turn);
    ot_text_release(&s.work);
    ot_text_release(&s.made);
    return status;
}

/* ---- compacting -------------------------------------------------------------------------- */

static int copy(void *arg, ot_snapshot *from, const char *path, optune_err *err)
{
    const atomic_bool *const *stop = arg;
    return ot_store_copy(from, path, *stop, err);
}

int ot_store_compact(ot_store *store, int64_t *before, int64_t *after, optune_err *err)
{
    ot_text made = {0};
    *before = ot_store_bytes_used(store);
    *after = 0;
    const atomic_bool *stop = ot_store_stopped_by(store);
    if (stop && atomic_load(stop))
        stop = NULL;
    const int status = ot_store_replace(store, copy, &stop, err);
    ot_text_printf(&made, "%s/store", ot_store_dir(store));
    if (status >= 0)
        *after = ot_swap_bytes(made.s);
    ot_text_release(&made);
    return status;
}
