/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LMDB does not look at before it trusts it: the pages of its data file. On a damaged file it
 * crashes. Damage is found here first, without LMDB, from the layout of its format 1: pages 0 and
 * 1 are meta pages, everything else hangs on trees that the newer meta page roots. The pages of
 * the latest snapshot are never overwritten, so they can be read beside a writer: what looks
 * wrong counts only when no newer snapshot has appeared meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db.h"

enum {
    META_MAGIC = 0xbeefc0de,
    FORMAT = 1,
    PAGE_HEADER = 16, /* number 8, pad 2, flags 2, lower 2, upper 2 (or overflow pages 4) */
    NODE_HEADER = 8,  /* low 2, high 2, flags 2, key size 2 */
    TREE_SIZE = 48,   /* pad 4, flags 2, depth 2, three page counts 24, entries 8, root 8 */
    META_TREES = 24,  /* offset in the meta: magic 4, version 4, address 8, map size 8 */
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_META = 8,
    PAGE_FIXED = 0x20, /* a leaf of equally long keys, without nodes */
    NODE_BIG = 1,
    NODE_TREE = 2,
    NODE_DUPLICATES = 4,
    DEPTH_LIMIT = 32,
};
static const int64_t leaf_limit = 64 << 20; /* larger files: branch pages only */

typedef struct pages {
    const char *data;
    uint64_t size, page_size, n_pages;
    uint64_t txn, last; /* the newer meta's */
    uint64_t visited;
    bool leaves, other_format;
    const char *why;
} pages;

static uint64_t field(const char *at, int size)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)size); /* LMDB writes the machine's own order */
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        value >>= 8 * (8 - size);
    return value;
}

static bool damaged(pages *p, const char *why)
{
    p->why = why;
    return false;
}

static bool check_tree(pages *p, const char *tree);

static bool check_overflow(pages *p, uint64_t page, uint64_t bytes)
{
    if (page < 2 || page >= p->n_pages)
        return damaged(p, "a large value lies behind the end of the file");
    const char *at = p->data + page * p->page_size;
    uint64_t count = field(at + 12, 4);
    if (field(at, 8) != page || !(field(at + 10, 2) & PAGE_OVERFLOW) || count == 0 ||
        count > p->n_pages - page || bytes > count * p->page_size - PAGE_HEADER)
        return damaged(p, "the page of a large value is no such page");
    return true;
}

static bool check_page(pages *p, uint64_t page, int depth);

static bool check_node(pages *p, const char *at, uint64_t node, bool branch, int depth)
{
    const char *start = at + node;
    uint64_t low = field(start, 2), high = field(start + 2, 2), flags = field(start + 4, 2);
    uint64_t key = field(start + 6, 2), room = p->page_size - node - NODE_HEADER;
    if (key > room)
        return damaged(p, "a key reaches out of its page");
    if (branch) {
        uint64_t child = low | high << 16 | flags << 32;
        if (p->leaves || depth > 2)
            return check_page(p, child, depth - 1);
        return child >= 2 && child < p->n_pages
                   ? true
                   : damaged(p, "a page lies behind the end of the file");
    }
    uint64_t bytes = low | high << 16;
    const char *value = start + NODE_HEADER + key;
    if (flags & NODE_BIG)
        return 8 <= room - key ? check_overflow(p, field(value, 8), bytes)
                               : damaged(p, "a value reaches out of its page");
    if (bytes > room - key)
        return damaged(p, "a value reaches out of its page");
    if (flags & NODE_TREE)
        return bytes == TREE_SIZE ? check_tree(p, value)
                                  : damaged(p, "a tree has a wrong size");
    return flags & NODE_DUPLICATES ? damaged(p, "there are duplicate keys") : true;
}

static bool check_page(pages *p, uint64_t page, int depth)
{
    if (page < 2 || page >= p->n_pages)
        return damaged(p, "a page lies behind the end of the file");
    if (depth < 1 || ++p->visited > p->n_pages)
        return damaged(p, "pages go round in a circle");
    const char *at = p->data + page * p->page_size;
    uint64_t flags = field(at + 10, 2), lower = field(at + 12, 2), upper = field(at + 14, 2);
    bool branch = flags & PAGE_BRANCH;
    if (field(at, 8) != page || (flags & 0x2f) != (branch ? PAGE_BRANCH : PAGE_LEAF) ||
        branch != (depth > 1) || lower < PAGE_HEADER || lower > upper || upper > p->page_size)
        return damaged(p, "a page has a wrong header");
    uint64_t n = (lower - PAGE_HEADER) / 2;
    if (n < 1)
        return damaged(p, "a page is empty");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t node = field(at + PAGE_HEADER + 2 * i, 2);
        if (node < upper || node > p->page_size - NODE_HEADER || node % 2)
            return damaged(p, "an entry lies outside its page");
        if (!check_node(p, at, node, branch, depth))
            return false;
    }
    return true;
}

