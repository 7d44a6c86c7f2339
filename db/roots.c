/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a snapshot's trees begin. LMDB does not tell, so its meta page is read in its map: it is
 * the snapshot's own as long as no commit but the next one was made since, and the one behind that
 * cannot begin to write it before the word of the next one is out. The roots of a snapshot are good
 * for all that have its number.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/peek.h"
#include "db/walk.h"

enum { TRIES = 64 };

/* It knows no fences; where loads keep their order the compiler's is enough. */
#ifdef __SANITIZE_THREAD__
#define READ_BEFORE() atomic_signal_fence(memory_order_acquire)
#else
#define READ_BEFORE() atomic_thread_fence(memory_order_acquire)
#endif

/* Their names in the tree of tables. */
const char *const ot_env_tables[OT_TABLES] = {
    [OT_TABLE_META] = "meta",           [OT_TABLE_RECORD] = "record",
    [OT_TABLE_BEST] = "best",           [OT_TABLE_DEVICE] = "device",
    [OT_TABLE_FORGOTTEN] = "forgotten", [OT_TABLE_QUARANTINE] = "quarantine",
    [OT_TABLE_SHARED] = "shared",       [OT_TABLE_HINT] = "hint",
    [OT_TABLE_SUMMARY] = "summary",
};

/* The page in which it lies begins with its number. */
void ot_roots_map(env *e, const void *shown)
{
    MDB_envinfo info;
    MDB_stat size;
    ot_meta meta;
    if (mdb_env_info(e->mdb, &info) || mdb_env_stat(e->mdb, &size) ||
        size.ms_psize > (size_t)sysconf(_SC_PAGESIZE))
        return;
    const char *page = (const char *)shown - (uintptr_t)shown % size.ms_psize;
    uint64_t number;
    memcpy(&number, page, sizeof number);
    if (number > info.me_last_pgno)
        return;
    page -= number * size.ms_psize;
    if (ot_meta_read(page, 0, &meta) || meta.page_size != size.ms_psize)
        return;
    e->page_size = size.ms_psize;
    e->map = page;
}

/* ---- of a snapshot ----------------------------------------------------------------------- */

/* *newest: no other commit is known behind it. False: it is not there, or damaged. */
static bool read_meta(const env *e, int64_t number, ot_meta *meta, bool *newest,
                      const char **why)
{
    char head[2][OT_META_BYTES];
    ot_meta each[2];
    const int own = (int)(number & 1);
    memcpy(head[own], e->map + (size_t)own * e->page_size, OT_META_BYTES);
    READ_BEFORE(); /* the other one is read behind it */
    memcpy(head[!own], e->map + (size_t)!own * e->page_size, OT_META_BYTES);
    *why = NULL;
    for (int i = 0; i < 2 && !*why; i++)
        *why = ot_meta_read(head[i], (uint64_t)i, &each[i]);
    if (!*why && each[own].page_size != e->page_size)
        *why = "its pages have changed their size";
    if (*why || each[own].txn != (uint64_t)number)
        return false;
    *meta = each[own];
    *newest = each[!own].txn < meta->txn;
    return true;
}

static void settle(ot_roots *r, const env *e, int64_t number, const ot_meta *meta)
{
    const int64_t bytes = ot_peek_size(ot_sight_peek(e->sight));
    r->number = number;
    r->map = e->map;
    r->page_size = e->page_size;
    r->vetted = e->vetted;
    /* A file may end before its last page, where that is free and was never written. */
    r->n_pages = bytes > 0 ? (uint64_t)bytes / e->page_size : 0;
    r->n_pages = r->n_pages <= meta->last ? r->n_pages : meta->last + 1;
    for (int i = 0; i < OT_TABLES; i++)
        r->path[i].depth = 0;
    r->main = (ot_tree){.known = true, .root = meta->root, .depth = meta->depth};
    memset(r->tree, 0, sizeof r->tree);
    r->why = NULL;
}

int ot_roots_begin(ot_snapshot *reader, int *rc, optune_err *err)
{
    const env *e = reader->store->env;
    if (!reader->roots)
        reader->roots = ot_alloc(sizeof *reader->roots);
    ot_roots *r = reader->roots;
    *rc = 0;
    for (int i = 0; i < TRIES; i++) {
        const int64_t number = (int64_t)mdb_txn_id(reader->txn);
        ot_meta meta = {0};
        bool newest = false;
        if (r->number == number && number)
            return OPTUNE_OK;
        r->number = 0;
        const bool read = read_meta(e, number, &meta, &newest, &r->why);
        if (!newest) {
            /* The word of the next commit is out where a snapshot of now is another one. */
            mdb_txn_reset(reader->txn);
            *rc = mdb_txn_renew(reader->txn);
            if (*rc)
                return OPTUNE_ESTORE;
            newest = (int64_t)mdb_txn_id(reader->txn) == number;
        }
        if (read && newest) {
            settle(r, e, number, &meta);
            return OPTUNE_OK;
        }
        if (i > TRIES / 4)
            sched_yield();
    }
    return r->why ? ot_roots_damaged(reader, err) : 1;
}

ot_roots *ot_roots_before(const env *e, int64_t txn)
{
    ot_roots *r = ot_alloc(sizeof *r);
    ot_meta meta;
    bool newest;
    if (read_meta(e, txn - 1, &meta, &newest, &r->why))
        settle(r, e, txn - 1, &meta);
    else if (!r->why)
        r->why = "the meta pages do not follow one another";
    return r;
}

void ot_roots_free(ot_roots *roots)
{
    for (int i = 0; roots && i < OT_TABLES; i++)
        free(roots->path[i].step);
    free(roots);
}

void ot_roots_release(ot_snapshot *reader)
{
    ot_roots_free(reader->roots);
    reader->roots = NULL;
}

int ot_roots_damaged(const ot_snapshot *reader, optune_err *err)
{
    const env *e = reader->store->env;
    ot_text why = {0};
    ot_text_printf(&why, "database file '%s/data.mdb' is damaged: %s", e->path,
                   reader->roots->why);
    const int status = ot_place_damaged(e->dir, why.s, err);
    ot_text_release(&why);
    return status;
}

/* ---- of its tables ----------------------------------------------------------------------- */

/* One that a version made which did not have it is empty. */
static bool find(ot_roots *r, ot_kv_table table, ot_tree *tree)
{
    const char *name = ot_env_tables[table];
    ot_entry entry;
    const int found = ot_tree_find(r, &r->main, (ot_bytes){name, strlen(name)}, &entry);
    if (found < 0)
        return false;
    if (found == OPTUNE_OK) {
        r->why = entry.tree && !entry.overflow && entry.value_bytes == OT_TREE_BYTES
                     ? ot_tree_read(entry.value, &tree->root, &tree->depth)
                     : "a table is none";
        if (r->why)
            return false;
        tree->entries = ot_tree_entries(entry.value);
    }
    tree->known = true;
    return true;
}

const ot_tree *ot_roots_table(ot_roots *roots, ot_kv_table table)
{
    ot_tree *tree = &roots->tree[table];
    return tree->known || find(roots, table, tree) ? tree : NULL;
}

const ot_tree *ot_root_of(ot_snapshot *reader, ot_kv_table table)
{
    return ot_roots_table(reader->roots, table);
}
