/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB's format 1 as bytes: what check.c follows and peek.c reads. Nothing that is read is
 * believed before it is checked; each function says what is wrong, or NULL.
 */
#ifndef OPTUNE_DB_FORMAT_H
#define OPTUNE_DB_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OT_PAGE_HEADER = 16, /* number 8, pad 2, flags 2, lower 2, upper 2 (or overflow pages 4) */
    OT_TREE_BYTES = 48,  /* pad 4, flags 2, depth 2, three page counts 24, entries 8, root 8 */
    OT_META_BYTES = 16 + 24 + 2 * OT_TREE_BYTES + 16,
    OT_DEEPEST = 32,
};

typedef struct ot_meta {
    uint64_t page_size, txn, last; /* its last page */
    uint64_t root;                 /* of the tree of tables */
    uint64_t free_root;            /* of the free pages' */
    int depth, free_depth;         /* 0: it is empty */
    bool other_format;
} ot_meta;

typedef struct ot_entry {
    const char *key, *value;
    size_t key_bytes, value_bytes;
    uint64_t child;    /* of a branch page */
    uint64_t overflow; /* first page of a large value; 0: it lies here */
    bool tree;         /* the value is a table */
} ot_entry;

/* The meta page `number` (0, 1) from its first OT_META_BYTES. */
const char *ot_meta_read(const char *head, uint64_t number, ot_meta *meta);
/* Which of two counts, and whether they belong together. */
const char *ot_meta_newer(const ot_meta each[2], ot_meta *newer);
const char *ot_tree_read(const char *tree, uint64_t *root, int *depth);
int64_t ot_tree_entries(const char *tree);      /* how many it says that it has */
uint64_t ot_tree_large_pages(const char *tree); /* and pages of large values */

/* ---- page.c: pages of trees ---------------------------------------------------------------- */
const char *ot_page_check(const char *page, uint64_t number, size_t size, bool branch);
/* The others are of a page that was checked. All entries of it, and with `ordered` that their keys
 * ascend. */
const char *ot_page_whole(const char *page, size_t size, bool ordered);
int ot_page_entries(const char *page);
const char *ot_page_entry(const char *page, size_t size, int i, ot_entry *entry);
/* The i-th entry as it lies there, all of its key in the page; NULL: it is odd. */
const char *ot_page_node(const char *page, size_t size, int i);
const char *ot_node_key(const char *node, size_t *n);
uint64_t ot_node_child(const char *node); /* of a branch page */
/* As memcmp of the key and the node's: LMDB's order. */
int ot_key_order(const char *key, size_t n, const char *node);
/* How many entries, `low` known ones among them, are before the key, or with `at` at it; -1: one is
 * odd. */
int ot_page_rank(const char *page, size_t size, int low, const char *key, size_t n, bool at);
/* Whether all its keys are at or behind that of `low` and before that of `high`, nodes of the
 * branch above; NULL: nothing bounds them there. */
const char *ot_page_between(const char *page, size_t size, const char *low, const char *high);
const char *ot_overflow_check(const char *page, uint64_t number, size_t size, size_t bytes);
uint64_t ot_overflow_pages(const char *page);

/* ---- vetted.c: pages that were looked at whole -------------------------------------------- */
/* A bit for each page of a file, for any number of threads; it says that the page was sound when
 * it was first met. What is read of a page is looked at each time all the same, so that a page
 * that changed behind this one's back is a wrong answer at worst. */
typedef struct ot_vetted ot_vetted;
ot_vetted *ot_vetted_new(void);
void ot_vetted_free(ot_vetted *vetted);
void ot_vetted_note(ot_vetted *vetted, uint64_t number); /* it was looked at elsewhere */
/* The header of a page, and all of it where it is met for the first time. */
const char *ot_vet(ot_vetted *vetted, const char *page, uint64_t number, size_t size,
                   bool branch);

#endif
