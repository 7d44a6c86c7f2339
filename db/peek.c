/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of LMDB's format 1 that trusts nothing and waits for nobody. A snapshot T stays whole
 * until transaction T+3 begins, and that cannot begin before T+2 is committed; so what was read
 * counts when the file's last commit is still T or T+1 afterwards, and is read again else.
 */
#include "db/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/format.h"

enum {
    CACHED = 64, /* pages that a view keeps */
    META_TRIES = 64,
    TRIES = 1000,      /* snapshots that may be overtaken in a row */
    LARGEST = 8 << 20, /* bytes of a value */
    KEY_MOST = 511,    /* LMDB's */
};

typedef struct bound {
    char node[8 + KEY_MOST];
} bound;

struct ot_peek {
    int fd;
    char *path;
};

typedef struct table_view {
    uint64_t root;
    int depth; /* 0: it is empty */
    char *key, *value;
    size_t key_room, value_room;
} table_view;

struct ot_peek_view {
    ot_peek *peek;
    ot_vetted *vetted;
    const char *const *names;
    ot_meta meta;
    const char *why; /* something is damaged */
    table_view table[OT_TABLES];
    uint64_t cached[CACHED]; /* page numbers; 0: none */
    char *page;              /* CACHED of them */
};

/* ---- the file ---------------------------------------------------------------------------- */

int ot_peek_open(const char *data, ot_peek **peek, optune_err *err)
{
    *peek = NULL;
    optune_err why = {0};
    const int fd = ot_open_file(data, O_RDONLY, &why);
    if (fd < 0)
        return optune_fail(err, OPTUNE_ESTORE, "the database cannot be read: %s", why.text);
    *peek = ot_alloc(sizeof **peek);
    **peek = (ot_peek){.fd = fd, .path = ot_strdup(data)};
    return OPTUNE_OK;
}

void ot_peek_close(ot_peek *peek)
{
    if (!peek)
        return;
    close(peek->fd);
    free(peek->path);
    free(peek);
}

int64_t ot_peek_size(const ot_peek *peek)
{
    return lseek(peek->fd, 0,
                 SEEK_END); /* half of what fstat takes; all others read by pread */
}

/* A file system in a process of its own gives part of what is asked for, or nothing, when a signal
 * comes. How much there is: fewer than n at the end of the file. */
