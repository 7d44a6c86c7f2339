/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit that can be seen in the file and not be read: its writer was killed behind its last page
 * and in front of the word of it, which LMDB's readers go by. LMDB itself says that word when the
 * next one begins to write, so here somebody begins, and ends without a change. A writer that is
 * alive looks the same for a moment: only what stays so for a while is meant.
 */
#include <time.h>

#include "db/env.h"

enum { A_WHILE_MS = 50 };

static int64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The first to see that it has been so for a while; the next one after another while. */
static bool has_waited(env *e, int64_t commit)
{
    const int64_t now = coarse_ms();
    int64_t since = atomic_load(&e->behind_ms);
    if (atomic_exchange(&e->behind, commit) != commit) {
        atomic_store(&e->behind_ms, now);
        return false;
    }
    return now - since >= A_WHILE_MS &&
           atomic_compare_exchange_strong(&e->behind_ms, &since, now);
}

void ot_store_say_last(ot_store *store)
{
    env *e = store->env;
    MDB_txn *txn;
    if (e->mdb && mdb_txn_begin(e->mdb, NULL, 0, &txn) == 0)
        mdb_txn_abort(txn);
}

/* Who has the lock is alive and will say it. */
static void begin_and_end(ot_store *store)
{
    static const atomic_bool at_once = true;
    const env *e = store->env;
    ot_write_lock *lock;
    if (ot_write_lock_open(e->dir, OT_WRITE_LOCK, &lock, NULL) < 0)
        return;
    if (ot_write_lock_take(lock, &at_once, NULL) >= 0) {
        ot_store_say_last(store);
        ot_write_lock_give(lock);
    }
    ot_write_lock_close(lock);
}

void ot_store_catch_up(ot_store *store)
{
    env *e = store->env;
    const int64_t commit = ot_store_last(store);
    if (!e->mdb || e->twin || !ot_store_here(store) || !has_waited(e, commit))
        return;
    const int64_t snapshot = ot_store_snapshot(store);
    if (snapshot >= 0 && snapshot < commit)
        begin_and_end(store);
}
