/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records go out as a log, oldest first, with a line for every device they were measured on, so
 * that another database can answer for it. Failures are facts and are exported, too.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/exchange/asked.h"
#include "base/fenv.h"
#include "base/record.h"

typedef struct item {
    char *line;
    double time;
} item;

typedef struct exporting {
    ot_asking asking; /* what is wanted */
    optune *o;
    const optune_export_options *options;
    json_t *taken; /* by config, for the forms of others; NULL: a log is wanted */
    item *item;
    int n, capacity;
    int left_out; /* questions that cannot be asked here, records that cannot be written */
    char why[OPTUNE_ERR_SIZE];
} exporting;

/* ---- all --------------------------------------------------------------------------------- */

static void leave_out(exporting *e, const char *why)
{
    if (!e->left_out++)
        snprintf(e->why, sizeof e->why, "%s", why);
}

static void add_line(exporting *e, const optune_record *record)
{
    char why[OPTUNE_WHY_SIZE];
    if (!ot_record_sound(record, why)) {
        leave_out(e, why); /* an older version's: its line could not be read back */
        return;
    }
    if (e->taken) {
        ot_tuner_take(e->taken, record);
        e->n = (int)json_object_size(e->taken);
        return;
    }
    ot_text line = {0};
    ot_arena arena = {0};
    optune_record *own = ot_alloc(sizeof *own);
    ot_record_copy(own, record);
    own->task = ot_task_for_tvm(e->asking.store, record, &arena);
    ot_record_line(own, &line);
    e->item = ot_room(e->item, e->n, &e->capacity, sizeof *e->item);
    e->item[e->n++] = (item){line.s, record->time};
    ot_arena_release(&arena);
    free(own);
}

static int collect(void *arg, const optune_record *record)
{
    exporting *e = arg;
    if (ot_asking_takes(&e->asking, record))
        add_line(e, record);
    return ot_context_stopped(e->o) ? OPTUNE_EINTERRUPTED : 0;
}

/* ---- the best ---------------------------------------------------------------------------- */

static void add_best_of(exporting *e, const ot_asked *asked)
{
    optune_err err = {0};
    ot_arena arena = {0};
    optune_call *call = ot_alloc(sizeof *call);
    ot_choice *choice = ot_alloc(sizeof *choice);
    if (ot_asking_select(&e->asking, asked, &arena, call, choice, &err) < 0)
        leave_out(e, err.text);
    else if (ot_choice_measured(choice))
        add_line(e, &choice->row[choice->winner].fact->record);
    ot_choice_free(choice);
    free(call);
    ot_arena_release(&arena);
}

static int add_best(exporting *e, optune_err *err)
{
    int status = ot_asking_collect(&e->asking, err);
    for (int i = 0; i < e->asking.n && status >= 0; i++) {
        /* What failed, and hints of other programs, are no answers. */
        if (e->asking.asked[i].measured)
            add_best_of(e, &e->asking.asked[i]);
        status = ot_context_stopped(e->o) ? OPTUNE_EINTERRUPTED : status;
    }
    return status;
}

/* ---- a log ------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return strcmp(x->line, y->line);
}

static int add_devices(ot_store *store, const char *only, ot_text *to, optune_err *err)
{
    ot_arena arena = {0};
    optune_device *device;
    int n = 0;
    const int status = ot_store_devices(store, &arena, &device, &n, err);
    for (int i = 0; i < n && status >= 0; i++)
        if (!only || !strcmp(only, device[i].key))
            ot_device_line(&device[i], to);
    ot_arena_release(&arena);
    return status;
}

static int write_log(exporting *e, ot_text *log, optune_err *err)
{
    OT_RETURN_UNLESS_OK(add_devices(e->asking.store, e->options->device, log, err));
    if (e->n)
        qsort(e->item, (size_t)e->n, sizeof *e->item, by_time);
    for (int i = 0; i < e->n; i++)
        ot_text_add(log, e->item[i].line);
    return OPTUNE_OK;
}

static optune_result *written(const exporting *e, ot_text *log)
{
    const char *path = e->options->path;
    const int too_long = e->asking.too_long;
    json_t *json = json_pack("{s:i, s:s?, s:i, s:s?, s:i, s:s?}", "records", e->n, "file", path,
                             "left_out", e->left_out, "why", e->left_out ? e->why : NULL,
                             "too_long_for_tvm", too_long, "why_too_long",
                             too_long ? e->asking.why : NULL);
    if (path) {
        ot_text_clear(log);
        ot_text_printf(log, "%d records written to %s\n", e->n, path);
        if (e->left_out)
            ot_text_printf(log, "%d left out, as they cannot be judged here: %s\n", e->left_out,
                           e->why);
        if (too_long)
            ot_text_printf(log, "%d of TVM's templates left out: %s\n", too_long,
                           e->asking.why);
    }
    optune_result *result = ot_result_new(log->s, json);
    log->s = NULL;
    return result;
}

int optune_export_records(optune *o, const optune_export_options *options,
                          optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    optune_export_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_export_options, options, &own));
    options = &own;
    ot_text log = {0};
    exporting *e = ot_alloc(sizeof *e);
    e->o = o;
    e->options = options;
    e->taken = options->format ? json_object() : NULL;
    int status = OPTUNE_OK;
    if (options->format && !ot_tuner_format(options->format))
        status = ot_no_such(err, "form of records", options->format,
                            (const char *const[]){"t4", "kernel-tuner"}, 2);
    if (status >= 0) /* what others hold is not this one's to give */
        status = ot_asking_begin(&e->asking, o, options, err);
    if (status >= 0)
        status =
            options->best ? add_best(e, err) : ot_store_walk(e->asking.store, collect, e, err);
    if (status == OPTUNE_EINTERRUPTED)
        optune_fail(err, status, "interrupted");
    if (status >= 0)
        status = e->taken ? ot_tuner_write(e->taken, options->format, &log, err)
                          : write_log(e, &log, err);
    if (status >= 0 && options->path)
        status = ot_write_file(options->path, ot_text_str(&log), log.n, err);
    if (status >= 0)
        *result = written(e, &log);
    for (int i = 0; i < e->n && !e->taken; i++)
        free(e->item[i].line);
    json_decref(e->taken);
    free(e->item);
    ot_asking_end(&e->asking);
    free(e);
    ot_text_release(&log);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this export that was asked to end */
    return status;
}

int optune_export(optune *o, const char *op, bool best, const char *path,
                  optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"result", result});
    const optune_export_options options = {
        .size = sizeof options, .op = op, .best = best, .path = path};
    return optune_export_records(o, &options, result, err);
}
