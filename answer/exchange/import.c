/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs come in. Ours are taken as they are; AutoTVM's are translated, and since they name no
 * device and no digest they can only be hints. A line that cannot be taken is said, with its
 * number and the reason; none is loaded silently and none ends the import. What is new is
 * appended to a log of this database first, so that the logs stay the truth.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/exchange/askable.h"
#include "base/fenv.h"
#include "base/record.h"
#include "db/bulk.h"
#include "db/recorded.h"
#include "run/run.h"

enum {
    DEVICES = 256, /* that wait to be stored */
    SAID = 20,     /* problems that the text tells */
    LISTED = 1000, /* and that the JSON lists */
    MOST_OPTIONS = 64,
};
static const double DAY_S = 86400;

typedef struct importing {
    optune *o;
    char source[4096]; /* as it is told and stored: an address without what is secret in it */
    char log_path[4096 + 96]; /* empty: the source is one of this database's own logs */
    ot_log *log;              /* opened for the first thing that is new */
    double now;
    ot_intake *in;
    ot_askable *askable;
    ot_bulk *bulk; /* of all from the first full batch on; NULL: there was none */
    bool lost;     /* what it had is only in the log */
    optune_device device[DEVICES], seen; /* the last one that a line told of; key empty: none */
    int n_device;
    int64_t taken, added, refused, mismatched, devices, problems;
    int64_t options; /* words of TVM's targets that say nothing here */
    ot_text said;
    json_t *listed, *ignored;
    optune_err *err;
} importing;

static void say(importing *im, int64_t number, const char *what)
{
    if (im->problems < SAID)
        ot_text_printf(&im->said, "  line %lld: %s\n", (long long)number, what);
    if (im->problems++ < LISTED)
        json_array_append_new(
            im->listed, json_pack("{s:I, s:s}", "line", (json_int_t)number, "problem", what));
}

static int refuse(importing *im, int64_t number, const char *why)
{
    im->refused++;
    say(im, number, why);
    return 0;
}

static void pass_over(void *arg, const char *option)
{
    importing *im = arg;
    im->options++;
    const json_t *known = json_object_get(im->ignored, option);
    if (known || json_object_size(im->ignored) < MOST_OPTIONS)
        json_object_set_new(im->ignored, option, json_integer(json_integer_value(known) + 1));
}

static int need_log(importing *im, optune_err *err)
{
    return im->log ? OPTUNE_OK : ot_log_open(im->log_path, OT_LOG_SHORT, &im->log, err);
}

static int flush_devices(importing *im)
{
    int status = im->n_device ? ot_intake_wait(im->in, im->err) : OPTUNE_OK;
    if (status >= 0 && im->n_device && *im->log_path)
        status = need_log(im, im->err);
    for (int i = 0; i < im->n_device && status >= 0 && im->log; i++)
        ot_log_device(im->log, &im->device[i]);
    if (status >= 0 && im->n_device)
        status = ot_context_put_devices(im->o, im->device, im->n_device, im->err);
    im->n_device = 0;
    return status;
}

static int log_batch(importing *im, ot_batch *batch, optune_err *err)
{
    OT_RETURN_UNLESS_OK(need_log(im, err));
    OT_RETURN_UNLESS_OK(ot_batch_log(batch, im->log, err));
    return ot_log_sync(im->log, err); /* the log is the truth: it comes first */
}

/* Where more than one batch comes, they are stored together, at the end. */
static int store_batch(importing *im, ot_batch *batch, int *added, optune_err *err)
{
    if (!im->bulk && !im->lost && ot_batch_full(batch))
        OT_RETURN_UNLESS_OK(ot_bulk_open(im->o->db, &im->o->stop, &im->bulk, err));
    const int status = im->bulk ? ot_bulk_take(im->bulk, batch, err) : OPTUNE_OK;
    im->lost |= status < 0 && ot_bulk_gone(im->bulk);
    if (im->bulk && !im->lost)
        return status;
    ot_bulk_close(im->bulk);
    im->bulk = NULL;
    return ot_context_put_batch(im->o, batch, added, err);
}

/* How many are not known. Where there is no store by now, all are logged, and storing them says why
 * that cannot be. */
static int settle(importing *im, ot_batch *batch)
{
    ot_store *store;
    const unsigned turn = ot_context_enter(im->o);
    const int n = ot_context_writer(im->o, &store, NULL, NULL) < 0
                      ? ot_batch_count(batch)
                      : ot_batch_settle(batch, store);
    ot_context_leave(im->o, turn);
    return n;
}