static bool check_tree(pages *p, const char *tree)
{
    uint64_t depth = field(tree + 6, 2), root = field(tree + 40, 8);
    if (root == UINT64_MAX)
        return depth == 0 ? true : damaged(p, "an empty tree has a depth");
    if (depth < 1 || depth > DEPTH_LIMIT)
        return damaged(p, "a tree has an impossible depth");
    if (!p->leaves && depth == 1)
        return root >= 2 && root < p->n_pages
                   ? true
                   : damaged(p, "a page lies behind the end of the file");
    return check_page(p, root, (int)depth);
}

/* The newer of the two meta pages, or NULL. */
static const char *check_metas(pages *p)
{
    const char *newer = NULL;
    if (p->size < 2 * 512)
        return damaged(p, "the file is too short"), NULL;
    /* The page size stands in the meta page itself. */
    const char *first = p->data + PAGE_HEADER;
    p->page_size = field(first + META_TREES, 4);
    if (field(first, 4) != META_MAGIC)
        return damaged(p, "the file does not begin like a database"), NULL;
    p->other_format = field(first + 4, 4) != FORMAT;
    if (p->other_format)
        return NULL;
    if (p->page_size < 512 || p->page_size > 65536 || (p->page_size & (p->page_size - 1)) ||
        p->size < 2 * p->page_size)
        return damaged(p, "the first page is wrong or alone"), NULL;
    p->n_pages = p->size / p->page_size;
    uint64_t txn[2];
    for (uint64_t i = 0; i < 2; i++) {
        const char *at = p->data + i * p->page_size;
        const char *meta = at + PAGE_HEADER;
        uint64_t last = field(meta + META_TREES + 2 * TREE_SIZE, 8);
        txn[i] = field(meta + META_TREES + 2 * TREE_SIZE + 8, 8);
        if (!(field(at + 10, 2) & PAGE_META) || field(meta, 4) != META_MAGIC ||
            field(meta + 4, 4) != FORMAT || last < 1)
            return damaged(p, "a meta page is wrong"), NULL;
        if (!newer || txn[i] > p->txn) {
            newer = meta;
            p->txn = txn[i];
            p->last = last;
        }
    }
    /* Transactions take the pages in turn, even numbers the first; a new file has 0 twice. */
    if (p->txn &&
        (txn[0] % 2 || !(txn[1] % 2) || (txn[0] - txn[1] != 1 && txn[1] - txn[0] != 1)))
        return damaged(p, "the meta pages do not follow one another"), NULL;
    return newer;
}

static bool check_snapshot(pages *p)
{
    const char *meta = check_metas(p);
    if (!meta)
        return false;
    /* A file may end before its last page when that page is free and was never written; then
     * only following every page tells whether it was cut. */
    p->leaves = p->size <= (uint64_t)leaf_limit || p->n_pages <= p->last;
    return check_tree(p, meta + META_TREES) && check_tree(p, meta + META_TREES + TREE_SIZE);
}

int ot_check_pages(const char *path, optune_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return optune_fail(err, errno == ENOENT ? OPTUNE_ENOENT : OPTUNE_ESTORE,
                           "cannot open '%s': %s", path, strerror(errno));
    pages p = {0};
    uint64_t seen = 0;
    bool good = false;
    for (int tries = 0; !good && tries < 8; tries++) {
        struct stat info;
        if (fstat(fd, &info) < 0)
            break;
        p = (pages){.size = (uint64_t)info.st_size};
        void *map =
            info.st_size ? mmap(NULL, p.size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
        p.data = map;
        if (map == MAP_FAILED && info.st_size) {
            close(fd);
            return optune_fail(err, OPTUNE_ESTORE, "cannot map '%s': %s", path,
                               strerror(errno));
        }
        good = info.st_size ? check_snapshot(&p) : damaged(&p, "the file is empty");
        if (map != MAP_FAILED)
            munmap(map, p.size);
        if (tries > 0 && p.txn == seen)
            break; /* the same snapshot looked wrong twice */
        seen = p.txn;
    }
    close(fd);
    if (good)
        return OPTUNE_OK;
    if (p.other_format)
        return optune_fail(err, OPTUNE_EVERSION, "database file '%s' has another LMDB format",
                           path);
    return optune_fail(err, OPTUNE_EDAMAGED, "database file '%s' is damaged: %s", path,
                       p.why ? p.why : "it changes all the time");
}
