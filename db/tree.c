/* SPDX-License-Identifier: Apache-2.0 */
/* See walk.h: a key in a tree of pages, and what stands behind it. */
#include <stdlib.h>
#include <string.h>

#include "db/walk.h"

static void *damaged(ot_roots *r, const char *why)
{
    r->why = why;
    return NULL;
}

/* ---- pages ------------------------------------------------------------------------------- */

const char *ot_tree_page(ot_roots *r, uint64_t number, bool branch)
{
    if (number < 2 || number >= r->n_pages)
        return damaged(r, "a page lies behind the end of the file");
    const char *page = r->map + number * r->page_size;
    const char *why = ot_vet(r->vetted, page, number, r->page_size, branch);
    return why ? damaged(r, why) : page;
}

/* The i-th entry, all of its key in the page; NULL: it is odd. */
static const char *node_of(ot_roots *r, const char *page, int i)
{
    const char *node = ot_page_node(page, r->page_size, i);
    return node ? node : damaged(r, "a key reaches out of its page");
}

/* As ot_page_rank. */
static int rank_of(ot_roots *r, const char *page, int low, ot_bytes key, bool at)
{
    const int rank = ot_page_rank(page, r->page_size, low, key.data, key.n, at);
    if (rank < 0)
        damaged(r, "a key reaches out of its page");
    return rank;
}

/* As memcmp of the key and the node's. */
static int order_of(ot_bytes key, const char *node)
{
    return ot_key_order(key.data, key.n, node);
}

/* A leaf, an entry of it, and the branches' keys that its own lie between. */
typedef struct place {
    const char *leaf;
    int rank;
    int lows, highs;
    const char *low[OT_DEEPEST], *high[OT_DEEPEST];
} place;

/* To the first entry at or behind the key, in the leaf where the key is if it is there; with `path`
 * noting the way. False: damaged. */
static bool descend(ot_roots *r, const ot_tree *t, ot_bytes key, ot_step *path, place *found)
{
    uint64_t number = t->root;
    found->lows = found->highs = 0;
    for (int depth = t->depth; depth > 1; depth--) {
        const char *page = ot_tree_page(r, number, true);
        const int next = page ? rank_of(r, page, 1, key, true) : -1;
        const char *node = next < 0 ? NULL : node_of(r, page, next - 1);
        if (!node)
            return false;
        if (path)
            *path++ = (ot_step){page, next - 1};
        if (next > 1)
            found->low[found->lows++] = node;
        if (next < ot_page_entries(page) &&
            !(found->high[found->highs++] = node_of(r, page, next)))
            return false;
        number = ot_node_child(node);
    }
    found->leaf = ot_tree_page(r, number, false);
    found->rank = found->leaf ? rank_of(r, found->leaf, 0, key, false) : -1;
    if (path)
        *path = (ot_step){found->leaf, found->rank};
    return found->rank >= 0;
}

/* A key that is not in its leaf may be in another one, where a branch leads to the wrong page. */
static bool belongs(ot_roots *r, const place *p)
{
    const char *why = NULL;
    for (int i = 0; i < OT_DEEPEST && !why && (i < p->lows || i < p->highs); i++)
        why = ot_page_between(p->leaf, r->page_size, i < p->lows ? p->low[i] : NULL,
                              i < p->highs ? p->high[i] : NULL);
    return !why || damaged(r, why);
}

const char *ot_tree_large(ot_roots *r, const ot_entry *entry)
{
    const size_t n = (entry->value_bytes + OT_PAGE_HEADER + r->page_size - 1) / r->page_size;
    const uint64_t first = entry->overflow;
    if (first < 2 || first >= r->n_pages || n > r->n_pages - first)
        return damaged(r, "a large value lies behind the end of the file");
    const char *page = r->map + first * r->page_size;
    const char *why = ot_overflow_check(page, first, r->page_size, entry->value_bytes);
    return why ? damaged(r, why) : page + OT_PAGE_HEADER;
}

/* ---- one key ----------------------------------------------------------------------------- */

int ot_tree_find(ot_roots *r, const ot_tree *t, ot_bytes key, ot_entry *found)
{
    place p;
    if (!t->depth)
        return 1;
    if (!descend(r, t, key, NULL, &p))
        return -1;
    const bool inside = p.rank < ot_page_entries(p.leaf);
    const char *node = inside ? node_of(r, p.leaf, p.rank) : NULL;
    if (inside && !node)
        return -1;
    if (!inside || order_of(key, node) != 0)
        return belongs(r, &p) ? 1 : -1;
    r->why = ot_page_entry(p.leaf, r->page_size, p.rank, found);
    return r->why ? -1 : 0;
}

