/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records on their way into a log and a store. Of each the bytes are kept that go there, so that
 * many take little room, nothing is made twice, and what came as a short line goes into the
 * log as it came. They are written in the order of their keys: neighbours share pages.
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"
#include "db/head.h"
#include "db/kv.h"
#include "db/line.h"

enum { MOST_RECORDS = 16384, MOST_BYTES = 32 << 20, DIGEST = 16 };

typedef struct waiting {
    ot_lead lead;
    size_t value, n_value, line, n_line; /* in `bytes` */
    size_t head, n_head;                 /* likewise: what its short line leans on */
    uint64_t head_name;
    bool known; /* nothing is to be done about it */
} waiting;

struct ot_batch {
    waiting *item;
    int n, capacity;
    const ot_store *settled; /* against this one, as its transaction `snapshot` left it */
    int64_t snapshot;
    ot_text bytes, scratch;
    ot_headings *headings; /* NULL: for no log */
};

ot_batch *ot_batch_new(bool logged)
{
    ot_batch *b = ot_alloc(sizeof *b);
    b->headings = logged ? ot_headings_new() : NULL;
    return b;
}

void ot_batch_free(ot_batch *b)
{
    if (!b)
        return;
    free(b->item);
    ot_headings_free(b->headings);
    ot_text_release(&b->bytes);
    ot_text_release(&b->scratch);
    free(b);
}

int ot_batch_count(const ot_batch *b)
{
    return b->n;
}

bool ot_batch_full(const ot_batch *b)
{
    return b->n >= MOST_RECORDS || b->bytes.n >= MOST_BYTES;
}

void ot_batch_clear(ot_batch *b)
{
    b->n = 0;
    b->settled = NULL;
    ot_text_clear(&b->bytes);
}

static waiting *next(ot_batch *b)
{
    b->item = ot_room(b->item, b->n, &b->capacity, sizeof *b->item);
    b->item[b->n] = (waiting){0};
    return &b->item[b->n];
}

/* Where its head is in `bytes`: most have that of the one before. */
static void add_head(ot_batch *b, waiting *w, const ot_heading *heading)
{
    const waiting *before = b->n ? w - 1 : NULL;
    const bool same = before && before->head_name == heading->name;
    w->head_name = heading->name;
    w->head = same ? before->head : b->bytes.n;
    w->n_head = heading->n_text;
    if (!same)
        ot_text_add_n(&b->bytes, heading->text, heading->n_text);
}

/* A short line goes on as it came. */
static void add_line(ot_batch *b, waiting *w, const optune_record *record,
                     const ot_log_line *from)
{
    const ot_head *head = from ? from->head : NULL;
    const ot_heading heading = head ? (ot_heading){head->name, head->text, head->n_text}
                                    : ot_heading_of(b->headings, record);
    add_head(b, w, &heading);
    w->line = b->bytes.n;
    if (head) {
        ot_text_add_n(&b->bytes, from->text, from->n_text);
        ot_text_add_n(&b->bytes, "\n", 1);
    } else {
        ot_line_add_short(record, heading.name, &b->bytes);
    }
    w->n_line = b->bytes.n - w->line;
}

int ot_batch_add(ot_batch *b, const optune_record *record, const ot_log_line *from,
                 optune_err *err)
{
    char why[OPTUNE_WHY_SIZE];
    if (!from && !ot_record_sound(record, why))
        return optune_fail(err, OPTUNE_EUSAGE, "a record of '%.200s' cannot be stored: %s",
                           record->call, why);
    const int status = ot_record_encode(record, &b->scratch, err);
    if (status < 0)
        return status;
    waiting *w = next(b);
    b->settled = NULL;
    w->value = b->bytes.n;
    w->n_value = b->scratch.n;
    ot_text_add_n(&b->bytes, b->scratch.s, b->scratch.n);
    ot_text_clear(&b->scratch);
    if (from && from->text)
        ot_text_add_n(&b->scratch, from->entities, from->n_entities);
    else
        ot_config_print(&record->config, &b->scratch);
    const ot_digest digest = ot_record_digest_at(record, b->scratch.s);
    ot_lead_make(record, &digest, b->scratch.s, &w->lead);
    if (b->headings)
        add_line(b, w, record, from);
    b->n++;
    return OPTUNE_OK;
}

static int by_digest(const void *a, const void *b)
{
    const waiting *const *x = a, *const *y = b;
    return memcmp((*x)->lead.digest.byte, (*y)->lead.digest.byte, DIGEST);
}

/* Those that are not known, in the order of their digests; released with free(). */
static waiting **sorted(const ot_batch *b, int *n)
{
    waiting **item = ot_alloc((size_t)(b->n + 1) * sizeof *item);
    *n = 0;
    for (int i = 0; i < b->n; i++)
        if (!b->item[i].known)
            item[(*n)++] = &b->item[i];
    qsort(item, (size_t)*n, sizeof *item, by_digest);
    return item;
}

