/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h: pages of a tree, their entries, and the order of these. */
#include <string.h>

#include "db/format.h"

enum {
    NODE_HEADER = 8, /* low 2, high 2, flags 2, key size 2 */
    PAGE_BRANCH = 1, /* flags of a page: one of these alone, whatever else LMDB has in memory */
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    NODE_BIG = 1,
    NODE_TREE = 2,
    NODE_DUPLICATES = 4,
};

static unsigned u16(const char *at)
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

static uint32_t u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- pages ------------------------------------------------------------------------------- */

const char *ot_page_check(const char *page, uint64_t number, size_t size, bool branch)
{
    const unsigned flags = u16(page + 10), lower = u16(page + 12), upper = u16(page + 14);
    /* One that is flagged as changed LMDB would change where it lies, which kills the process. */
    if (u64(page) != number || flags != (branch ? PAGE_BRANCH : PAGE_LEAF) ||
        lower < OT_PAGE_HEADER || lower % 2 || lower > upper || upper > size)
        return "a page has a wrong header";
    if (lower < OT_PAGE_HEADER + (branch ? 4 : 2))
        return "a page is empty";
    return NULL;
}

int ot_page_entries(const char *page)
{
    return (int)(u16(page + 12) - OT_PAGE_HEADER) / 2;
}

const char *ot_overflow_check(const char *page, uint64_t number, size_t size, size_t bytes)
{
    const uint64_t count = ot_overflow_pages(page);
    if (u64(page) != number || u16(page + 10) != PAGE_OVERFLOW || count == 0 ||
        count > (uint64_t)1 << 24 || bytes > count * size - OT_PAGE_HEADER)
        return "the page of a large value is no such page";
    return NULL;
}

uint64_t ot_overflow_pages(const char *page)
{
    return u32(page + 12);
}

/* ---- entries ----------------------------------------------------------------------------- */

const char *ot_page_node(const char *page, size_t size, int i)
{
    const size_t at = u16(page + OT_PAGE_HEADER + 2 * i);
    if (at < OT_PAGE_HEADER || at > size - NODE_HEADER ||
        u16(page + at + 6) > size - NODE_HEADER - at)
        return NULL;
    return page + at;
}

const char *ot_node_key(const char *node, size_t *n)
{
    *n = u16(node + 6);
    return node + NODE_HEADER;
}

uint64_t ot_node_child(const char *node)
{
    return u16(node) | (uint64_t)u16(node + 2) << 16 | (uint64_t)u16(node + 4) << 32;
}

const char *ot_page_entry(const char *page, size_t size, int i, ot_entry *entry)
{
    const char *node = ot_page_node(page, size, i);
    *entry = (ot_entry){0};
    if (!node)
        return "a key reaches out of its page";
    const size_t at = (size_t)(node - page), room = size - at - NODE_HEADER;
    if (at < u16(page + 14) || at % 2)
        return "an entry lies outside its page";
    entry->key = ot_node_key(node, &entry->key_bytes);
    if (entry->key_bytes > room) /* it was changed meanwhile */
        return "a key reaches out of its page";
    if (u16(page + 10) & PAGE_BRANCH) {
        entry->child = ot_node_child(node);
        return NULL;
    }
    const unsigned flags = u16(node + 4);
    entry->value = entry->key + entry->key_bytes;
    entry->value_bytes = u16(node) | (size_t)u16(node + 2) << 16;
    if (flags & NODE_DUPLICATES)
        return "there are duplicate keys";
    if (flags & ~(unsigned)(NODE_BIG | NODE_TREE))
        return "an entry has unknown flags";
    entry->tree = flags & NODE_TREE;
    if (flags & NODE_BIG) {
        if (room - entry->key_bytes < 8)
            return "a value reaches out of its page";
        entry->overflow = u64(entry->value);
        return entry->overflow < 2 ? "a large value lies in a meta page" : NULL;
    }
    return entry->value_bytes > room - entry->key_bytes ? "a value reaches out of its page"
                                                        : NULL;
}

/* ---- order ------------------------------------------------------------------------------- */

/* Of a key, its first eight bytes as a number that sorts as they do. */
static uint64_t head_of(const char *key)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? u64(key) : __builtin_bswap64(u64(key));
}

static int order_of(const char *a, size_t n_a, const char *b, size_t n_b)
{
    const size_t n = n_a < n_b ? n_a : n_b;
    if (n >= 8) { /* most keys differ in these */
        const uint64_t head_a = head_of(a), head_b = head_of(b);
        if (head_a != head_b)
            return head_a < head_b ? -1 : 1;
    }
    const int order = n ? memcmp(a, b, n) : 0;
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

int ot_key_order(const char *key, size_t n, const char *node)
{
    return order_of(key, n, node + NODE_HEADER, u16(node + 6));
}

int ot_page_rank(const char *page, size_t size, int low, const char *key, size_t n, bool at)
{
    int high = ot_page_entries(page);
    const bool has_head = n >= 8;
    const uint64_t head = has_head ? head_of(key) : 0;
    while (low < high) {
        const int middle = (low + high) / 2;
        const char *node = ot_page_node(page, size, middle);
        if (!node)
            return -1;
        const uint64_t other =
            has_head && u16(node + 6) >= 8 ? head_of(node + NODE_HEADER) : head;
        if (other != head) {
            high = head < other ? middle : high;
            low = head < other ? low : middle + 1;
            continue;
        }
        const int order = ot_key_order(key, n, node);
        if (order < 0 || (order == 0 && !at))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const char *ot_page_between(const char *page, size_t size, const char *low, const char *high)
{
    const int branch = u16(page + 10) & PAGE_BRANCH; /* its first key is not asked for */
    const char *first = ot_page_node(page, size, branch);
    const char *last = ot_page_node(page, size, ot_page_entries(page) - 1);
    size_t n;
    if (!first || !last)
        return "a key reaches out of its page";
    const char *key = low ? ot_node_key(low, &n) : NULL;
    if (low && ot_key_order(key, n, first) > 0)
        return "a page is where another belongs";
    key = high ? ot_node_key(high, &n) : NULL;
    return high && ot_key_order(key, n, last) <= 0 ? "a page is where another belongs" : NULL;
}

const char *ot_page_whole(const char *page, size_t size, bool ordered)
{
    const int branch = u16(page + 10) & PAGE_BRANCH, n = ot_page_entries(page);
    size_t taken = 0;
    ot_entry entry, before = {0};
    const char *why = NULL;
    for (int i = 0; i < n && !why; i++, before = entry) {
        why = ot_page_entry(page, size, i, &entry);
        const size_t value = branch ? 0 : entry.overflow ? 8 : entry.value_bytes;
        taken += (NODE_HEADER + entry.key_bytes + value + 1) & ~(size_t)1;
        if (!why && ordered && i > branch &&
            order_of(before.key, before.key_bytes, entry.key, entry.key_bytes) >= 0)
            why = "its keys are out of order";
    }
    return why || taken <= size - u16(page + 14) ? why : "entries of a page overlap";
}