bool ot_tree_value(ot_roots *r, const ot_entry *entry, ot_bytes *value)
{
    if (entry->tree)
        return damaged(r, "there is a table in a table");
    *value = (ot_bytes){entry->overflow ? ot_tree_large(r, entry) : entry->value,
                        entry->value_bytes};
    return value->data;
}

/* ---- one behind the other ---------------------------------------------------------------- */

static ot_step *last_of(const ot_path *path)
{
    return &path->step[path->depth - 1];
}

/* From the end of a leaf to the first entry of the next one. 1: there is none; -1: damaged. */
static int next_leaf(ot_roots *r, ot_path *path)
{
    const char *leaf = last_of(path)->page;
    int i = path->depth - 2;
    while (i >= 0 && path->step[i].at + 1 >= ot_page_entries(path->step[i].page))
        i--;
    if (i < 0)
        return 1;
    path->step[i].at++;
    for (; i + 1 < path->depth; i++) {
        const char *node = node_of(r, path->step[i].page, path->step[i].at);
        const char *page =
            node ? ot_tree_page(r, ot_node_child(node), i + 2 < path->depth) : NULL;
        if (!page)
            return -1;
        path->step[i + 1] = (ot_step){page, 0};
    }
    const char *before = node_of(r, leaf, ot_page_entries(leaf) - 1);
    size_t n;
    const char *key = before ? ot_node_key(before, &n) : NULL;
    const char *first = key ? node_of(r, last_of(path)->page, 0) : NULL;
    if (first && ot_key_order(key, n, first) >= 0)
        damaged(r, "a page is where another belongs");
    return first && !r->why ? OPTUNE_OK : -1;
}

static int show(ot_roots *r, const ot_path *path, ot_bytes *key, ot_bytes *value)
{
    const ot_step *at = last_of(path);
    ot_entry entry;
    r->why = ot_page_entry(at->page, r->page_size, at->at, &entry);
    if (r->why || !ot_tree_value(r, &entry, value))
        return -1;
    *key = (ot_bytes){entry.key, entry.key_bytes};
    return OPTUNE_OK;
}

int ot_tree_show(ot_roots *r, ot_path *path, ot_bytes *key, ot_bytes *value)
{
    int status = OPTUNE_OK;
    r->why = NULL;
    if (last_of(path)->at >= ot_page_entries(last_of(path)->page))
        status = next_leaf(r, path);
    return status == OPTUNE_OK ? show(r, path, key, value) : status;
}

bool ot_tree_seek(ot_roots *r, const ot_tree *t, ot_bytes key, ot_path *path)
{
    place p;
    path->depth = 0;
    if (path->capacity < t->depth) {
        free(path->step);
        path->step = ot_alloc((size_t)t->depth * sizeof *path->step);
        path->capacity = t->depth;
    }
    if (!descend(r, t, key, path->step, &p) || !belongs(r, &p))
        return false;
    path->depth = t->depth;
    return true;
}

void ot_tree_step(ot_path *path)
{
    ot_step *last = last_of(path);
    last->at += last->at < ot_page_entries(last->page);
}

/* Whether the path leads to the first entry behind the key, as its leaf alone says. */
static bool is_behind(const ot_roots *r, const ot_path *path, ot_bytes key)
{
    const ot_step *at = path->depth ? last_of(path) : NULL;
    if (!at || at->at == 0 || at->at >= ot_page_entries(at->page))
        return false;
    const char *before = ot_page_node(at->page, r->page_size, at->at - 1);
    const char *node = ot_page_node(at->page, r->page_size, at->at);
    return before && node && order_of(key, before) >= 0 && order_of(key, node) < 0;
}

int ot_tree_behind(ot_roots *r, const ot_tree *t, ot_bytes key, bool behind, ot_path *path,
                   ot_bytes *at, ot_bytes *value)
{
    if (!t->depth)
        return 1;
    if (behind && path->depth) {
        if (!is_behind(r, path, key))
            ot_tree_step(path);
        if (is_behind(r, path, key))
            return ot_tree_show(r, path, at, value);
    }
    int status = ot_tree_seek(r, t, key, path) ? ot_tree_show(r, path, at, value) : -1;
    if (behind && status == OPTUNE_OK && ot_bytes_order(at, &key) == 0) {
        ot_tree_step(path);
        status = ot_tree_show(r, path, at, value);
    }
    return status;
}

bool ot_tree_has_none(ot_roots *r, const ot_tree *t, ot_bytes prefix)
{
    place p;
    if (!descend(r, t, prefix, NULL, &p) || p.rank == ot_page_entries(p.leaf))
        return false;
    const char *node = node_of(r, p.leaf, p.rank);
    size_t n = 0;
    const char *key = node ? ot_node_key(node, &n) : NULL;
    return key && belongs(r, &p) && (n < prefix.n || memcmp(key, prefix.data, prefix.n) != 0);
}
