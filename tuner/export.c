/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records go out as a log, oldest first, with a line for every device they were measured on, so
 * that another database can answer for it. Failures are facts and are exported, too.
 */
#include <stdlib.h>
#include <string.h>

#include "tuner/tuner.h"

typedef struct item {
    char *line, *question;
    double time, cost;
    bool good, final;
} item;

typedef struct list {
    const char *op;
    item *item;
    int n, capacity;
} list;

static int collect(void *arg, const optune_record *record)
{
    list *l = arg;
    if (l->op && strcmp(l->op, record->op))
        return 0;
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 256;
        item *more = realloc(l->item, (size_t)l->capacity * sizeof *more);
        if (!more)
            return OPTUNE_ENOMEM;
        l->item = more;
    }
    ot_text line = {0}, question = {0};
    ot_record_line(record, &line);
    ot_text_printf(&question, "%s\n%s\n%s\n%s", record->device, record->target, record->call,
                   record->policy);
    l->item[l->n++] = (item){.line = line.s,
                             .question = question.s,
                             .time = record->time,
                             .cost = record->cost,
                             .good = record->outcome == OPTUNE_OUTCOME_OK,
                             .final = record->final};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return strcmp(x->line, y->line);
}

/* Best first within a question: good, then measured interleaved, then the cheapest. */
static int by_question(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int q = strcmp(x->question, y->question);
    if (q)
        return q;
    if (x->good != y->good)
        return x->good ? -1 : 1;
    if (x->final != y->final)
        return x->final ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return by_time(a, b);
}

static void keep_best(list *l)
{
    qsort(l->item, (size_t)l->n, sizeof *l->item, by_question);
    int kept = 0;
    for (int i = 0; i < l->n; i++) {
        const bool first = !kept || strcmp(l->item[kept - 1].question, l->item[i].question);
        if (first && l->item[i].good) {
            const item swap = l->item[kept];
            l->item[kept++] = l->item[i];
            l->item[i] = swap;
        }
    }
    for (int i = kept; i < l->n; i++) {
        free(l->item[i].line);
        free(l->item[i].question);
    }
    l->n = kept;
}

static int add_devices(optune *o, ot_text *to, optune_err *err)
{
    ot_arena arena = {0};
    optune_device *device;
    int n = 0;
    const int status = ot_store_devices(o->store, &arena, &device, &n, err);
    for (int i = 0; i < n && status >= 0; i++)
        ot_device_line(&device[i], to);
    ot_arena_release(&arena);
    return status;
}

int optune_export(optune *o, const char *op, bool best, const char *path,
                  optune_result **result, optune_err *err)
{
    *result = NULL;
    ot_text log = {0};
    list l = {.op = op};
    int status = OPTUNE_OK;
    const optune_op *row;
    if (op)
        status = ot_op_get(op, &row, err);
    if (status >= 0)
        status = ot_context_store(o, OT_STORE_READ, err);
    if (status >= 0)
        status = ot_store_walk(o->store, collect, &l, err);
    if (status == OPTUNE_ENOMEM)
        optune_fail(err, status, "out of memory for an export");
    if (status >= 0)
        status = add_devices(o, &log, err);
    if (status >= 0) {
        if (best && l.n)
            keep_best(&l);
        if (l.n)
            qsort(l.item, (size_t)l.n, sizeof *l.item, by_time);
        for (int i = 0; i < l.n; i++)
            ot_text_add(&log, l.item[i].line);
        if (path)
            status = ot_write_file(path, ot_text_str(&log), log.n, err);
    }
    if (status >= 0) {
        json_t *json = json_pack("{s:i, s:s?}", "records", l.n, "file", path);
        if (path) {
            ot_text_clear(&log);
            ot_text_printf(&log, "%d records written to %s\n", l.n, path);
        }
        *result = ot_result_new(log.s, json);
        log.s = NULL;
    }
    for (int i = 0; i < l.n; i++) {
        free(l.item[i].line);
        free(l.item[i].question);
    }
    free(l.item);
    free(log.s);
    return status;
}
