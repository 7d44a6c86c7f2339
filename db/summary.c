/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a question's entries in the index come to: when they last changed, and, where there are many
 * that decide nothing, those that do. So an answer costs as much of a workload with ten thousand
 * trials as of one with ten, and who kept an answer sees at a glance that it still is one.
 *
 * A summary is made with every change of the entries, in its transaction. A version that makes none
 * may have written to the store meanwhile: `meta` says which transaction was the last that did, and
 * with any other behind it no summary is believed; the next one that makes them starts anew, in
 * another epoch. Each has a checksum: what it leaves out would be missed by nobody.
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"
#include "db/kv.h"

/* Value: serial, number of entries that decide (0: all have to be looked at), each with its digest,
 * cost and how many it stands for, and the checksum; in the machine's order, as LMDB's own. */
enum {
    DIGEST = 16,
    COST = 8,
    ALIKE = 4,
    ENTRY = DIGEST + COST + ALIKE,
    HEAD = 8 + 4,
    SUM = 8,
    FEW = 16,      /* entries that decide are listed whenever there are others beside them */
    MOST = 1 << 16 /* that are listed */
};

static uint64_t sum_of(const ot_digest *asked, const void *data, size_t n)
{
    return ot_hash64(data, n) * 0x9e3779b97f4a7c15u + ot_hash64(asked->byte, DIGEST);
}

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

static uint32_t deciding(const ot_briefs *all)
{
    uint32_t kept = 0;
    for (int i = 0; i < all->n; i++)
        kept += all->at[i].keep;
    return kept;
}

/* Many are not worth their room where they are most of all. */
static bool is_listed(uint32_t kept, int all)
{
    return kept <= MOST &&
           (kept <= FEW ? (uint32_t)all > kept : (uint32_t)all >= 2 * kept + FEW);
}

/* `kept`: those that decide, which are listed; 0: none is. */
static void print(const ot_digest *asked, uint64_t serial, const ot_briefs *all, uint32_t kept,
                  ot_text *to)
{
    ot_text_clear(to);
    ot_text_add_n(to, (const char *)&serial, sizeof serial);
    ot_text_add_n(to, (const char *)&kept, sizeof kept);
    for (int i = 0; i < all->n && kept; i++) {
        const ot_brief *b = &all->at[i];
        const uint32_t alike = (uint32_t)b->alike;
        if (!b->keep)
            continue;
        ot_text_add_n(to, (const char *)b->digest.byte, DIGEST);
        ot_text_add_n(to, (const char *)b->cost, COST);
        ot_text_add_n(to, (const char *)&alike, ALIKE);
    }
    const uint64_t sum = sum_of(asked, to->s, to->n);
    ot_text_add_n(to, (const char *)&sum, sizeof sum);
}

void ot_summary_print(const ot_digest *asked, uint64_t serial, const ot_briefs *all,
                      ot_text *to)
{
    const uint32_t kept = deciding(all);
    print(asked, serial, all, is_listed(kept, all->n) ? kept : 0, to);
}

int ot_summary_make(ot_writer *writer, const ot_digest *asked, optune_err *err)
{
    ot_briefs all = {0};
    ot_text text = {0};
    ot_snapshot reader;
    ot_writer_view(writer, &reader);
    int status = ot_briefs_read(&reader, asked, &all, err);
    ot_writer_view_end(&reader);
    if (status >= 0) {
        ot_deciding(all.at, all.n);
        ot_summary_print(asked, writer->serial, &all, &text);
        status = ot_writer_put(writer, OT_TABLE_SUMMARY, (ot_bytes){asked->byte, DIGEST},
                               (ot_bytes){text.s, text.n}, NULL, err);
    }
    ot_text_release(&text);
    free(all.at);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Whether it is whole; *kept: how many follow the head. */
static bool whole(const ot_digest *asked, const ot_bytes *value, uint64_t *serial,
                  uint32_t *kept)
{
    uint64_t sum;
    if (value->n < HEAD + SUM)
        return false;
    memcpy(serial, value->data, sizeof *serial);
    memcpy(kept, (const char *)value->data + sizeof *serial, sizeof *kept);
    memcpy(&sum, (const char *)value->data + value->n - SUM, sizeof sum);
    return *kept <= MOST && value->n == HEAD + SUM + (size_t)*kept * ENTRY &&
           sum == sum_of(asked, value->data, value->n - SUM);
}

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
    }
    return status;
}

int ot_summary_read(ot_snapshot *reader, const ot_digest *asked, ot_briefs *all)
{
    uint64_t serial, epoch;
    uint32_t kept;
    ot_bytes value = {NULL, 0};
    if (!ot_snapshot_epoch(reader, &epoch) || entry_of(reader, asked, &value) ||
        !whole(asked, &value, &serial, &kept) || !kept)
        return 1;
    const char *at = (const char *)value.data + HEAD;
    all->n = 0;
    for (; kept--; at += ENTRY) {
        uint32_t alike;
        ot_brief *b = another(all);
        *b = (ot_brief){.keep = true};
        memcpy(b->digest.byte, at, DIGEST);
        memcpy(b->cost, at + DIGEST, COST);
        memcpy(&alike, at + DIGEST + COST, ALIKE);
        b->alike = (int)alike;
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
        sealed = whole(&asked, &value, &stamp->serial, &kept);
    /* A reader without rights may have moved on to a later snapshot meanwhile. */
    sealed = sealed && status >= 0 && ot_snapshot_epoch(&reader, &stamp->epoch);
    *snapshot = ot_snapshot_number(&reader);
    ot_snapshot_end(&reader);
    return sealed;
}

void ot_summary_moved(const ot_bytes *key, const ot_bytes *value, ot_text *to)
{
    const uint64_t made = OT_SUMMARY_MADE;
    ot_digest asked;
    uint64_t serial;
    uint32_t kept;
    ot_text_clear(to);
    ot_text_add_n(to, value->data, value->n);
    if (key->n != DIGEST)
        return;
    memcpy(asked.byte, key->data, DIGEST);
    if (!whole(&asked, value, &serial, &kept))
        return;
    memcpy(to->s, &made, sizeof made);
    const uint64_t sum = sum_of(&asked, to->s, to->n - SUM);
    memcpy(to->s + to->n - SUM, &sum, sizeof sum);
}

/* ---- checking ---------------------------------------------------------------------------- */

int ot_summary_check(ot_snapshot *reader, const ot_bytes *key, const ot_bytes *value,
                     optune_err *err)
{
    ot_digest asked;
    ot_briefs all = {0};
    ot_text text = {0}, there = {0};
    uint64_t serial;
    uint32_t kept;
    if (key->n != DIGEST)
        return 1;
    memcpy(asked.byte, key->data, DIGEST);
    if (!whole(&asked, value, &serial, &kept))
        return 1;
    ot_text_add_n(&there, value->data, value->n); /* reading on may move it */
    int status = ot_briefs_read(reader, &asked, &all, err);
    if (status >= 0) {
        ot_deciding(all.at, all.n);
        /* Versions before this one listed fewer. */
        if (!kept && (uint32_t)all.n < 2 * deciding(&all) + FEW)
            print(&asked, serial, &all, 0, &text);
        else
            ot_summary_print(&asked, serial, &all, &text);
        status = text.n != there.n || memcmp(text.s, there.s, text.n) != 0;
    }
    ot_text_release(&text);
    ot_text_release(&there);
    free(all.at);
    return status;
}
