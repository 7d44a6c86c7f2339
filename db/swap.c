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

int ot_store_replace(ot_store *store, ot_fill_fn *fill, void *arg, optune_err *err)
{
    const char *dir = ot_store_dir(store);
    ot_text work = {0}, made = {0}, data = {0};
    OT_RETURN_UNLESS_OK(
        ot_write_lock_take(ot_store_lock(store), ot_store_stopped_by(store), err));
    int status =
        ot_store_in_place(store, err); /* what another has replaced must not come back */
    if (status >= 0)
        status = ot_swap_begin(dir, &work, &made, err);
    if (status >= 0 && mkdir(made.s, 0777) < 0)
        status = failed("make", made.s, err);
    if (status >= 0)
        status = fill(arg, made.s, err);
    if (status >= 0)
        ot_text_printf(&data, "%s/data.mdb", made.s);
    if (status >= 0)
        status = ot_check_pages(data.s, err);
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

/* ---- compacting -------------------------------------------------------------------------- */

typedef struct compacting {
    ot_store *store;
    int64_t after;
} compacting;

static int copy(void *arg, const char *path, optune_err *err)
{
    compacting *c = arg;
    const int status = ot_store_copy(c->store, path, err);
    c->after = ot_swap_bytes(path);
    return status;
}

int ot_store_compact(ot_store *store, int64_t *before, int64_t *after, optune_err *err)
{
    compacting c = {.store = store};
    *before = ot_store_bytes_used(store);
    const int status = ot_store_replace(store, copy, &c, err);
    *after = c.after;
    return status;
}
