/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two snapshots do not share: pages that only one of them has. Looked for height by height,
 * from the roots down, so it costs as little as few changes are.
 */
#include <stdlib.h>

#include "db/walk.h"

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
static bool expand(ot_roots *r, pages *all)
{
    pages below = {0};
    bool sound = true;
    for (int i = 0; i < all->n && sound; i++) {
        const char *page = ot_tree_page(r, all->at[i], true);
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

/* Whether all of their entries can be read. */
static bool are_sound(ot_roots *r, const pages *leaves)
{
    for (int i = 0; i < leaves->n; i++) {
        const char *page = ot_tree_page(r, leaves->at[i], false);
        for (int k = 0; page && k < ot_page_entries(page); k++) {
            ot_entry entry;
            if (ot_page_entry(page, r->page_size, k, &entry) || entry.tree ||
                (entry.overflow && !ot_tree_large(r, &entry)))
                return false;
        }
        if (!page)
            return false;
    }
    return true;
}

/* Height by height, from the higher tree's root down. */
static bool descend(ot_roots *r_a, const ot_tree *a, pages *only_a, ot_roots *r_b,
                    const ot_tree *b, pages *only_b)
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
    if (!a->walks || !b->walks || a->store->env->absent[table])
        return false;
    const ot_tree *tree_a = ot_root_of(a, table), *tree_b = ot_root_of(b, table);
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
    ot_roots *r = l->of->roots;
    for (; l->at < l->n; l->at++, l->entry = 0) {
        const char *page = r->map + l->page[l->at] * r->page_size;
        ot_entry entry;
        if (l->entry == ot_page_entries(page))
            continue;
        ot_page_entry(page, r->page_size, l->entry++, &entry);
        *key = (ot_bytes){entry.key, entry.key_bytes};
        *value = (ot_bytes){entry.overflow ? ot_tree_large(r, &entry) : entry.value,
                            entry.value_bytes};
        return OPTUNE_OK;
    }
    return 1;
}

void ot_leaves_release(ot_leaves *leaves)
{
    free(leaves->page);
    leaves->page = NULL;
}
