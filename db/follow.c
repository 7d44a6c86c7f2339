/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others wrote while a store was made of theirs is done to the new one, too. What that was is
 * seen by walking both snapshots side by side, in the pages that only one of them has; or, where
 * those cannot be told, in all: then an entry costs two steps of a cursor, as most values lie where
 * they lay. What follows from the changes (summaries) is made anew.
 */
#include <stdlib.h>
#include <unistd.h>

#include "db/deciding.h"

enum { DIGEST = 16, AT_ONCE = 16384 /* changes in one transaction */ };

typedef struct following {
    ot_store *to;
    ot_writer writer;
    bool writing;
    int waiting; /* changes of this transaction */
    int64_t n;
    bool asks; /* entries of this question have changed */
    ot_digest asked;
    const atomic_bool *stop;
    optune_err *err;
} following;

static int begin(following *f)
{
    if (!f->writing)
        OT_RETURN_UNLESS_OK(ot_writer_begin(f->to, &f->writer, f->err));
    f->writing = true;
    return OPTUNE_OK;
}

static int end_question(following *f)
{
    const bool asks = f->asks;
    f->asks = false;
    return asks ? ot_summary_make(&f->writer, &f->asked, f->err) : OPTUNE_OK;
}

static int commit(following *f)
{
    if (!f->writing)
        return OPTUNE_OK;
    int status = end_question(f);
    f->writing = false;
    f->waiting = 0;
    if (status >= 0)
        return ot_writer_commit(&f->writer, f->err);
    ot_writer_abort(&f->writer);
    return status;
}

typedef struct side {
    ot_snapshot *of;
    ot_leaves leaves;
    bool some; /* these are walked, not all */
    ot_bytes key, value;
    int status; /* 1: it is through */
} side;

static bool same(const ot_bytes *a, const ot_bytes *b)
{
    return a->n == b->n && (a->data == b->data || !a->n || memcmp(a->data, b->data, a->n) == 0);
}

/* What was there goes, unless the new store has something else in its place. */
static int remove_one(following *f, ot_kv_table table, const side *was)
{
    ot_bytes there;
    const int status = ot_writer_get(&f->writer, table, was->key, &there, f->err);
    return status < 0 || status == 1 || !same(&there, &was->value)
               ? (status < 0 ? status : OPTUNE_OK)
               : ot_writer_delete(&f->writer, table, was->key, f->err);
}

/* `is` NULL: it is no longer there. */
static int change(following *f, ot_kv_table table, const side *was, const side *is)
{
    const ot_bytes *key = is ? &is->key : &was->key;
    if (table == OT_TABLE_META && ot_epoch_is(key))
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(begin(f));
    f->n++;
    if (table == OT_TABLE_BEST && key->n > DIGEST) {
        if (memcmp(f->asked.byte, key->data, DIGEST) != 0)
            OT_RETURN_UNLESS_OK(end_question(f));
        memcpy(f->asked.byte, key->data, DIGEST);
        f->asks = true;
    }
    OT_RETURN_UNLESS_OK(is ? ot_writer_put(&f->writer, table, *key, is->value, NULL, f->err)
                           : remove_one(f, table, was));
    return ++f->waiting < AT_ONCE ? OPTUNE_OK : commit(f);
}

static int next(side *s, ot_kv_table table, optune_err *err)
{
    return s->status = s->some ? ot_leaves_next(&s->leaves, &s->key, &s->value)
                               : ot_snapshot_next(s->of, table, &s->key, &s->value, err);
}

static int first(side *s, ot_kv_table table, optune_err *err)
{
    if (s->some)
        return next(s, table, err);
    return s->status = ot_snapshot_seek(s->of, table, &s->key, &s->value, err);
}

static int follow_sides(following *f, ot_kv_table table, side *was, side *is)
{
    int status = first(was, table, f->err);
    status = status < 0 ? status : first(is, table, f->err);
    while (status >= 0 && (was->status == OPTUNE_OK || is->status == OPTUNE_OK)) {
        const int turn = was->status == 1  ? 1
                         : is->status == 1 ? -1
                                           : ot_bytes_order(&was->key, &is->key);
        status = ot_making_goes_on(f->stop, f->err);
        if (status >= 0 && (turn || !same(&was->value, &is->value)))
            status = change(f, table, was, turn < 0 ? NULL : is);
        if (status >= 0 && turn <= 0)
            status = next(was, table, f->err);
        if (status >= 0 && turn >= 0)
            status = next(is, table, f->err);
    }
    return status < 0 ? status : OPTUNE_OK;
}

static int follow_table(following *f, ot_kv_table table, ot_snapshot *before, ot_snapshot *now)
{
    side was = {.of = before}, is = {.of = now};
    was.some = is.some = ot_leaves_apart(before, now, table, &was.leaves, &is.leaves);
    const int status = follow_sides(f, table, &was, &is);
    ot_leaves_release(&was.leaves);
    ot_leaves_release(&is.leaves);
    return status;
}

/* What is not to come back goes also where only the new store has it. */
static int forget(following *f, ot_snapshot *before, ot_snapshot *now)
{
    ot_digest *digest = NULL;
    int n = 0, capacity = 0;
    side was = {.of = before}, is = {.of = now};
    ot_bytes none;
    was.some = is.some =
        ot_leaves_apart(before, now, OT_TABLE_FORGOTTEN, &was.leaves, &is.leaves);
    int status = first(&is, OT_TABLE_FORGOTTEN, f->err);
    while (status == OPTUNE_OK) {
        if (is.key.n == DIGEST &&
            ot_snapshot_get(before, OT_TABLE_FORGOTTEN, is.key, &none, NULL) == 1) {
            digest = ot_room(digest, n, &capacity, sizeof *digest);
            memcpy(digest[n++].byte, is.key.data, DIGEST);
        }
        status = ot_making_goes_on(f->stop, f->err);
        status = status < 0 ? status : next(&is, OT_TABLE_FORGOTTEN, f->err);
    }
    ot_leaves_release(&was.leaves);
    ot_leaves_release(&is.leaves);
    if (status >= 0 && n)
        status = ot_store_drop(f->to, digest, n, true, f->err);
    f->n += n;
    free(digest);
    return status < 0 ? status : OPTUNE_OK;
}

int ot_store_follow(const char *dir, ot_snapshot *was, ot_snapshot *is, const atomic_bool *stop,
                    int64_t *changes, optune_err *err)
{
    /* What leads to a record comes behind it. */
    static const ot_kv_table as_they_are[] = {
        OT_TABLE_META,   OT_TABLE_DEVICE, OT_TABLE_QUARANTINE, OT_TABLE_SHARED,
        OT_TABLE_RECORD, OT_TABLE_BEST,   OT_TABLE_HINT};
    following f = {.stop = stop, .err = err};
    ot_text lock = {0};
    *changes = 0;
    OT_RETURN_UNLESS_OK(ot_store_open(dir, OT_STORE_WRITE, &f.to, err));
    int status = OPTUNE_OK;
    for (int i = 0; i < OT_COUNT(as_they_are) && status >= 0; i++)
        status = follow_table(&f, as_they_are[i], was, is);
    if (status >= 0)
        status = commit(&f);
    else if (f.writing)
        ot_writer_abort(&f.writer);
    if (status >= 0)
        status = forget(&f, was, is);
    ot_store_close(f.to);
    ot_text_printf(&lock, "%s/store/lock.mdb", dir);
    unlink(lock.s); /* whoever opens it makes one */
    ot_text_release(&lock);
    *changes = f.n;
    return status;
}
