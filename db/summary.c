/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a question's entries in the index come to: when they last changed, and, where there are many
 * that decide nothing, those that do. So an answer costs as much of a workload with ten thousand
 * trials as of one with ten, and who kept an answer sees at a glance that it still is one.
 *
 * A summary is made with every change of the entries, in its transaction. A version that makes none
 * may have written to the store meanwhile: `meta` says which transaction was the last that did, and
 * with any other behind it no summary is believed; the next one that makes them starts anew, in
 * another epoch.
 *
 * Where all questions have one, which is so of a store whose index was empty when an epoch began,
 * or that was made whole, or where they were made since (summing.c), a question without one has no
 * entries. A summary that is nobody's says so: it goes with all others when an epoch ends,
 * whichever version ends it.
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"
#include "db/kv.h"

enum {
    DIGEST = 16,
    COST = 8,
    ALIKE = 4,
    HEAD = OT_SUMMARY_HEAD,
    ENTRY = DIGEST + COST + ALIKE
};

/* ---- entries of the index ---------------------------------------------------------------- */

static bool of_question(const ot_bytes *key, const ot_digest *asked)
{
    return key->n == OT_BEST_KEY && memcmp(key->data, asked->byte, DIGEST) == 0;
}

static ot_brief brief_of(const ot_bytes *key, const ot_bytes *value)
{
    const unsigned char *v = value->data;
    ot_brief b = {.told = value->n == OT_BEST_VALUE, .keep = true};
    memcpy(b.cost, (const char *)key->data + DIGEST, COST);
    memcpy(b.digest.byte, (const char *)key->data + DIGEST + COST, DIGEST);
    if (b.told) {
        b.good = v[0] & 1;
        b.final = v[0] >> 1 & 1;
        memcpy(&b.time, v + 1, 8);
        memcpy(&b.tried, v + 9, 8);
        memcpy(&b.basis, v + 17, 8);
    }
    return b;
}

static ot_brief *another(ot_briefs *all)
{
    all->at = ot_room(all->at, all->n, &all->capacity, sizeof *all->at);
    return &all->at[all->n++];
}

void ot_briefs_add(ot_briefs *all, const ot_bytes *key, const ot_bytes *value)
{
    *another(all) = brief_of(key, value);
}

int ot_briefs_read(ot_snapshot *reader, const ot_digest *asked, ot_briefs *all, optune_err *err)
{
    ot_bytes key = {asked->byte, DIGEST}, value;
    all->n = 0;
    if (ot_walk_none(reader, OT_TABLE_BEST, key))
        return OPTUNE_OK;
    int status = ot_snapshot_seek(reader, OT_TABLE_BEST, &key, &value, err);
    while (status == OPTUNE_OK && of_question(&key, asked)) {
        ot_briefs_add(all, &key, &value);
        status = ot_snapshot_next(reader, OT_TABLE_BEST, &key, &value, err);
    }
    return status < 0 ? status : OPTUNE_OK;
}

/* ---- writing ----------------------------------------------------------------------------- */

int ot_summary_make(ot_writer *writer, const ot_digest *asked, optune_err *err)
{
    int64_t bytes = 0;
    return ot_summary_make_counted(writer, asked, &bytes, err);
}

