/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose index had entries when its epoch began gets the summaries that it lacks little by
 * little: each transaction that puts records makes some, in the order of the questions, until all
 * have one and it can be said of the store. How far that is stands in `meta`, with the epoch of
 * which it is said: questions in front of there have one, as whoever changes a question makes it.
 */
#include <string.h>

#include "db/deciding.h"
#include "db/env.h"

enum {
    DIGEST = 16,
    /* At most in a transaction: what a sync of the disk takes, about. */
    MADE = 512,
    LOOKED = 8 * MADE,
    /* Read and written for them, as a question may have any number of entries. */
    BYTES = 512 << 10,
};

typedef struct summing {
    uint64_t epoch;
    unsigned char next[DIGEST]; /* the question with which it goes on */
} summing;

static int read_summing(ot_writer *w, summing *s, optune_err *err)
{
    ot_bytes value;
    *s = (summing){0};
    int status = ot_writer_get(w, OT_TABLE_META, ot_epoch_name, &value, err);
    if (status || !ot_epoch_holds(&value, (int64_t)w->serial, &s->epoch))
        return status < 0 ? status : 1;
    const uint64_t epoch = s->epoch;
    status = ot_writer_get(w, OT_TABLE_META, ot_summing_name, &value, err);
    if (status == OPTUNE_OK && value.n == sizeof *s)
        memcpy(s, value.data, sizeof *s);
    if (s->epoch != epoch)
        *s = (summing){.epoch = epoch};
    return status < 0 ? status : OPTUNE_OK;
}

/* Of the question at the place, if it has none; *made and *bytes count. */
static int make_missing(ot_writer *w, const ot_digest *asked, int *made, int64_t *bytes,
                        optune_err *err)
{
    ot_bytes none;
    const int status =
        ot_writer_get(w, OT_TABLE_SUMMARY, (ot_bytes){asked->byte, DIGEST}, &none, err);
    *made += status == 1;
    return status == 1 ? ot_summary_make_counted(w, asked, bytes, err) : status;
}

/* 1: it is through. */
static int make_some(ot_writer *w, ot_snapshot *reader, summing *s, optune_err *err)
{
    unsigned char behind[OT_BEST_KEY];
    ot_bytes key = {s->next, DIGEST}, value;
    int made = 0, looked = 0;
    int64_t bytes = 0;
    int status = ot_snapshot_seek(reader, OT_TABLE_BEST, &key, &value, err);
    while (status == OPTUNE_OK && made < MADE && looked++ < LOOKED && bytes < BYTES) {
        if (key.n != OT_BEST_KEY) { /* damaged: of no question */
            status = ot_snapshot_next(reader, OT_TABLE_BEST, &key, &value, err);
            continue;
        }
        ot_digest asked;
        memcpy(asked.byte, key.data, DIGEST);
        OT_RETURN_UNLESS_OK(make_missing(w, &asked, &made, &bytes, err));
        memcpy(behind, asked.byte, DIGEST);
        memset(behind + DIGEST, 0xff, sizeof behind - DIGEST);
        key = (ot_bytes){behind, sizeof behind};
        status = ot_snapshot_seek(reader, OT_TABLE_BEST, &key, &value, err);
    }
    memset(s->next, 0, DIGEST);
    if (status == OPTUNE_OK)
        memcpy(s->next, key.data, key.n < DIGEST ? key.n : DIGEST);
    return status;
}

int ot_summing_go_on(ot_writer *w, optune_err *err)
{
    ot_bytes value;
    summing s;
    int status = ot_writer_get(w, OT_TABLE_SUMMARY, ot_summary_all_key, &value, err);
    if (status < 0 || (status == OPTUNE_OK && ot_summary_is_all(&value)))
        return status;
    status = read_summing(w, &s, err);
    if (status)
        return status < 0 ? status : OPTUNE_OK;
    ot_snapshot reader;
    ot_writer_view(w, &reader);
    status = make_some(w, &reader, &s, err);
    ot_writer_view_end(&reader);
    if (status < 0)
        return status;
    if (status == OPTUNE_OK)
        return ot_writer_put(w, OT_TABLE_META, ot_summing_name, (ot_bytes){&s, sizeof s}, NULL,
                             err);
    ot_text all = {0};
    ot_summary_all(w->serial, &all);
    status = ot_writer_put(w, OT_TABLE_SUMMARY, ot_summary_all_key, (ot_bytes){all.s, all.n},
                           NULL, err);
    ot_text_release(&all);
    return status < 0 ? status : ot_writer_delete(w, OT_TABLE_META, ot_summing_name, err);
}