static ssize_t read_whole(int fd, char *to, size_t n, off_t at)
{
    size_t got = 0;
    while (got < n) {
        const ssize_t more = pread(fd, to + got, n - got, at + (off_t)got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return more < 0 ? more : (ssize_t)got;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

static const char *read_each(const ot_peek *peek, ot_meta each[2])
{
    char head[OT_META_BYTES];
    for (int i = 0; i < 2; i++) {
        const off_t at = i ? (off_t)each[0].page_size : 0;
        if (read_whole(peek->fd, head, sizeof head, at) != (ssize_t)sizeof head)
            return "the file is too short";
        const char *why = ot_meta_read(head, (uint64_t)i, &each[i]);
        if (why)
            return why;
    }
    return NULL;
}

static const char *read_both(const ot_peek *peek, ot_meta *meta)
{
    ot_meta each[2];
    const char *why = read_each(peek, each);
    return why ? why : ot_meta_newer(each, meta);
}

/* Whether they follow one another does not matter here: the last commit is no earlier than the
 * later one says. */
static const char *read_last(const ot_peek *peek, ot_meta *meta)
{
    ot_meta each[2];
    const char *why = read_each(peek, each);
    if (!why)
        *meta = each[each[1].txn > each[0].txn];
    return why;
}

/* The two are read one after the other, so commits in between make them look wrong: some looks
 * at once, then some that wait for a writer that is in a hurry. */
static const char *patiently(const char *(*read)(const ot_peek *, ot_meta *),
                             const ot_peek *peek, ot_meta *meta)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    const char *why = read(peek, meta);
    for (int i = 1; why && i < META_TRIES; i++) {
        if (i < META_TRIES / 4)
            sched_yield();
        else
            nanosleep(&pause, NULL);
        why = read(peek, meta);
    }
    return why;
}

static const char *read_meta(const ot_peek *peek, ot_meta *meta)
{
    return patiently(read_both, peek, meta);
}

int64_t ot_peek_last(const ot_peek *peek)
{
    ot_meta meta;
    return patiently(read_last, peek, &meta) ? -1 : (int64_t)meta.txn;
}

int64_t ot_peek_bytes(const ot_peek *peek)
{
    ot_meta meta;
    return read_meta(peek, &meta) ? -1 : (int64_t)((meta.last + 1) * meta.page_size);
}

/* ---- pages ------------------------------------------------------------------------------- */

static void *damaged(ot_peek_view *v, const char *why)
{
    v->why = why;
    return NULL;
}

/* A copy, valid until CACHED others have been asked for; NULL: damaged. */
static const char *page_at(ot_peek_view *v, uint64_t number)
{
    const size_t size = v->meta.page_size, slot = number % CACHED;
    char *page = v->page + slot * size;
    if (number < 2 || number > v->meta.last)
        return damaged(v, "a page lies behind the end of the file");
    if (v->cached[slot] == number)
        return page;
    v->cached[slot] = 0;
    const ssize_t got = read_whole(v->peek->fd, page, size, (off_t)(number * size));
    if (got != (ssize_t)size)
        return damaged(v, got < 0 ? "its disk does not give a page" : "a page is missing");
    v->cached[slot] = number;
    return page;
}

/* An entry of a page, all of it inside; false: damaged. */
static bool entry_of(ot_peek_view *v, const char *page, int i, ot_entry *entry)
{
    const char *why = ot_page_entry(page, v->meta.page_size, i, entry);
    if (why)
        v->why = why;
    return !why;
}

/* A copy of a branch's entry, as its page may lose its room to a deeper one. False: damaged. */
static bool keep_bound(ot_peek_view *v, const char *page, int i, bound *to)
{
    size_t n = 0;
    const char *node = ot_page_node(page, v->meta.page_size, i);
    const char *key = node ? ot_node_key(node, &n) : NULL;
    if (!key || n > KEY_MOST) {
        v->why = "a key reaches out of its page";
        return false;
    }
    memcpy(to->node, node, (size_t)(key - node) + n);
    return true;
}

static void keep(char **to, size_t *room, const void *from, size_t n)
{
    if (n + 1 > *room || !*to) {
        free(*to);
        *room = n + 1;
        *to = ot_alloc(*room);
    }
    if (n)
        memcpy(*to, from, n);
}

static bool keep_large(ot_peek_view *v, table_view *t, const ot_entry *entry)
{
    const size_t size = v->meta.page_size;
    const uint64_t first = entry->overflow;
    const char *head = page_at(v, first);
    const char *why = head ? ot_overflow_check(head, first, size, entry->value_bytes) : v->why;
    if (!why && entry->value_bytes > LARGEST)
        why = "a value is larger than any";
    if (why) {
        v->why = why;
        return false;
    }
    keep(&t->value, &t->value_room, NULL, 0);
    if (entry->value_bytes + 1 > t->value_room) {
        free(t->value);
        t->value_room = entry->value_bytes + 1;
        t->value = ot_alloc(t->value_room);
    }
    const ssize_t n = read_whole(v->peek->fd, t->value, entry->value_bytes,
                                 (off_t)(first * size + OT_PAGE_HEADER));
    if (n == (ssize_t)entry->value_bytes)
        return true;
    v->why = n < 0 ? "its disk does not give a large value" : "a large value is cut off";
    return false;
}

/* Where a search goes on: a page, how high it is, and the branch's entries that its keys lie
 * between; NULL: there is none. */
typedef struct below {
    uint64_t number;
    int depth;
    const char *low, *high;
} below;

static const char *page_below(ot_peek_view *v, const below *at)
{
    const size_t size = v->meta.page_size;
    const char *page = page_at(v, at->number);
    const char *why = page ? ot_vet(v->vetted, page, at->number, size, at->depth > 1) : v->why;
    if (!why)
        why = ot_page_between(page, size, at->low, at->high);
    return why ? damaged(v, why) : page;
}

static int seek(ot_peek_view *v, table_view *t, const below *at, ot_bytes from, bool behind,
                ot_entry *found);

/* From the i-th child of a branch on. */
static int seek_children(ot_peek_view *v, table_view *t, const below *at, int i, ot_bytes from,
                         bool behind, ot_entry *found)
{
    bound low, high;
    int answer = 1;
    for (int n = i + 1; i < n && answer == 1; i++) {
        const char *page = page_at(v, at->number);
        ot_entry entry;
        if (!page || !entry_of(v, page, i, &entry))
            return -1;
        n = ot_page_entries(page);
        if ((i > 0 && !keep_bound(v, page, i, &low)) ||
            (i + 1 < n && !keep_bound(v, page, i + 1, &high)))
            return -1;
        const below child = {entry.child, at->depth - 1, i > 0 ? low.node : at->low,
                             i + 1 < n ? high.node : at->high};
        answer = seek(v, t, &child, from, behind, found);
    }
    return answer;
}

/* 0 found, kept in the table's own room; 1 not below this page; -1 damaged. */
static int seek(ot_peek_view *v, table_view *t, const below *at, ot_bytes from, bool behind,
                ot_entry *found)
{
    const bool branch = at->depth > 1;
    const char *page = page_below(v, at);
    const int rank = page ? ot_page_rank(page, v->meta.page_size, branch, from.data, from.n,
                                         branch || behind)
                          : -1;
    if (page && rank < 0)
        v->why = "a key reaches out of its page";
    if (rank < 0)
        return -1;
    if (branch)
        return seek_children(v, t, at, rank - 1, from, behind, found);
    if (rank == ot_page_entries(page))
        return 1;
    if (!entry_of(v, page, rank, found))
        return -1;
    keep(&t->key, &t->key_room, found->key, found->key_bytes);
    if (!found->overflow)
        keep(&t->value, &t->value_room, found->value, found->value_bytes);
    return found->overflow && !keep_large(v, t, found) ? -1 : 0;
}

static int seek_table(ot_peek_view *v, table_view *t, uint64_t root, int depth, ot_bytes from,
                      bool behind, ot_entry *found)
{
    const below all = {.number = root, .depth = depth};
    return depth ? seek(v, t, &all, from, behind, found) : 1;
}

/* ---- snapshots --------------------------------------------------------------------------- */

/* -1: damaged, or overtaken. */
static int open_tables(ot_peek_view *v)
{
    table_view *own = &v->table[OT_TABLE_META]; /* its room serves until it is known itself */
    uint64_t root[OT_TABLES];
    int depth[OT_TABLES];
    for (int i = 0; i < OT_TABLES; i++) {
        ot_entry entry;
        const ot_bytes name = {v->names[i], strlen(v->names[i])};
        root[i] = 0;
        depth[i] = 0;
        const int answer = seek_table(v, own, v->meta.root, v->meta.depth, name, false, &entry);
        if (answer < 0)
            return -1;
        if (answer == 1 || entry.key_bytes != name.n || memcmp(own->key, name.data, name.n))
            continue; /* made by a version that did not have it */
        const char *why = entry.tree && !entry.overflow && entry.value_bytes == OT_TREE_BYTES
                              ? ot_tree_read(own->value, &root[i], &depth[i])
                              : "a table is none";
        if (why) {
            v->why = why;
            return -1;
        }
    }
    for (int i = 0; i < OT_TABLES; i++) {
        v->table[i].root = root[i];
        v->table[i].depth = depth[i];
    }
    return 0;
}

/* Whether what was read since the snapshot began is what it was. */
static bool holds(const ot_peek_view *v)
{
    ot_meta now;
    return !read_meta(v->peek, &now) && now.txn >= v->meta.txn && now.txn <= v->meta.txn + 1 &&
           now.page_size == v->meta.page_size;
}

static int refresh(ot_peek_view *v)
{
    const size_t before = v->meta.page_size;
    v->why = read_meta(v->peek, &v->meta);
    if (v->why)
        return -1;
    memset(v->cached, 0, sizeof v->cached);
    if (before != v->meta.page_size || !v->page) {
        free(v->page);
        v->page = ot_alloc(CACHED * v->meta.page_size);
    }
    return open_tables(v);
}

static int fail(const ot_peek_view *v, optune_err *err)
{
    return optune_fail(err, OPTUNE_EDAMAGED, "database file '%s' is damaged: %s", v->peek->path,
                       v->why ? v->why : "it changes all the time");
}

int ot_peek_begin(ot_peek *peek, ot_vetted *vetted, const char *const names[OT_TABLES],
                  ot_peek_view **view, optune_err *err)
{
    ot_peek_view *v = ot_alloc(sizeof *v);
    *v = (ot_peek_view){.peek = peek, .vetted = vetted, .names = names};
    for (int i = 0; i < TRIES; i++) {
        const int status = refresh(v);
        if (status == 0 && holds(v)) {
            *view = v;
            return OPTUNE_OK;
        }
        if (status < 0 && (!v->page || holds(v)))
            break; /* nobody wrote meanwhile: it is so */
        v->why = NULL;
    }
    const int status = fail(v, err);
    ot_peek_end(v);
    *view = NULL;
    return status;
}

void ot_peek_end(ot_peek_view *v)
{
    for (int i = 0; i < OT_TABLES; i++) {
        free(v->table[i].key);
        free(v->table[i].value);
    }
    free(v->page);
    free(v);
}

int64_t ot_peek_snapshot(const ot_peek_view *v)
{
    return (int64_t)v->meta.txn;
}

int ot_peek_seek(ot_peek_view *v, ot_kv_table table, ot_bytes from, bool behind, ot_bytes *key,
                 ot_bytes *value, optune_err *err)
{
    table_view *t = &v->table[table];
    char *copy = NULL; /* `from` may lie in the room that the answer is written to */
    if (from.n) {
        copy = ot_alloc(from.n);
        memcpy(copy, from.data, from.n);
        from.data = copy;
    }
    int answer = -1;
    for (int i = 0; i < TRIES; i++) {
        ot_entry entry = {0};
        v->why = NULL;
        answer = seek_table(v, t, t->root, t->depth, from, behind, &entry);
        if (holds(v)) {
            if (answer == 0) {
                *key = (ot_bytes){t->key, entry.key_bytes};
                *value = (ot_bytes){t->value, entry.value_bytes};
            }
            break;
        }
        answer = -1;
        if (refresh(v) < 0 && !v->page)
            break;
    }
    free(copy);
    return answer < 0 ? fail(v, err) : answer;
}