int ot_summary_make_counted(ot_writer *writer, const ot_digest *asked, int64_t *bytes,
                            optune_err *err)
{
    if (memcmp(asked->byte, ot_summary_all_key.data, DIGEST) == 0)
        return OPTUNE_OK; /* of a damaged key: nobody asks that, and it would say something else */
    ot_briefs all = {0};
    ot_text text = {0};
    ot_snapshot reader;
    ot_writer_view(writer, &reader);
    int status = ot_briefs_read(&reader, asked, &all, err);
    ot_writer_view_end(&reader);
    if (status >= 0) {
        *bytes += (int64_t)all.n * (OT_BEST_KEY + OT_BEST_VALUE);
        ot_deciding(all.at, all.n);
        ot_summary_print(asked, writer->serial, &all, &text);
        *bytes += (int64_t)text.n;
        status = ot_writer_put(writer, OT_TABLE_SUMMARY, (ot_bytes){asked->byte, DIGEST},
                               (ot_bytes){text.s, text.n}, NULL, err);
    }
    ot_text_release(&text);
    free(all.at);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* 1: there is none. */
static int entry_of(ot_snapshot *reader, const ot_digest *asked, ot_bytes *value)
{
    struct ot_seen *seen = &reader->seen;
    if (!reader->view && seen->summary && !memcmp(seen->question, asked->byte, DIGEST)) {
        *value = seen->value;
        return seen->summary > 0 ? OPTUNE_OK : 1;
    }
    const int status =
        ot_snapshot_get(reader, OT_TABLE_SUMMARY, (ot_bytes){asked->byte, DIGEST}, value, NULL);
    if (status >= 0 && !reader->view) {
        seen->summary = status == OPTUNE_OK ? 1 : -1;
        memcpy(seen->question, asked->byte, DIGEST);
        seen->value = *value;
        seen->whole = false;
    }
    return status;
}

/* Of what entry_of gave. */
static bool is_whole(ot_snapshot *reader, const ot_digest *asked, const ot_bytes *value,
                     uint64_t *serial, uint32_t *kept)
{
    struct ot_seen *seen = &reader->seen;
    if (!reader->view && seen->whole) {
        ot_summary_head(value, serial, kept);
        return true;
    }
    const bool whole = ot_summary_whole(asked, value, serial, kept);
    seen->whole = whole && !reader->view;
    return whole;
}

bool ot_summary_has_all(ot_snapshot *reader)
{
    struct ot_seen *seen = &reader->seen;
    const int64_t number = reader->view ? 0 : ot_snapshot_number(reader);
    ot_bytes value;
    if (reader->view || !seen->all || seen->all_number != number) {
        const bool has = ot_snapshot_get(reader, OT_TABLE_SUMMARY, ot_summary_all_key, &value,
                                         NULL) == OPTUNE_OK &&
                         ot_summary_is_all(&value);
        seen->all = has ? 1 : -1;
        seen->all_number = number;
    }
    return seen->all > 0;
}

int ot_summary_read(ot_snapshot *reader, const ot_digest *asked, ot_briefs *all)
{
    uint64_t serial, epoch;
    uint32_t kept;
    ot_bytes value = {NULL, 0};
    if (!ot_snapshot_epoch(reader, &epoch))
        return 1;
    /* In front of the entry: a reader without rights may go on to a later snapshot in between,
     * where all have one that had none in this. */
    const bool has_all = reader->view && ot_summary_has_all(reader);
    const int found = entry_of(reader, asked, &value);
    all->n = 0;
    if (found == 1 && (reader->view ? has_all : ot_summary_has_all(reader)))
        return OPTUNE_OK;
    if (found || !is_whole(reader, asked, &value, &serial, &kept) || !kept)
        return 1;
    const char *at = (const char *)value.data + HEAD;
    if (kept > (uint32_t)all->capacity) { /* so many, and no more */
        free(all->at);
        all->at = ot_alloc_raw(kept * sizeof *all->at);
        all->capacity = (int)kept;
    }
    for (; kept--; at += ENTRY) {
        uint32_t alike;
        ot_brief *b = &all->at[all->n++];
        *b = (ot_brief){.keep = true};
        memcpy(b->digest.byte, at, DIGEST);
        memcpy(b->cost, at + DIGEST, COST);
        memcpy(&alike, at + DIGEST + COST, ALIKE);
        b->alike = (int)(alike & OT_SUMMARY_ALIKE);
        b->tells = alike & OT_SUMMARY_TELLS;
        b->spare = alike & OT_SUMMARY_SPARE;
    }
    return OPTUNE_OK;
}

bool ot_store_stamp(ot_store *store, const ot_question *question, ot_stamp *stamp,
                    int64_t *snapshot)
{
    const ot_digest asked = ot_question_digest(question);
    ot_snapshot reader;
    ot_bytes value = {NULL, 0};
    uint32_t kept;
    *stamp = (ot_stamp){0};
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return false;
    bool sealed = ot_snapshot_epoch(&reader, &stamp->epoch);
    const int status = sealed ? entry_of(&reader, &asked, &value) : 1;
    if (sealed && status == OPTUNE_OK)
        sealed = is_whole(&reader, &asked, &value, &stamp->serial, &kept);
    /* A reader without rights may have moved on to a later snapshot meanwhile. */
    sealed = sealed && status >= 0 && ot_snapshot_epoch(&reader, &stamp->epoch);
    *snapshot = ot_snapshot_number(&reader);
    ot_snapshot_end(&reader);
    return sealed;
}

/* ---- checking ---------------------------------------------------------------------------- */

/* Whether it is what the entries come to, as this version says it, or the first that made some. */
static bool says(const ot_text *there, const ot_digest *asked, uint64_t serial, uint32_t kept,
                 const ot_briefs *all)
{
    ot_text text = {0};
    /* Versions before this one listed fewer. */
    if (!kept && (uint32_t)all->n < 2 * ot_briefs_kept(all) + OT_SUMMARY_FEW)
        ot_summary_print_of(asked, serial, all, 0, &text);
    else
        ot_summary_print(asked, serial, all, &text);
    const bool same = text.n == there->n && memcmp(text.s, there->s, text.n) == 0;
    ot_text_release(&text);
    return same;
}

int ot_summary_check(ot_snapshot *reader, const ot_bytes *key, const ot_bytes *value,
                     optune_err *err)
{
    ot_digest asked;
    ot_briefs all = {0};
    ot_text there = {0};
    uint64_t serial;
    uint32_t kept;
    if (key->n != DIGEST)
        return 1;
    memcpy(asked.byte, key->data, DIGEST);
    if (!ot_summary_whole(&asked, value, &serial, &kept))
        return 1;
    ot_text_add_n(&there, value->data, value->n); /* reading on may move it */
    int status = ot_briefs_read(reader, &asked, &all, err);
    if (status >= 0) {
        ot_deciding(all.at, all.n);
        bool same = says(&there, &asked, serial, kept, &all);
        for (int i = 0; i < all.n && !same; i++) /* and did not say what is only told of */
            all.at[i].tells = all.at[i].spare = false;
        status = !same && !says(&there, &asked, serial, kept, &all);
    }
    ot_text_release(&there);
    free(all.at);
    return status;
}
