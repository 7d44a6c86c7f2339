/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot's pages where they lie in LMDB's map, read without LMDB, which believes what it meets
 * there: between tree.c, which reads trees of them, roots.c, which finds where these begin, walk.c,
 * which looks keys up in a snapshot's tables, apart.c, which compares two, and meet.c, which goes
 * in front of LMDB in a transaction that writes. Every page is looked at whole when it is first met
 * (ot_vet), and what is read of it each time.
 */
#ifndef OPTUNE_DB_WALK_H
#define OPTUNE_DB_WALK_H

#include "db/env.h"
#include "db/format.h"

typedef struct ot_tree {
    bool known;
    uint64_t root;
    int depth; /* 0: it is empty */
    int64_t entries;
} ot_tree;

typedef struct ot_step { /* of the way from a root to an entry of a leaf */
    const char *page;
    int at;
} ot_step;

typedef struct ot_path {
    ot_step *step; /* the root's first; owned */
    int depth, capacity;
} ot_path;

struct ot_roots {
    int64_t number;   /* the snapshot of which these are; 0: of none */
    const char *map;  /* its first page */
    uint64_t n_pages; /* that the snapshot may have and the file has */
    size_t page_size;
    ot_vetted *vetted; /* the environment's */
    ot_tree main;      /* of tables */
    ot_tree tree[OT_TABLES];
    ot_path path[OT_TABLES]; /* where a walk through a table is */
    const char *why;         /* what is damaged, once something was */
};

/* Where LMDB has shown something of the snapshot it reads; says where its map begins. Pages larger
 * than the system's may begin anywhere in one: then nothing is said. */
void ot_roots_map(env *e, const void *shown);
/* Behind each beginning of a snapshot. 1: it cannot be told, as others commit all the time. With
 * *rc it is LMDB that refused. */
int ot_roots_begin(ot_snapshot *reader, int *rc, optune_err *err);
/* Of the snapshot that a transaction of this number which writes began with; with `why` it cannot
 * be read. Owned. */
ot_roots *ot_roots_before(const env *e, int64_t txn);
void ot_roots_free(ot_roots *roots); /* NULL is fine */
/* NULL: damaged. */
const ot_tree *ot_root_of(ot_snapshot *reader, ot_kv_table table);
const ot_tree *ot_roots_table(ot_roots *roots, ot_kv_table table);
/* EDAMAGED with what `why` says. */
int ot_roots_damaged(const ot_snapshot *reader, optune_err *err);

/* ---- meet.c: in front of LMDB ------------------------------------------------------------- */
/* EDAMAGED: LMDB is not to be let at that. */
int ot_meet_begin(ot_writer *writer, optune_err *err);
void ot_meet_end(ot_writer *writer);
/* The way to a key; to the first entry at or behind it. `roots` NULL: all was met before. */
int ot_meet_key(const ot_store *store, ot_roots *roots, ot_kv_table table, ot_bytes key,
                optune_err *err);
int ot_meet_next(const ot_store *store, ot_roots *roots, ot_kv_table table, ot_bytes key,
                 bool behind, optune_err *err);
int ot_meet_all(const ot_store *store, optune_err *err); /* under the write lock */

/* ---- tree.c ------------------------------------------------------------------------------- */
/* What is wrong is kept in `why`; false, NULL and -1 say so. 1: there is none. */
const char *ot_tree_page(ot_roots *r, uint64_t number, bool branch);
const char *ot_tree_large(ot_roots *r,
                          const ot_entry *entry); /* the value of one that has one */
bool ot_tree_value(ot_roots *r, const ot_entry *entry, ot_bytes *value);
int ot_tree_find(ot_roots *r, const ot_tree *tree, ot_bytes key, ot_entry *found);
/* The path to the first entry at or behind the key, of a tree that has some. */
bool ot_tree_seek(ot_roots *r, const ot_tree *tree, ot_bytes key, ot_path *path);
void ot_tree_step(ot_path *path);                                             /* one on */
int ot_tree_show(ot_roots *r, ot_path *path, ot_bytes *key, ot_bytes *value); /* where it is */
/* To the first entry at or, with `behind`, behind the key, and shows it; a path that is near is
 * gone on from. */
int ot_tree_behind(ot_roots *r, const ot_tree *tree, ot_bytes key, bool behind, ot_path *path,
                   ot_bytes *at, ot_bytes *value);
bool ot_tree_has_none(ot_roots *r, const ot_tree *tree, ot_bytes prefix); /* no key begins so */

#endif
