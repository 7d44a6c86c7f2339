/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking one key up in a snapshot's pages, where they lie in LMDB's map: LMDB finds a table anew
 * in each transaction, and compares keys through a pointer. Here the roots of a snapshot's tables
 * are known, and good as long as a later snapshot has its number. It has its place among LMDB's
 * readers, so its pages stay; what looks odd, or lies in pages of its own, is LMDB's to find and to
 * complain of.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/env.h"
#include "db/format.h"

enum { MAIN_TABLE = 1, NODE = 8 /* low 2, high 2, flags 2, key size 2 */ };

/* Their names in the tree of tables, where their roots are. */
const char *const ot_env_tables[OT_TABLES] = {
    [OT_TABLE_META] = "meta",           [OT_TABLE_RECORD] = "record",
    [OT_TABLE_BEST] = "best",           [OT_TABLE_DEVICE] = "device",
    [OT_TABLE_FORGOTTEN] = "forgotten", [OT_TABLE_QUARANTINE] = "quarantine",
    [OT_TABLE_SHARED] = "shared",       [OT_TABLE_HINT] = "hint",
    [OT_TABLE_SUMMARY] = "summary",
};

struct ot_roots {
    int64_t number;   /* the snapshot of which these are */
    const char *map;  /* its first page; NULL: not known */
    uint64_t n_pages; /* that may be there */
    size_t page_size;
    struct tree {
        bool known;
        uint64_t root;
        int depth; /* 0: it is empty */
    } tree[OT_TABLES];
};

static uint16_t u16(const char *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t u64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The page of the map in which LMDB has shown something says where the map begins. */
static void find_map(ot_roots *r, const env *e, const char *shown)
{
    MDB_envinfo info;
    MDB_stat size;
    /* Pages larger than the system's: the map may begin within one. */
    if (mdb_env_info(e->mdb, &info) || mdb_env_stat(e->mdb, &size) ||
        size.ms_psize > (size_t)sysconf(_SC_PAGESIZE))
        return;
    const char *page = shown - (uintptr_t)shown % size.ms_psize;
    const uint64_t number = u64(page);
    if (number > info.me_last_pgno)
        return;
    r->page_size = size.ms_psize;
    r->n_pages = info.me_last_pgno + 1;
    r->map = page - number * size.ms_psize;
}

/* NULL: LMDB has to find it. */
static const struct tree *tree_of(ot_snapshot *reader, ot_kv_table table)
{
    const env *e = reader->store->env;
    const int64_t number = (int64_t)mdb_txn_id(reader->txn);
    if (!reader->walks)
        return NULL;
    if (!reader->roots)
        reader->roots = ot_alloc(sizeof *reader->roots);
    ot_roots *r = reader->roots;
    if (r->number != number)
        *r = (ot_roots){.number = number};
    struct tree *t = &r->tree[table];
    if (!t->known) {
        const char *name = ot_env_tables[table];
        MDB_val key = value_of((ot_bytes){name, strlen(name)}), value;
        if (mdb_get(reader->txn, MAIN_TABLE, &key, &value) || value.mv_size != OT_TREE_BYTES ||
            ot_tree_read(value.mv_data, &t->root, &t->depth))
            return NULL;
        if (!r->map)
            find_map(r, e, value.mv_data);
        t->known = true;
    }
    return r->map ? t : NULL;
}

void ot_roots_release(ot_snapshot *reader)
{
    free(reader->roots);
    reader->roots = NULL;
}

/* ---- pages ------------------------------------------------------------------------------- */

static const char *page_of(const ot_roots *r, uint64_t number, bool branch)
{
    if (number < 2 || number >= r->n_pages)
        return NULL;
    const char *page = r->map + number * r->page_size;
    return ot_page_check(page, number, r->page_size, branch) ? NULL : page;
}

/* Of a key, its first eight bytes as a number that sorts as they do. */
static uint64_t head_of(const char *key)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? u64(key) : __builtin_bswap64(u64(key));
}

/* The i-th entry, all of its key in the page; NULL: it is odd. */
static const char *node_of(const ot_roots *r, const char *page, int i)
{
    const size_t at = u16(page + OT_PAGE_HEADER + 2 * i), size = r->page_size;
    if (at < OT_PAGE_HEADER || at > size - NODE || u16(page + at + 6) > size - NODE - at)
        return NULL;
    return page + at;
}

