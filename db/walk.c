/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking keys up in a snapshot's tables, and going on from there, where their pages lie in LMDB's
 * map. The snapshot has its place among LMDB's readers, so its pages stay. LMDB would find each
 * table anew in each transaction, compare keys through a pointer, and crash at a damaged page.
 */
#include "db/walk.h"

int ot_walk_get(ot_snapshot *reader, ot_kv_table table, ot_bytes key, ot_bytes *value,
                optune_err *err)
{
    const ot_tree *t = ot_root_of(reader, table);
    ot_entry entry;
    const int found = t ? ot_tree_find(reader->roots, t, key, &entry) : -1;
    if (found < 0 || (found == 0 && !ot_tree_value(reader->roots, &entry, value)))
        return ot_roots_damaged(reader, err);
    return found;
}

bool ot_walk_empty(ot_snapshot *reader, ot_kv_table table)
{
    const ot_tree *t = reader->walks ? ot_root_of(reader, table) : NULL;
    return t && !t->depth;
}

bool ot_walk_none(ot_snapshot *reader, ot_kv_table table, ot_bytes prefix)
{
    const ot_tree *t = reader->walks ? ot_root_of(reader, table) : NULL;
    return t && (!t->depth || ot_tree_has_none(reader->roots, t, prefix));
}

int64_t ot_walk_count(ot_snapshot *reader, ot_kv_table table)
{
    const ot_tree *t = ot_root_of(reader, table);
    return t ? t->entries : -1;
}

int ot_walk_seek(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                 optune_err *err)
{
    ot_roots *r = reader->roots;
    const ot_tree *t = ot_root_of(reader, table);
    ot_path *path = &r->path[table];
    int status = t ? OPTUNE_OK : -1;
    path->depth = 0;
    if (t && !t->depth)
        return 1;
    if (t)
        status = ot_tree_seek(r, t, *key, path) ? ot_tree_show(r, path, key, value) : -1;
    return status < 0 ? ot_roots_damaged(reader, err) : status;
}

int ot_walk_next(ot_snapshot *reader, ot_kv_table table, ot_bytes *key, ot_bytes *value,
                 optune_err *err)
{
    ot_roots *r = reader->roots;
    ot_path *path = &r->path[table];
    if (!path->depth)
        return 1;
    ot_tree_step(path);
    const int status = ot_tree_show(r, path, key, value);
    return status < 0 ? ot_roots_damaged(reader, err) : status;
}

/* A leaf at a time, as nobody asks what stands behind its keys. */
bool ot_walk_keys(ot_snapshot *reader, ot_kv_table table, int64_t most, ot_key_fn *take,
                  void *arg)
{
    ot_roots *r = reader->roots;
    ot_path *path = &r->path[table];
    ot_bytes key = {NULL, 0}, value;
    int status = ot_walk_seek(reader, table, &key, &value, NULL);
    while (status == OPTUNE_OK) {
        ot_step *leaf = &path->step[path->depth - 1];
        for (const int n = ot_page_entries(leaf->page); leaf->at < n; leaf->at++) {
            const char *node = ot_page_node(leaf->page, r->page_size, leaf->at);
            size_t size = 0;
            const char *at = node ? ot_node_key(node, &size) : NULL;
            if (!at || most-- == 0)
                return false;
            take(arg, at, size);
        }
        status = ot_tree_show(r, path, &key, &value);
    }
    return status == 1;
}
