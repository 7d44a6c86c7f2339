/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LMDB does not look at before it trusts it: the pages of its data file. On a damaged file it
 * crashes. Damage is found here first, without LMDB, from the layout of its format 1: pages 0 and
 * 1 are meta pages, everything else hangs on trees that the newer meta page roots. The pages of
 * the latest snapshot are never overwritten, so they can be read beside a writer: what looks
 * wrong counts only when no newer snapshot has appeared meanwhile. Who reads does so without LMDB
 * (walk.c, peek.c), and who writes goes in front of it (meet.c); both look at the leaves of a large
 * file as they meet them. Which pages are free nobody meets: that is looked at here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/remedy.h"
#include "db/db.h"
#include "db/format.h"

enum {
    MOST_UNWRITTEN = 65536
}; /* pages that a file may lack at its end: free, never written */
typedef struct pages {
    const char *data;
    uint64_t size, n_pages;
    ot_meta meta;        /* the newer one */
    bool all;            /* leaves, too, whatever their table holds */
    bool leaves;         /* of this table */
    bool numbers;        /* in the table of free pages */
    bool lists;          /* whose lists are looked at, too */
    unsigned char *used; /* a bit for each page that holds something, or is free */
    ot_vetted *vetted;   /* NULL: nobody wants to know */
    const char *why;
} pages;

static bool damaged(pages *p, const char *why)
{
    p->why = why;
    return false;
}

static bool inside(const pages *p, uint64_t page)
{
    return page >= 2 && page < p->n_pages && page <= p->meta.last;
}

/* False: one of them is something else, too. */
static bool use(pages *p, uint64_t page, uint64_t n)
{
    bool fresh = true;
    for (uint64_t i = page; i < page + n && i < p->n_pages; i++) {
        fresh = fresh && !(p->used[i / 8] & (1 << i % 8));
        p->used[i / 8] |= (unsigned char)(1 << i % 8);
    }
    return fresh || damaged(p, "a page is used twice");
}

/* Who writes takes these pages for free: none may be in use, or twice in a list. */
static bool check_list(pages *p, const char *list, size_t bytes)
{
    uint64_t n, page, before = UINT64_MAX;
    if (bytes < sizeof n)
        return damaged(p, "a list of free pages is cut off");
    memcpy(&n, list, sizeof n);
    if (n > bytes / sizeof n - 1)
        return damaged(p, "a list of free pages is longer than its value");
    for (uint64_t i = 1; i <= n; i++, before = page) {
        memcpy(&page, list + i * sizeof n, sizeof page);
        if (page < 2 || page > p->meta.last || page >= before)
            return damaged(p, "a list of free pages is none");
        if (!use(p, page, 1))
            return damaged(p, "a page in use is called free");
    }
    return true;
}

/* What a page hangs on: how high it is, and the entries of the branch that its keys lie between. */
typedef struct branch {
    int depth;
    const char *low, *high; /* NULL: there is none */
} branch;

static bool check_page(pages *p, uint64_t page, const branch *on);

/* Leaves that whoever meets them looks at are known from above. */
static bool check_child(pages *p, uint64_t page, const branch *on)
{
    if (p->leaves || on->depth > 1)
        return check_page(p, page, on);
    return inside(p, page) ? use(p, page, 1)
                           : damaged(p, "a page lies behind the end of the file");
}

static bool check_tree(pages *p, uint64_t root, int depth)
{
    return depth == 0 || check_child(p, root, &(branch){.depth = depth});
}

/* What hangs on an entry of a table's tree is that table's; its leaves are looked at where they
 * lead to large values, of which nobody else knows where they lie. */
static bool check_table(pages *p, const char *tree)
{
    uint64_t root;
    int depth;
    const char *why = ot_tree_read(tree, &root, &depth);
    if (why)
        return damaged(p, why);
    p->leaves = p->all || ot_tree_large_pages(tree);
    const bool sound = check_tree(p, root, depth);
    p->leaves = true;
    return sound;
}

static bool check_overflow(pages *p, const ot_entry *entry)
{
    const uint64_t page = entry->overflow, size = p->meta.page_size;
    const uint64_t least = (entry->value_bytes + OT_PAGE_HEADER + size - 1) / size;
    if (!inside(p, page) || least > p->n_pages - page)
        return damaged(p, "a large value lies behind the end of the file");
    const char *at = p->data + page * size;
    const char *why = ot_overflow_check(at, page, (size_t)size, entry->value_bytes);
    if (why)
        return damaged(p, why);
    /* Who removes it gives back all that the page says it has. */
    if (ot_overflow_pages(at) > p->meta.last + 1 - page)
        return damaged(p, "a large value lies behind the end of the file");
    return p->lists ? check_list(p, at + OT_PAGE_HEADER, entry->value_bytes)
                    : use(p, page, ot_overflow_pages(at));
}