static int write_batch(void *arg, ot_batch *batch, optune_err *err)
{
    importing *im = arg;
    int added = 0, status = OPTUNE_OK;
    if (settle(im, batch)) {
        status = *im->log_path ? log_batch(im, batch, err) : OPTUNE_OK;
        if (status >= 0)
            status = store_batch(im, batch, &added, err);
    }
    im->added += added;
    return status;
}

/* What cannot be stored together any more is taken from its log, however often the store is
 * replaced meanwhile. */
static int read_again(importing *im, const char *path, int64_t *added, optune_err *err)
{
    int status, opened, swaps = 0;
    do {
        ot_store *store;
        const unsigned turn = ot_context_enter(im->o);
        opened = im->o->stores->n_opened;
        status = ot_context_writer(im->o, &store, &opened, err);
        if (status >= 0)
            status = ot_store_read_log(store, *im->log_path ? im->log_path : path, false, added,
                                       NULL, err);
        ot_context_leave(im->o, turn);
    } while (ot_context_replaced(im->o, status, opened, &swaps));
    return status;
}

static int open_again(importing *im, optune_err *err)
{
    ot_store *store;
    const unsigned turn = ot_context_enter(im->o);
    const int status = ot_context_writer(im->o, &store, NULL, err);
    ot_context_leave(im->o, turn);
    return status;
}

/* What waited to be stored together. The log is still open: others take it for one that is being
 * written to, which it is. */
static int store_bulk(importing *im, const char *path, optune_err *err)
{
    int64_t added = 0;
    bool replaced = false;
    int status = im->bulk ? ot_bulk_store(im->bulk, &added, &replaced, err) : OPTUNE_OK;
    if (im->bulk && status < 0 && ot_bulk_gone(im->bulk)) {
        im->lost = true;
        status = OPTUNE_OK;
    }
    ot_bulk_close(im->bulk);
    im->bulk = NULL;
    if (status >= 0 && im->lost)
        status = read_again(im, path, &added, err);
    else if (status >= 0 && replaced)
        status = open_again(im, err);
    im->added += added;
    return status;
}

/* Devices go in front of the records that name them. */
static int flush(importing *im, const char *path)
{
    int status = flush_devices(im);
    if (status >= 0)
        status = ot_intake_flush(im->in, im->err);
    const int stored = store_bulk(im, path, status < 0 ? NULL : im->err);
    return status < 0 ? status : stored;
}

/* Whether the store, once all that waits is there, says that or what goes before it. */
static bool knows_device(importing *im, const optune_device *device)
{
    optune_device stored;
    for (int i = im->n_device - 1; i >= 0; i--)
        if (strcmp(im->device[i].key, device->key) == 0)
            return ot_device_order(&im->device[i], device) >= 0;
    ot_store *store;
    const unsigned turn = ot_context_enter(im->o);
    const bool known = ot_context_writer(im->o, &store, NULL, NULL) >= 0 &&
                       ot_store_device(store, device->key, &stored, NULL) >= 0;
    ot_context_leave(im->o, turn);
    return known && ot_device_order(&stored, device) >= 0;
}

static int take_device(importing *im, const optune_device *device)
{
    im->devices++;
    const bool again = *im->seen.key && ot_device_order(&im->seen, device) == 0;
    if (!again) /* who writes may open the store anew */
        OT_RETURN_UNLESS_OK(ot_intake_wait(im->in, im->err));
    const bool known = again || knows_device(im, device);
    im->seen = *device;
    if (known)
        return OPTUNE_OK;
    im->device[im->n_device++] = *device;
    return im->n_device == DEVICES ? flush_devices(im) : OPTUNE_OK;
}

/* `from`: the line of ours that it is; NULL: somebody else's, translated. */
static int take(importing *im, int64_t number, optune_record *record, const ot_log_line *from)
{
    char why[OPTUNE_WHY_SIZE];
    if (!from && !ot_record_sound(record, why))
        return refuse(im, number, why);
    /* Our own logs are believed about the time: this machine's clock may be the wrong one. */
    if (*im->log_path && record->time > im->now + DAY_S) {
        optune_refuse(why, "its time is %.0f days from now", (record->time - im->now) / DAY_S);
        return refuse(im, number, why);
    }
    record->source = im->source;
    ot_batch *batch = ot_intake_batch(im->in);
    int status = ot_batch_add(batch, record, from, im->err);
    im->taken += status >= 0;
    if (status < 0 || !ot_batch_full(batch))
        return status;
    status = flush_devices(im);
    return status < 0 ? status : ot_intake_full(im->in, im->err);
}