/* As memcmp of the key and the node's. */
static int order_of(ot_bytes key, const char *node)
{
    const size_t n = u16(node + 6), both = n < key.n ? n : key.n;
    const char *own = node + NODE;
    if (both >= 8) {
        const uint64_t a = head_of(key.data), b = head_of(own);
        if (a != b)
            return a < b ? -1 : 1;
    }
    const int order = both ? memcmp(key.data, own, both) : 0;
    return order ? order : (key.n > n) - (key.n < n);
}

/* How many entries from `low` on are before the key, or with `at` at it; -1: one is odd. */
static int rank_of(const ot_roots *r, const char *page, int low, ot_bytes key, bool at)
{
    enum { HEAD = 8 }; /* most keys differ in these */
    int high = ot_page_entries(page);
    const bool has_head = key.n >= HEAD;
    const uint64_t head = has_head ? head_of(key.data) : 0;
    while (low < high) {
        const int middle = (low + high) / 2;
        const char *node = node_of(r, page, middle);
        if (!node)
            return -1;
        const uint64_t other = has_head && u16(node + 6) >= HEAD ? head_of(node + NODE) : head;
        if (other != head) {
            high = head < other ? middle : high;
            low = head < other ? low : middle + 1;
            continue;
        }
        const int order = order_of(key, node);
        if (order < 0 || (order == 0 && !at))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The leaf where the key is, if it is there, and what stands in front of it in that; NULL: odd. */
static const char *leaf_of(const ot_roots *r, const struct tree *t, ot_bytes key, int *rank)
{
    uint64_t number = t->root;
    for (int depth = t->depth; depth > 1; depth--) {
        const char *page = page_of(r, number, true);
        const int next = page ? rank_of(r, page, 1, key, true) : -1;
        const char *node = next < 0 ? NULL : node_of(r, page, next - 1);
        if (!node)
            return NULL;
        number = u16(node) | (uint64_t)u16(node + 2) << 16 | (uint64_t)u16(node + 4) << 32;
    }
    const char *page = page_of(r, number, false);
    *rank = page ? rank_of(r, page, 0, key, false) : -1;
    return *rank < 0 ? NULL : page;
}

int ot_walk_get(ot_snapshot *reader, ot_kv_table table, ot_bytes key, ot_bytes *value)
{
    const struct tree *t = tree_of(reader, table);
    if (!t || !t->depth)
        return t ? 1 : -1;
    const ot_roots *r = reader->roots;
    int rank;
    const char *page = leaf_of(r, t, key, &rank);
    if (!page)
        return -1;
    if (rank == ot_page_entries(page))
        return 1;
    ot_entry entry;
    const char *node = node_of(r, page, rank);
    if (!node)
        return -1;
    if (order_of(key, node) != 0)
        return 1;
    if (ot_page_entry(page, r->page_size, rank, &entry) || entry.overflow || entry.tree)
        return -1;
    *value = (ot_bytes){entry.value, entry.value_bytes};
    return OPTUNE_OK;
}

bool ot_walk_empty(ot_snapshot *reader, ot_kv_table table)
{
    const struct tree *t = reader->view ? NULL : tree_of(reader, table);
    return t && !t->depth;
}

bool ot_walk_none(ot_snapshot *reader, ot_kv_table table, ot_bytes prefix)
{
    const struct tree *t = reader->view ? NULL : tree_of(reader, table);
    if (!t || !t->depth)
        return t;
    int rank;
    const char *page = leaf_of(reader->roots, t, prefix, &rank);
    if (!page || rank == ot_page_entries(page))
        return false;
    const char *node = node_of(reader->roots, page, rank);
    return node &&
           (u16(node + 6) < prefix.n || memcmp(node + NODE, prefix.data, prefix.n) != 0);
}

/* ---- what two snapshots do not share ----------------------------------------------------- */

typedef struct pages {
    uint64_t *at;
    int n, capacity;
} pages;

static void add(pages *all, uint64_t number)
{
    all->at = ot_room(all->at, all->n, &all->capacity, sizeof *all->at);
    all->at[all->n++] = number;
}

/* Branch pages become their children; false: one is odd. */
static bool expand(const ot_roots *r, pages *all)
{
    pages below = {0};
    bool sound = true;
    for (int i = 0; i < all->n && sound; i++) {
        const char *page = page_of(r, all->at[i], true);
        for (int k = 0; page && k < ot_page_entries(page); k++) {
            ot_entry entry;
            sound = sound && !ot_page_entry(page, r->page_size, k, &entry);
            if (sound)
                add(&below, entry.child);
        }
        sound = sound && page;
    }
    free(all->at);
    *all = below;
    return sound;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t *sorted(const pages *all)
{
    uint64_t *copy = ot_alloc((size_t)(all->n + 1) * sizeof *copy);
    for (int i = 0; i < all->n; i++)
        copy[i] = all->at[i];
    qsort(copy, (size_t)all->n, sizeof *copy, ascending);
    return copy;
}

static void drop_those_of(pages *all, const uint64_t *other, int n)
{
    int kept = 0;
    for (int i = 0; i < all->n; i++)
        if (!n || !bsearch(&all->at[i], other, (size_t)n, sizeof *other, ascending))
            all->at[kept++] = all->at[i];
    all->n = kept;
}

/* A page of both is the same page, with all below it, as the older snapshot keeps its own. */
static void drop_common(pages *a, pages *b)
{
    uint64_t *of_a = sorted(a), *of_b = sorted(b);
    const int n_a = a->n, n_b = b->n;
    drop_those_of(a, of_b, n_b);
    drop_those_of(b, of_a, n_a);
    free(of_a);
    free(of_b);
}

static const char *large_of(const ot_roots *r, const ot_entry *entry)
{
    const size_t n = (entry->value_bytes + OT_PAGE_HEADER + r->page_size - 1) / r->page_size;
    const uint64_t first = entry->overflow;
    if (first < 2 || first >= r->n_pages || n > r->n_pages - first)
        return NULL;
    const char *page = r->map + first * r->page_size;
    return ot_overflow_check(page, first, r->page_size, entry->value_bytes)
               ? NULL
               : page + OT_PAGE_HEADER;
}

/* Whether all of their entries can be read. */
static bool are_sound(const ot_roots *r, const pages *leaves)
{
    for (int i = 0; i < leaves->n; i++) {
        const char *page = page_of(r, leaves->at[i], false);
        for (int k = 0; page && k < ot_page_entries(page); k++) {
            ot_entry entry;
            if (ot_page_entry(page, r->page_size, k, &entry) || entry.tree ||
                (entry.overflow && !large_of(r, &entry)))
                return false;
        }
        if (!page)
            return false;
    }
    return true;
}

/* Height by height, from the higher tree's root down. */
static bool descend(const ot_roots *r_a, const struct tree *a, pages *only_a,
                    const ot_roots *r_b, const struct tree *b, pages *only_b)
{
    int height = a->depth > b->depth ? a->depth : b->depth;
    for (; height > 0; height--) {
        if (a->depth == height)
            add(only_a, a->root);
        if (b->depth == height)
            add(only_b, b->root);
        drop_common(only_a, only_b);
        if (height > 1 && !(expand(r_a, only_a) && expand(r_b, only_b)))
            return false;
    }
    return are_sound(r_a, only_a) && are_sound(r_b, only_b);
}

bool ot_leaves_apart(ot_snapshot *a, ot_snapshot *b, ot_kv_table table, ot_leaves *only_a,
                     ot_leaves *only_b)
{
    pages of_a = {0}, of_b = {0};
    *only_a = (ot_leaves){.of = a};
    *only_b = (ot_leaves){.of = b};
    if (a->view || b->view || a->store->env->absent[table])
        return false;
    const struct tree *tree_a = tree_of(a, table), *tree_b = tree_of(b, table);
    const bool told =
        tree_a && tree_b && descend(a->roots, tree_a, &of_a, b->roots, tree_b, &of_b);
    if (told) {
        only_a->page = of_a.at;
        only_a->n = of_a.n;
        only_b->page = of_b.at;
        only_b->n = of_b.n;
        return true;
    }
    free(of_a.at);
    free(of_b.at);
    return false;
}

int ot_leaves_next(ot_leaves *l, ot_bytes *key, ot_bytes *value)
{
    const ot_roots *r = l->of->roots;
    for (; l->at < l->n; l->at++, l->entry = 0) {
        const char *page = r->map + l->page[l->at] * r->page_size;
        ot_entry entry;
        if (l->entry == ot_page_entries(page))
            continue;
        ot_page_entry(page, r->page_size, l->entry++, &entry);
        *key = (ot_bytes){entry.key, entry.key_bytes};
        *value =
            (ot_bytes){entry.overflow ? large_of(r, &entry) : entry.value, entry.value_bytes};
        return OPTUNE_OK;
    }
    return 1;
}

void ot_leaves_release(ot_leaves *leaves)
{
    free(leaves->page);
    leaves->page = NULL;
}
