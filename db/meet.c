/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transaction that writes is LMDB's, which believes the pages it meets. So what it will meet of
 * the file is met here first, in the snapshot the transaction began with. A page that it has not
 * changed yet is one of that snapshot, and serves the keys that it serves there: splitting a page
 * concerns that one alone. So the way to a key in the snapshot has all pages of the file that LMDB
 * has on its own. Who removes joins pages with their neighbours, whichever these are by then:
 * before the first time all pages are looked at. Lists of free pages are, when the store is opened.
 */
#include <stdlib.h>

#include "db/walk.h"

static int damaged(const ot_store *store, const char *why, optune_err *err)
{
    const env *e = store->env;
    ot_text text = {0};
    ot_text_printf(&text, "database file '%s/data.mdb' is damaged: %s", e->path, why);
    const int status = ot_place_damaged(e->dir, text.s, err);
    ot_text_release(&text);
    return status;
}

int ot_meet_begin(ot_writer *writer, optune_err *err)
{
    const env *e = writer->store->env;
    if (!e->map)
        return OPTUNE_OK; /* all was looked at when it was opened */
    writer->roots = ot_roots_before(e, (int64_t)mdb_txn_id(writer->txn));
    if (!writer->roots->why)
        return OPTUNE_OK;
    const int status = damaged(writer->store, writer->roots->why, err);
    ot_meet_end(writer);
    return status;
}

void ot_meet_end(ot_writer *writer)
{
    ot_roots_free(writer->roots);
    writer->roots = NULL;
}

int ot_meet_key(const ot_store *store, ot_roots *roots, ot_kv_table table, ot_bytes key,
                optune_err *err)
{
    ot_entry entry;
    ot_bytes value;
    if (!roots)
        return OPTUNE_OK;
    const ot_tree *t = ot_roots_table(roots, table);
    const int found = t ? ot_tree_find(roots, t, key, &entry) : -1;
    if (found < 0 || (found == 0 && !ot_tree_value(roots, &entry, &value)))
        return damaged(store, roots->why, err);
    return OPTUNE_OK;
}

int ot_meet_next(const ot_store *store, ot_roots *roots, ot_kv_table table, ot_bytes key,
                 bool behind, optune_err *err)
{
    ot_bytes at, value;
    if (!roots)
        return OPTUNE_OK;
    const ot_tree *t = ot_roots_table(roots, table);
    const int found =
        t ? ot_tree_behind(roots, t, key, behind, &roots->path[table], &at, &value) : -1;
    return found < 0 ? damaged(store, roots->why, err) : OPTUNE_OK;
}

int ot_meet_all(const ot_store *store, optune_err *err)
{
    env *e = store->env;
    ot_text data = {0};
    if (e->met_all || !e->map)
        return OPTUNE_OK;
    ot_text_printf(&data, "%s/data.mdb", e->path);
    const int status = ot_place_sound(e->dir, data.s, OT_CHECK_ALL, e->vetted, err);
    e->met_all = status == OPTUNE_OK;
    ot_text_release(&data);
    return status;
}
