/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h. Offsets are those of LMDB 0.9 on machines with pointers of 8 bytes. */
#include "db/format.h"

#include <string.h>

enum {
    META_MAGIC = 0xbeefc0de,
    FORMAT = 1,
    META_TREES = 24, /* offset in the meta: magic 4, version 4, address 8, map size 8 */
    PAGE_META = 8,
    FREE_FLAGS = 8,      /* its keys are numbers */
    FILE_ALONE = 0x4000, /* there, too: a file that was made without a folder of its own */
};

static uint64_t field(const char *at, int size)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)size); /* LMDB writes the machine's own order */
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        value >>= 8 * (8 - size);
    return value;
}

int64_t ot_tree_entries(const char *tree)
{
    return (int64_t)field(tree + 32, 8);
}

uint64_t ot_tree_large_pages(const char *tree)
{
    return field(tree + 24, 8);
}

static const char *read_tree(const char *tree, uint64_t *root, int *depth)
{
    const uint64_t deep = field(tree + 6, 2);
    *root = field(tree + 40, 8);
    *depth = 0;
    if (*root == UINT64_MAX)
        return deep == 0 ? NULL : "an empty tree has a depth";
    if (deep < 1 || deep > OT_DEEPEST)
        return "a tree has an impossible depth";
    *depth = (int)deep;
    return NULL;
}

const char *ot_tree_read(const char *tree, uint64_t *root, int *depth)
{
    return field(tree + 4, 2) ? "a table has another order of keys"
                              : read_tree(tree, root, depth);
}

const char *ot_meta_read(const char *head, uint64_t number, ot_meta *meta)
{
    const char *at = head + OT_PAGE_HEADER, *free_tree = at + META_TREES;
    *meta = (ot_meta){0};
    if (field(at, 4) != META_MAGIC)
        return "the file does not begin like a database";
    meta->other_format = field(at + 4, 4) != FORMAT;
    if (meta->other_format)
        return "it has another LMDB format";
    meta->page_size = field(free_tree, 4);
    meta->last = field(free_tree + 2 * OT_TREE_BYTES, 8);
    meta->txn = field(free_tree + 2 * OT_TREE_BYTES + 8, 8);
    if (meta->page_size < 512 || meta->page_size > 65536 ||
        (meta->page_size & (meta->page_size - 1)))
        return "a meta page names an impossible page size";
    /* A new file's are numbered, and flagged as meta pages; LMDB writes no more of them later. */
    if (field(head, 8) != number || field(head + 10, 2) != PAGE_META || meta->last < 1 ||
        meta->last > (uint64_t)1 << 40)
        return "a meta page is wrong";
    /* What LMDB finds there it believes of its own table, and ends the process. */
    if ((field(free_tree + 4, 2) & ~(uint64_t)FILE_ALONE) != FREE_FLAGS)
        return "the table of free pages has another order of keys";
    const char *why = ot_tree_read(free_tree + OT_TREE_BYTES, &meta->root, &meta->depth);
    return why ? why : read_tree(free_tree, &meta->free_root, &meta->free_depth);
}

const char *ot_meta_newer(const ot_meta each[2], ot_meta *newer)
{
    *newer = each[each[1].txn > each[0].txn];
    if (each[0].page_size != each[1].page_size)
        return "the meta pages name two page sizes";
    /* Transactions take the pages in turn, even numbers the first; a new file has 0 twice. */
    if (newer->txn && (each[0].txn % 2 || !(each[1].txn % 2) ||
                       (each[0].txn - each[1].txn != 1 && each[1].txn - each[0].txn != 1)))
        return "the meta pages do not follow one another";
    return NULL;
}
