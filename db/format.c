/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h. Offsets are those of LMDB 0.9 on machines with pointers of 8 bytes. */
#include "db/format.h"

#include <string.h>

enum {
    META_MAGIC = 0xbeefc0de,
    FORMAT = 1,
    NODE_HEADER = 8, /* low 2, high 2, flags 2, key size 2 */
    META_TREES = 24, /* offset in the meta: magic 4, version 4, address 8, map size 8 */
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_META = 8,
    PAGE_KINDS = 0x6f, /* all that may be on a page of the file, and what may not */
    NODE_BIG = 1,
    NODE_TREE = 2,
    NODE_DUPLICATES = 4,
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

const char *ot_page_check(const char *page, uint64_t number, size_t size, bool branch)
{
    const uint64_t flags = field(page + 10, 2), lower = field(page + 12, 2);
    const uint64_t upper = field(page + 14, 2);
    if (field(page, 8) != number ||
        (flags & PAGE_KINDS) != (branch ? PAGE_BRANCH : PAGE_LEAF) || lower < OT_PAGE_HEADER ||
        lower % 2 || lower > upper || upper > size)
        return "a page has a wrong header";
    if (lower < OT_PAGE_HEADER + (branch ? 4 : 2))
        return "a page is empty";
    return NULL;
}

int ot_page_entries(const char *page)
{
    return (int)((field(page + 12, 2) - OT_PAGE_HEADER) / 2);
}

const char *ot_page_entry(const char *page, size_t size, int i, ot_entry *entry)
{
    const bool branch = field(page + 10, 2) & PAGE_BRANCH;
    const uint64_t at = field(page + OT_PAGE_HEADER + 2 * i, 2), upper = field(page + 14, 2);
    *entry = (ot_entry){0};
    if (at < upper || at > size - NODE_HEADER || at % 2)
        return "an entry lies outside its page";
    const char *start = page + at;
    const uint64_t low = field(start, 2), high = field(start + 2, 2);
    const uint64_t flags = field(start + 4, 2), key = field(start + 6, 2);
    const uint64_t room = size - at - NODE_HEADER;
    if (key > room)
        return "a key reaches out of its page";
    entry->key = start + NODE_HEADER;
    entry->key_bytes = (size_t)key;
    if (branch) {
        entry->child = low | high << 16 | flags << 32;
        return NULL;
    }
    entry->value = entry->key + key;
    entry->value_bytes = (size_t)(low | high << 16);
    if (flags & NODE_DUPLICATES)
        return "there are duplicate keys";
    if (flags & ~(uint64_t)(NODE_BIG | NODE_TREE))
        return "an entry has unknown flags";
    entry->tree = flags & NODE_TREE;
    if (flags & NODE_BIG) {
        if (room - key < 8)
            return "a value reaches out of its page";
        entry->overflow = field(entry->value, 8);
        return entry->overflow < 2 ? "a large value lies in a meta page" : NULL;
    }
    return entry->value_bytes > room - key ? "a value reaches out of its page" : NULL;
}

/* Its first eight bytes as a number that sorts as they do. */
static uint64_t head_of(const char *key)
{
    const uint64_t head = field(key, 8);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? head : __builtin_bswap64(head);
}

int ot_key_order(const ot_entry *a, const ot_entry *b)
{
    const size_t n = a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes;
    if (n >= 8) { /* most keys differ in these */
        const uint64_t head_a = head_of(a->key), head_b = head_of(b->key);
        if (head_a != head_b)
            return head_a < head_b ? -1 : 1;
    }
    const int order = n ? memcmp(a->key, b->key, n) : 0;
    return order ? order : (a->key_bytes > b->key_bytes) - (a->key_bytes < b->key_bytes);
}

const char *ot_page_whole(const char *page, size_t size, bool ordered)
{
    const int branch = field(page + 10, 2) & PAGE_BRANCH, n = ot_page_entries(page);
    ot_entry entry, before = {0};
    const char *why = NULL;
    for (int i = 0; i < n && !why; i++, before = entry) {
        why = ot_page_entry(page, size, i, &entry);
        /* The first key of a branch page is not asked for. */
        if (!why && ordered && i > branch && ot_key_order(&before, &entry) >= 0)
            why = "its keys are out of order";
    }
    return why;
}

const char *ot_overflow_check(const char *page, uint64_t number, size_t size, size_t bytes)
{
    const uint64_t count = field(page + 12, 4);
    if (field(page, 8) != number || (field(page + 10, 2) & PAGE_KINDS) != PAGE_OVERFLOW ||
        count == 0 || count > (uint64_t)1 << 24 || bytes > count * size - OT_PAGE_HEADER)
        return "the page of a large value is no such page";
    return NULL;
}