static bool check_entry(pages *p, const ot_entry *entry, const branch *below)
{
    if (below->depth > 0)
        return check_child(p, entry->child, below);
    if (entry->overflow)
        return check_overflow(p, entry);
    if (p->lists)
        return check_list(p, entry->value, entry->value_bytes);
    if (!entry->tree)
        return true;
    return entry->value_bytes == OT_TREE_BYTES ? check_table(p, entry->value)
                                               : damaged(p, "a tree has a wrong size");
}

static bool check_page(pages *p, uint64_t page, const branch *on)
{
    const size_t size = (size_t)p->meta.page_size;
    if (!inside(p, page))
        return damaged(p, "a page lies behind the end of the file");
    if (!p->lists && !use(p, page, 1))
        return false;
    const char *at = p->data + page * size;
    const bool is_branch = on->depth > 1;
    const char *why = ot_page_check(at, page, size, is_branch);
    /* The free pages' table has numbers for keys, in the machine's order. */
    if (!why)
        why = ot_page_whole(at, size, !p->numbers);
    if (!why && !p->numbers)
        why = ot_page_between(at, size, on->low, on->high);
    const int n = why ? 0 : ot_page_entries(at);
    for (int i = 0; i < n; i++) {
        ot_entry entry;
        const branch below = {on->depth - 1, i ? ot_page_node(at, size, i) : on->low,
                              i + 1 < n ? ot_page_node(at, size, i + 1) : on->high};
        why = ot_page_entry(at, size, i, &entry);
        if (why || !check_entry(p, &entry, &below))
            return why ? damaged(p, why) : false;
    }
    if (!why && !p->numbers && p->vetted)
        ot_vetted_note(p->vetted, page);
    return !why || damaged(p, why);
}

static bool check_metas(pages *p)
{
    ot_meta each[2] = {0};
    const char *why =
        p->size < OT_META_BYTES ? "the file is too short" : ot_meta_read(p->data, 0, &each[0]);
    p->meta = each[0];
    if (!why && p->size < 2 * each[0].page_size)
        why = "the first page is alone";
    if (!why)
        why = ot_meta_read(p->data + each[0].page_size, 1, &each[1]);
    if (!why)
        why = ot_meta_newer(each, &p->meta);
    if (!why) {
        p->n_pages = p->size / p->meta.page_size;
        if (p->meta.last > p->n_pages + MOST_UNWRITTEN)
            why = "a meta page tells of more pages than there are";
    }
    return !why || damaged(p, why);
}

static bool check_snapshot(pages *p, ot_check_for to)
{
    if (!check_metas(p))
        return false;
    /* A file may end before its last page when that page is free and was never written; then
     * only following every page tells whether it was cut. */
    const bool cut = p->n_pages <= p->meta.last;
    if (to == OT_CHECK_TO_READ && p->size > OT_SMALL_FILE && !cut)
        return true; /* a reader looks at each page that it meets */
    p->all = to != OT_CHECK_TO_WRITE || cut;
    p->leaves = true; /* of the table of tables, and of the free pages' */
    p->used = ot_alloc((size_t)p->n_pages / 8 + 1);
    bool good = check_tree(p, p->meta.root, p->meta.depth);
    for (int pass = 0; good && pass < 2; pass++) {
        p->numbers = true;
        p->lists = pass == 1;
        good = check_tree(p, p->meta.free_root, p->meta.free_depth);
    }
    free(p->used);
    return good;
}

int ot_check_pages(const char *path, ot_check_for to, ot_vetted *vetted, optune_err *err)
{
    optune_err why = {0};
    const int fd = ot_open_file(path, O_RDONLY, &why);
    if (fd < 0)
        return optune_fail(err, fd == OPTUNE_ENOENT ? OPTUNE_ENOENT : OPTUNE_ESTORE, "%s",
                           why.text);
    pages p = {0};
    uint64_t seen = 0;
    bool good = false, same = false;
    for (int tries = 0; !good && !same && tries < 8; tries++) {
        struct stat info;
        if (fstat(fd, &info) < 0)
            break;
        p = (pages){.size = (uint64_t)info.st_size, .vetted = vetted};
        void *map =
            info.st_size ? mmap(NULL, p.size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
        p.data = map;
        if (map == MAP_FAILED && info.st_size) {
            const int number = errno;
            close(fd);
            return optune_fail(err, OPTUNE_ESTORE, "cannot map '%s': %s%s", path,
                               strerror(number), ot_errno_remedy(number));
        }
        good = info.st_size ? check_snapshot(&p, to) : damaged(&p, "the file is empty");
        if (map != MAP_FAILED)
            munmap(map, p.size);
        same = tries > 0 && p.meta.txn == seen; /* and it looked wrong twice */
        seen = p.meta.txn;
    }
    close(fd);
    if (good)
        return OPTUNE_OK;
    if (p.meta.other_format)
        return optune_fail(err, OPTUNE_EVERSION, "database file '%s' has another LMDB format",
                           path);
    if (!same)
        return optune_fail(
            err, OPTUNE_ESTORE,
            "database file '%s' changes all the time: look again when fewer write", path);
    return optune_fail(err, OPTUNE_EDAMAGED, "database file '%s' is damaged: %s", path, p.why);
}