/* Recomputes the index of a foreign config in the space of its call. */
static int check_config(importing *im, const optune_task *task, const optune_impl *impl,
                        optune_config *config, int64_t number, optune_err *err)
{
    const int64_t claimed = config->index;
    optune_space *space = NULL;
    int status = ot_space_open(task, impl, &space, err);
    if (status >= 0)
        status = ot_space_index_of(space, config, err);
    if (status >= 0 && claimed >= 0 && claimed != config->index) {
        char what[OPTUNE_WHY_SIZE];
        optune_refuse(what, "index %lld is %lld in this version's space; the entity is trusted",
                      (long long)claimed, (long long)config->index);
        im->mismatched++;
        say(im, number, what);
    }
    ot_space_close(space);
    return status;
}

static int take_foreign(importing *im, const ot_log_line *line)
{
    optune_err err = {0};
    const optune_impl *impl = ot_impl_find(line->task_name);
    if (!impl) {
        char what[OPTUNE_WHY_SIZE];
        optune_refuse(what, "no implementation '%s' here", line->task_name);
        return refuse(im, line->number, what);
    }
    optune_target target;
    optune_call call;
    if (ot_target_from_tvm(line->target_text, &target, pass_over, im, &err) < 0 ||
        ot_call_from_args(impl, line->args, &call, &err) < 0)
        return refuse(im, line->number, err.text);
    target.threads = target.threads ? target.threads : im->o->device.cores;
    const optune_task task = {&call, &target, &im->o->device};
    char why[OPTUNE_WHY_SIZE];
    if (impl->applies && !impl->applies(&task, why))
        return refuse(im, line->number, why);
    optune_record r = line->record;
    if (check_config(im, &task, impl, &r.config, line->number, &err) < 0)
        return refuse(im, line->number, err.text);
    ot_text call_text = {0}, target_text = {0}, device = {0};
    ot_call_print(&call, &call_text);
    ot_target_print(&target, true, &target_text);
    ot_text_printf(&device, "autotvm:%s", line->target_text);
    r.call = ot_text_str(&call_text);
    r.op = call.op->name;
    r.target = ot_text_str(&target_text);
    r.device = ot_text_str(&device);
    r.policy = ot_policy_warm.name;
    r.impl = impl->name;
    r.digest = r.depends = "";
    const int status = take(im, line->number, &r, NULL);
    ot_text_release(&call_text);
    ot_text_release(&target_text);
    ot_text_release(&device);
    return status;
}

static int on_line(void *arg, const ot_log_line *line)
{
    importing *im = arg;
    if (line->forgotten)
        return OPTUNE_OK; /* others do not decide that; our own logs were read when it was said */
    if (line->device)
        return take_device(im, line->device);
    if (line->problem)
        return refuse(im, line->number, line->problem);
    optune_record r;
    char why[OPTUNE_WHY_SIZE];
    if (!line->ours)
        return take_foreign(im, line);
    if (!ot_askable_record(im->askable, &line->record, why))
        return refuse(im, line->number, why);
    if (*why)
        say(im, line->number, why);
    ot_record_copy(&r, &line->record);
    return take(im, line->number, &r, line);
}

/* A config of another autotuner's file: a hint, like AutoTVM's lines. */
static int on_trial(void *arg, int64_t number, const optune_record *record, const char *problem)
{
    importing *im = arg;
    if (problem)
        return refuse(im, number, problem);
    optune_record r;
    ot_record_copy(&r, record);
    return take(im, number, &r, NULL);
}

/* Whether a file is one of this database's own logs: appending it again would only repeat it. */
static bool own_log(const optune *o, const char *path)
{
    char logs[4096 + 16], *real_logs = NULL, *real = realpath(path, NULL);
    snprintf(logs, sizeof logs, "%s/logs", o->db);
    real_logs = realpath(logs, NULL);
    const bool own = real && real_logs && !strncmp(real, real_logs, strlen(real_logs)) &&
                     real[strlen(real_logs)] == '/';
    free(real);
    free(real_logs);
    return own;
}

static int name_log(importing *im, const char *path)
{
    if (own_log(im->o, path))
        return OPTUNE_OK;
    return ot_context_log_path(im->o, "-import", im->log_path, sizeof im->log_path, im->err);
}

/* An address may hold a password in front of its host and a token behind its path: neither is
 * told or stored. */
