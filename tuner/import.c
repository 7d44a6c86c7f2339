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

#include "tuner/tuner.h"

enum { BATCH = 256, SAID = 20 };

typedef struct importing {
    optune *o;
    const char *source;
    char log_path[4096 + 96]; /* empty: the source is one of this database's own logs */
    ot_log *log;              /* opened for the first thing that is new */
    ot_arena arena;
    optune_record batch[BATCH];
    int n_batch;
    int taken, added, refused, mismatched, devices;
    ot_text said;
    json_t *problems;
    optune_err *err;
} importing;

static void say(importing *im, int number, const char *what)
{
    if (json_array_size(im->problems) < SAID)
        ot_text_printf(&im->said, "  line %d: %s\n", number, what);
    json_array_append_new(im->problems,
                          json_pack("{s:i, s:s}", "line", number, "problem", what));
}

static int refuse(importing *im, int number, const char *why)
{
    im->refused++;
    say(im, number, why);
    return 0;
}

static int need_log(importing *im)
{
    return im->log ? OPTUNE_OK : ot_log_open(im->log_path, &im->log, im->err);
}

static int append_new(importing *im, const optune_record *record)
{
    if (!*im->log_path || ot_store_knows(im->o->store, record))
        return OPTUNE_OK;
    const int status = need_log(im);
    return status < 0 ? status : ot_log_append(im->log, record, im->err);
}

static int take_device(importing *im, const optune_device *device)
{
    im->devices++;
    optune_device known;
    ot_text was = {0}, is = {0};
    if (ot_store_device(im->o->store, device->key, &known, NULL) >= 0)
        ot_device_line(&known, &was);
    ot_device_line(device, &is);
    int status = OPTUNE_OK;
    if (strcmp(ot_text_str(&was), ot_text_str(&is))) {
        if (*im->log_path)
            status = need_log(im);
        if (status >= 0 && im->log)
            ot_log_device(im->log, device);
        if (status >= 0)
            status = ot_store_put_device(im->o->store, device, im->err);
    }
    ot_text_release(&was);
    ot_text_release(&is);
    return status;
}

static int flush(importing *im)
{
    int added = 0, status = OPTUNE_OK;
    for (int i = 0; i < im->n_batch && status >= 0; i++)
        status = append_new(im, &im->batch[i]);
    if (status >= 0)
        status = ot_store_put(im->o->store, im->batch, im->n_batch, &added, im->err);
    im->added += added;
    im->n_batch = 0;
    ot_arena_release(&im->arena);
    return status;
}

/* The line's texts live for the call only; the batch keeps its own. */
static int take(importing *im, const optune_record *record)
{
    ot_arena *a = &im->arena;
    optune_record *r = &im->batch[im->n_batch++];
    *r = *record;
    const char **text[] = {&r->call,    &r->op,       &r->target, &r->device,
                           &r->policy,  &r->impl,     &r->digest, &r->depends,
                           &r->message, &r->counters, &r->tool,   &r->task};
    for (int i = 0; i < OT_COUNT(text); i++)
        *text[i] = ot_arena_copy(a, *text[i]);
    double *sample = ot_arena_alloc(a, (size_t)(r->n_samples + 1) * sizeof *sample);
    for (int i = 0; i < r->n_samples; i++)
        sample[i] = record->sample[i];
    r->sample = sample;
    r->source = ot_arena_copy(a, im->source);
    im->taken++;
    return im->n_batch == BATCH ? flush(im) : OPTUNE_OK;
}

/* Recomputes the index of a foreign config in the space of its call. */
static int check_config(importing *im, const optune_task *task, const optune_impl *impl,
                        optune_config *config, int number, optune_err *err)
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
    if (ot_target_parse(line->target_text, &target, &err) < 0 ||
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
    const int status = take(im, &r);
    ot_text_release(&call_text);
    ot_text_release(&target_text);
    ot_text_release(&device);
    return status;
}

static int on_line(void *arg, const ot_log_line *line)
{
    importing *im = arg;
    if (line->device)
        return take_device(im, line->device);
    if (line->problem)
        return refuse(im, line->number, line->problem);
    if (ot_context_stopped(im->o))
        return optune_fail(im->err, OPTUNE_EINTERRUPTED, "interrupted at line %d",
                           line->number);
    return line->ours ? take(im, &line->record) : take_foreign(im, line);
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

static optune_result *summary(importing *im)
{
    ot_text text = {0};
    ot_text_printf(&text, "%s: %d records taken, %d new, %d lines not taken", im->source,
                   im->taken, im->added, im->refused);
    if (im->mismatched)
        ot_text_printf(&text, ", %d with another index", im->mismatched);
    ot_text_add(&text, "\n");
    ot_text_add(&text, ot_text_str(&im->said));
    const size_t more = json_array_size(im->problems);
    if (more > SAID)
        ot_text_printf(&text, "  and %zu more (--json lists all)\n", more - SAID);
    json_t *json =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:O}", "source", im->source, "taken",
                  im->taken, "new", im->added, "refused", im->refused, "index_mismatches",
                  im->mismatched, "devices", im->devices, "problems", im->problems);
    return ot_result_new(text.s, json);
}

int optune_import(optune *o, const char *source, optune_result **result, optune_err *err)
{
    *result = NULL;
    char dir[4096] = "", fetched[4096 + 16];
    const char *path = source;
    importing *im = ot_alloc(sizeof *im);
    im->o = o;
    im->source = source;
    im->err = err;
    im->problems = json_array();
    int status = OPTUNE_OK;
    if (strstr(source, "://")) {
        const char *ca = getenv("OPTUNE_CA_FILE");
        const ot_fetch how = {.ca_file = ca && *ca ? ca : NULL};
        status = ot_temp_dir(dir, sizeof dir, err);
        snprintf(fetched, sizeof fetched, "%s/log", dir);
        path = fetched;
        if (status >= 0)
            status = ot_http_fetch(source, fetched, &how, err);
    }
    if (status >= 0)
        status = ot_context_store(o, OT_STORE_WRITE, err);
    if (status >= 0 && !o->have_device)
        ot_context_device(o, NULL); /* only sizes of spaces may depend on it */
    if (status >= 0)
        status = name_log(im, path);
    if (status >= 0)
        status = ot_log_read(path, on_line, im, err);
    if (status >= 0 || status == OPTUNE_EINTERRUPTED) {
        optune_err *keep = im->err;
        im->err = status < 0 ? NULL : keep;
        const int last = flush(im);
        status = status < 0 ? status : last;
    }
    if (status >= 0)
        *result = summary(im);
    ot_log_close(im->log);
    if (*dir)
        ot_remove_tree(dir);
    json_decref(im->problems);
    ot_text_release(&im->said);
    ot_arena_release(&im->arena);
    free(im);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this import that was asked to end */
    return status;
}
