/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LMDB does not look at before it trusts it: the pages of its data file. On a damaged file it
 * crashes. Damage is found here first, without LMDB, from the layout of its format 1: pages 0 and
 * 1 are meta pages, everything else hangs on trees that the newer meta page roots. The pages of
 * the latest snapshot are never overwritten, so they can be read beside a writer: what looks
 * wrong counts only when no newer snapshot has appeared meanwhile. Who only reads does so without
 * LMDB (walk.c, peek.c), and looks at the pages of a large file as it meets them.
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
/* Of larger files that are to be written no leaves of records are looked at. */
static const int64_t leaf_limit = 64 << 20;

typedef struct pages {
    const char *data;
    uint64_t size, n_pages;
    ot_meta meta; /* the newer one */
    uint64_t visited;
    bool leaves;
    bool numbers;        /* in the table of free pages */
    bool lists;          /* whose lists are looked at, too */
    unsigned char *used; /* a bit for each page that holds something; with `leaves` */
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

static void use(pages *p, uint64_t page, uint64_t n)
{
    for (uint64_t i = page; p->used && i < page + n; i++)
        p->used[i / 8] |= (unsigned char)(1 << i % 8);
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
        if (p->used && page < p->n_pages && p->used[page / 8] & (1 << page % 8))
            return damaged(p, "a page in use is called free");
    }
    return true;
}

static bool check_page(pages *p, uint64_t page, int depth);

static bool check_tree(pages *p, uint64_t root, int depth)
{
    if (depth == 0)
        return true;
    if (p->leaves || depth > 1)
        return check_page(p, root, depth);
    return inside(p, root) || damaged(p, "a page lies behind the end of the file");
}

static bool check_overflow(pages *p, const ot_entry *entry)
{
    const uint64_t page = entry->overflow, size = p->meta.page_size;
    const uint64_t count = (entry->value_bytes + OT_PAGE_HEADER + size - 1) / size;
    if (!inside(p, page) || count > p->n_pages - page)
        return damaged(p, "a large value lies behind the end of the file");
    const char *why =
        ot_overflow_check(p->data + page * size, page, (size_t)size, entry->value_bytes);
    if (why)
        return damaged(p, why);
    use(p, page, count);
    return !p->lists ||
           check_list(p, p->data + page * size + OT_PAGE_HEADER, entry->value_bytes);
}

static bool check_entry(pages *p, const ot_entry *entry, bool branch, int depth)
{
    if (branch && (p->leaves || depth > 2))
        return check_page(p, entry->child, depth - 1);
    if (branch)
        return inside(p, entry->child) || damaged(p, "a page lies behind the end of the file");
    if (entry->overflow)
        return check_overflow(p, entry);
    uint64_t root;
    int deep;
    if (p->lists)
        return check_list(p, entry->value, entry->value_bytes);
    if (!entry->tree)
        return true;
    const char *why = entry->value_bytes == OT_TREE_BYTES
                          ? ot_tree_read(entry->value, &root, &deep)
                          : "a tree has a wrong size";
    return why ? damaged(p, why) : check_tree(p, root, deep);
}

static bool check_page(pages *p, uint64_t page, int depth)
{
    const size_t size = (size_t)p->meta.page_size;
    if (!inside(p, page))
        return damaged(p, "a page lies behind the end of the file");
    if (depth < 1 || ++p->visited > p->n_pages)
        return damaged(p, "pages go round in a circle");
    use(p, page, 1);
    const char *at = p->data + page * size;
    const bool branch = depth > 1;
    const char *why = ot_page_check(at, page, size, branch);
    const int n = why ? 0 : ot_page_entries(at);
    ot_entry entry, before = {0};
    for (int i = 0; !why && i < n; i++, before = entry) {
        why = ot_page_entry(at, size, i, &entry);
        /* The free pages' table has numbers for keys, in the machine's order. */
        if (!why && !p->numbers && i > branch && ot_key_order(&before, &entry) >= 0)
            why = "its keys are out of order";
        if (!why && !check_entry(p, &entry, branch, depth))
            return false;
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
    p->leaves = to == OT_CHECK_ALL || p->size <= (uint64_t)leaf_limit || cut;
    p->used = p->leaves ? ot_alloc((size_t)p->n_pages / 8 + 1) : NULL;
    bool good = check_tree(p, p->meta.root, p->meta.depth);
    p->leaves = true; /* the free pages' own tree is small */
    for (int pass = 0; good && pass < 2; pass++) {
        p->numbers = true;
        p->visited = 0;
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