/* What is there twice is known the second time; how many are left. */
static int pass_over_doubles(ot_batch *b)
{
    size_t size = 1;
    int left = 0;
    while (size < 2 * (size_t)b->n)
        size *= 2;
    int *seen = ot_alloc(size * sizeof *seen); /* 1 + its place */
    for (int i = 0; i < b->n; i++) {
        const unsigned char *digest = b->item[i].lead.digest.byte;
        size_t at;
        memcpy(&at, digest, sizeof at);
        at &= size - 1;
        while (seen[at] && memcmp(b->item[seen[at] - 1].lead.digest.byte, digest, DIGEST) != 0)
            at = (at + 1) & (size - 1);
        b->item[i].known = seen[at] != 0;
        left += !seen[at];
        if (!seen[at])
            seen[at] = i + 1;
    }
    free(seen);
    return left;
}

int ot_batch_settle(ot_batch *b, ot_store *store)
{
    ot_snapshot reader;
    int left = pass_over_doubles(b), n;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return left;
    ot_parts parts = {.reader = &reader};
    b->settled = store;
    b->snapshot = ot_snapshot_number(&reader);
    if (ot_snapshot_count(&reader, OT_TABLE_RECORD) == 0 &&
        ot_snapshot_count(&reader, OT_TABLE_FORGOTTEN) == 0) {
        ot_snapshot_end(&reader);
        return left;
    }
    waiting **item = sorted(b, &n);
    left = 0;
    for (int i = 0; i < n; i++) {
        item[i]->known = ot_parts_know(&parts, &item[i]->lead.digest);
        left += !item[i]->known;
    }
    free(item);
    ot_parts_release(&parts);
    ot_snapshot_end(&reader);
    return left;
}

int ot_batch_log(ot_batch *b, ot_log *log, optune_err *err)
{
    ot_text lines = {0};
    ot_said *said = ot_log_said(log);
    for (int i = 0; i < b->n; i++) {
        const waiting *w = &b->item[i];
        if (w->known)
            continue;
        const ot_heading heading = {w->head_name, b->bytes.s + w->head, w->n_head};
        ot_said_say(said, &heading, &lines);
        ot_text_add_n(&lines, b->bytes.s + w->line, w->n_line);
    }
    const int status = lines.n ? ot_log_append_lines(log, &lines, err) : OPTUNE_OK;
    ot_text_release(&lines);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------- */

static ot_bytes whole(const ot_batch *b, const waiting *w)
{
    return (ot_bytes){b->bytes.s + w->value, w->n_value};
}

int ot_batch_each(const ot_batch *b, ot_lead_fn *fn, void *arg, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; status >= 0 && i < b->n; i++)
        if (!b->item[i].known)
            status = fn(arg, &b->item[i].lead, whole(b, &b->item[i]), err);
    return status;
}

typedef struct putting {
    ot_writer writer;
    ot_parts parts;
    ot_text squeezed;
    bool settled; /* nobody has written since: what is not known is not there */
    const ot_batch *batch;
    optune_err *err;
} putting;

/* 1: it is there already, or is not to come back. */
static int put_record(putting *p, const waiting *w)
{
    const ot_bytes key = {w->lead.digest.byte, DIGEST};
    if (!p->settled && ot_parts_know(&p->parts, &w->lead.digest))
        return 1;
    OT_RETURN_UNLESS_OK(ot_squeeze(&p->parts, whole(p->batch, w), &p->squeezed, p->err));
    const ot_bytes value = {p->squeezed.s, p->squeezed.n};
    return ot_writer_put(&p->writer, OT_TABLE_RECORD, key, value, NULL, p->err);
}

static int put_all(putting *p, waiting **item, int n, int *fresh)
{
    const ot_lead **lead = ot_alloc((size_t)(n + 1) * sizeof *lead);
    int status = OPTUNE_OK;
    for (int i = 0; status >= 0 && i < n; i++) {
        const bool again = i && by_digest(&item[i - 1], &item[i]) == 0;
        status = again ? 1 : put_record(p, item[i]);
        if (status == OPTUNE_OK)
            lead[(*fresh)++] = &item[i]->lead;
    }
    if (status >= 0)
        status = ot_leads_put(&p->writer, lead, *fresh, p->err);
    if (status >= 0 && *fresh)
        status = ot_summing_go_on(&p->writer, p->err);
    free(lead);
    return status;
}

int ot_batch_put(ot_batch *b, ot_store *store, int *added, optune_err *err)
{
    int fresh = 0, n;
    putting *p = ot_alloc(sizeof *p);
    p->batch = b;
    p->err = err;
    p->parts.writer = &p->writer;
    waiting **item = sorted(b, &n);
    int status = ot_writer_begin(store, &p->writer, err);
    if (status >= 0) {
        p->settled = b->settled == store && ot_writer_follows(&p->writer, b->snapshot);
        status = put_all(p, item, n, &fresh);
        if (status >= 0)
            status = ot_writer_commit(&p->writer, err);
        else
            ot_writer_abort(&p->writer);
    }
    ot_parts_release(&p->parts);
    ot_text_release(&p->squeezed);
    free(p);
    free(item);
    if (added)
        *added = status >= 0 ? fresh : 0;
    return status;
}

int ot_store_put(ot_store *store, const optune_record *record, int n, int *added,
                 optune_err *err)
{
    ot_batch *batch = ot_batch_new(false);
    int status = OPTUNE_OK;
    for (int i = 0; status >= 0 && i < n; i++)
        status = ot_batch_add(batch, &record[i], NULL, err);
    if (added)
        *added = 0;
    if (status >= 0)
        status = ot_batch_put(batch, store, added, err);
    ot_batch_free(batch);
    return status;
}