static void name_source(importing *im, const char *source)
{
    const char *scheme = strstr(source, "://"), *host = scheme ? scheme + 3 : source;
    if (scheme) {
        const char *end = host + strcspn(host, "/?#");
        for (const char *at = host; at < end; at++)
            if (*at == '@')
                host = at + 1;
    }
    const size_t head = scheme ? (size_t)(scheme + 3 - source) : 0;
    snprintf(im->source, sizeof im->source, "%.*s%.*s", (int)head, source,
             scheme ? (int)strcspn(host, "?#") : (int)strlen(host), host);
}

static optune_result *summary(importing *im)
{
    ot_text text = {0};
    ot_text_printf(&text, "%s: %lld records taken, %lld new, %lld lines not taken", im->source,
                   (long long)im->taken, (long long)im->added, (long long)im->refused);
    if (im->mismatched)
        ot_text_printf(&text, ", %lld with another index", (long long)im->mismatched);
    ot_text_add(&text, "\n");
    ot_text_add(&text, ot_text_str(&im->said));
    if (im->problems > SAID)
        ot_text_printf(&text, "  and %lld more (--json lists %s)\n",
                       (long long)im->problems - SAID,
                       im->problems > LISTED ? "the first thousand" : "all");
    if (im->options) {
        ot_text_printf(&text,
                       "  %lld target options that say nothing here:", (long long)im->options);
        const char *name;
        json_t *times;
        json_object_foreach(im->ignored, name, times) ot_text_printf(&text, " -%s", name);
        ot_text_add(&text, "\n");
    }
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:O, s:I, s:O}", "source", im->source, "taken",
        (json_int_t)im->taken, "new", (json_int_t)im->added, "refused", (json_int_t)im->refused,
        "index_mismatches", (json_int_t)im->mismatched, "devices", (json_int_t)im->devices,
        "problems", im->listed, "problems_not_listed",
        (json_int_t)(im->problems > LISTED ? im->problems - LISTED : 0), "ignored_options",
        im->ignored);
    return ot_result_new(text.s, json);
}

int optune_import(optune *o, const char *source, optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"source", source}, {"result", result});
    *result = NULL;
    char dir[4096] = "", fetched[4096 + 16];
    const char *path = source;
    importing *im = ot_alloc(sizeof *im);
    im->o = o;
    im->err = err;
    im->now = ot_unix_time();
    im->in = ot_intake_open(true, write_batch, im);
    im->askable = ot_askable_new();
    im->listed = json_array();
    im->ignored = json_object();
    name_source(im, source);
    bool told = false;
    int status = OPTUNE_OK;
    if (strstr(source, "://")) {
        const char *ca = getenv("OPTUNE_CA_FILE");
        const ot_http how = {
            .ca_file = ca && *ca ? ca : NULL, .packed = true, .tries = 1, .stop = &o->stop};
        ot_http_reply reply;
        status = ot_temp_dir(dir, sizeof dir, err);
        snprintf(fetched, sizeof fetched, "%s/log", dir);
        path = fetched;
        if (status >= 0)
            status = ot_http_get(source, fetched, &how, &reply, err);
    }
    if (status >= 0)
        status = ot_context_store(o, OT_STORE_WRITE, err);
    if (status >= 0 && !o->have_device)
        ot_context_device(o, NULL); /* only sizes of spaces may depend on it */
    if (status >= 0)
        status = name_log(im, path);
    if (status >= 0) {
        const ot_log_source log = {.path = path, .stop = &o->stop};
        status = ot_recorded_begins(path) ? ot_tuner_read(o, path, on_trial, im, err)
                                          : ot_log_read_from(&log, on_line, im, err);
        /* However it ended: what was taken is taken. */
        im->err = status < 0 ? NULL : err;
        const int last = flush(im, path);
        told = last >= 0 && (status >= 0 || im->taken);
        status = status < 0 ? status : last;
    }
    if (told)
        *result = summary(im);
    if (status >= 0 && im->refused && !im->taken && !im->devices)
        status = optune_fail(err, OPTUNE_EPARTIAL, "%s: no line was taken, %lld were refused",
                             im->source, (long long)im->refused);
    ot_intake_close(im->in);
    ot_askable_free(im->askable);
    ot_log_close(im->log);
    if (status >= 0 && im->log)
        ot_context_log_done(o, im->log_path, NULL);
    if (*dir)
        ot_remove_tree(dir);
    json_decref(im->listed);
    json_decref(im->ignored);
    ot_text_release(&im->said);
    free(im);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this import that was asked to end */
    return status;
}
