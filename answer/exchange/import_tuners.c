/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel Tuner's caches and T4 results come in, read as the simulator reads them. What we wrote
 * says whose it is; of others' the kernel's name has to be that of an implementation or an operator
 * here, and the workload is the one its file brings. They name no digest, so they are hints.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/answer.h"
#include "bring/bring.h"
#include "db/recorded.h"

typedef struct reading {
    optune *o;
    ot_recorded *from;
    json_t *origin;
    const optune_impl *impl;
    optune_call call;
    optune_target target;
    optune_space *space;
    int64_t *digit[OPTUNE_MAX_KNOBS]; /* of each knob of the file, in the space; -1: none */
    int knob[OPTUNE_MAX_KNOBS];       /* of the space; -1: of one value that it does not have */
} reading;

static const char *said(const reading *r, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(r->origin, name));
    return text ? text : otherwise;
}

/* Whose configs they are, and of which call. */
static int find_owner(reading *r, optune_err *err)
{
    const char *kernel = said(r, "impl", r->from->kernel);
    if (!kernel)
        return optune_fail(err, OPTUNE_ENOENT,
                           "'%s' names no kernel; T4 results that optune exported do",
                           r->from->name);
    const ot_brought *b = ot_brought_of_op(kernel);
    b = b ? b : ot_brought_of_kernel(kernel);
    r->impl = b ? &b->impl : ot_impl_find(kernel);
    if (!r->impl)
        return optune_fail(
            err, OPTUNE_ENOENT,
            "there is no implementation or operator '%s' here; `optune tune` with "
            "its file makes it known",
            kernel);
    b = ot_brought_of_op(r->impl->op ? r->impl->op : "");
    const char *call = said(r, "call", b ? b->workload[0] : NULL);
    if (!call)
        return optune_fail(err, OPTUNE_ENOENT, "'%s' says no workload of '%s'", r->from->name,
                           r->impl->name);
    OT_RETURN_UNLESS_OK(ot_call_parse(call, &r->call, err));
    if (!ot_call_static(&r->call))
        return optune_fail(err, OPTUNE_ETYPE, "'%s' has unknown dims", call);
    OT_RETURN_UNLESS_OK(ot_target_parse(
        said(r, "target", b ? ot_language_target(b->language) : "cpu"), &r->target, err));
    const optune_task task = {&r->call, &r->target, &r->o->device};
    return ot_space_open(&task, r->impl, &r->space, err);
}

/* A value as the file's reader writes it; `loosely`: or a word that is the same number, too. */
static bool same_value(const json_t *value, const char *word, bool loosely)
{
    double a = json_number_value(value), b;
    if (json_is_string(value) && strcmp(json_string_value(value), word) == 0)
        return true;
    if (json_is_string(value) && !(loosely && ot_parse_real(json_string_value(value), &a)))
        return false;
    if (json_is_boolean(value))
        return strcmp(json_is_true(value) ? "true" : "false", word) == 0 ||
               strcmp(json_is_true(value) ? "1" : "0", word) == 0;
    return ot_parse_real(word, &b) && a == b;
}

static int64_t find_digit(const char *op, const optune_space *space, int knob, const char *word)
{
    const int64_t n = optune_space_radix(space, knob);
    for (int64_t d = 0; d < 2 * n; d++) {
        optune_entity entity;
        ot_space_entity(space, knob, d % n, &entity);
        json_t *value = ot_tuner_value(op, &entity);
        const bool same = same_value(value, word, d >= n);
        json_decref(value);
        if (same)
            return d % n;
    }
    return -1;
}

/* Which knob of ours each of theirs is, and which value each value. */
static int match_knobs(reading *r, optune_err *err)
{
    bool met[OPTUNE_MAX_KNOBS] = {false};
    for (int k = 0; k < r->from->n_knobs; k++) {
        const ot_recorded_knob *theirs = &r->from->knob[k];
        r->knob[k] = -1;
        for (int own = 0; own < optune_space_knobs(r->space); own++)
            if (strcmp(ot_space_knob_name(r->space, own), theirs->name) == 0)
                r->knob[k] = own;
        if (r->knob[k] < 0 && theirs->n > 1)
            return optune_fail(err, OPTUNE_ENOENT, "'%s' has no knob '%s', which '%s' varies",
                               r->impl->name, theirs->name, r->from->name);
        if (r->knob[k] < 0)
            continue;
        met[r->knob[k]] = true;
        r->digit[k] = ot_alloc((size_t)theirs->n * sizeof *r->digit[k]);
        for (int i = 0; i < theirs->n; i++)
            r->digit[k][i] =
                find_digit(r->call.op->name, r->space, r->knob[k], theirs->word[i]);
    }
    for (int own = 0; own < optune_space_knobs(r->space); own++)
        if (!met[own])
            return optune_fail(err, OPTUNE_ENOENT, "'%s' says nothing of the knob '%s' of '%s'",
                               r->from->name, ot_space_knob_name(r->space, own), r->impl->name);
    return OPTUNE_OK;
}

/* The config of a trial; false, with why: a value is none of ours. */
static bool config_of(const reading *r, const ot_recorded_trial *trial, optune_config *config,
                      char *why)
{
    int64_t digit[OPTUNE_MAX_KNOBS] = {0}, rest = trial->index;
    for (int k = 0; k < r->from->n_knobs; k++) {
        const ot_recorded_knob *theirs = &r->from->knob[k];
        const int value = (int)(rest % theirs->n);
        rest /= theirs->n;
        if (r->knob[k] < 0)
            continue;
        digit[r->knob[k]] = r->digit[k][value];
        if (r->digit[k][value] < 0)
            return optune_refuse(why, "knob '%s' has no value %s here", theirs->name,
                                 theirs->word[value]);
    }
    ot_space_nth(r->space, optune_space_index(r->space, digit), config);
    return true;
}

static int take_all(reading *r, const char *path,
                    int (*take)(void *arg, int64_t number, const optune_record *record,
                                const char *problem),
                    void *arg)
{
    ot_text call = {0}, target = {0}, device = {0};
    int status = OPTUNE_OK;
    ot_call_print(&r->call, &call);
    ot_target_print(&r->target, true, &target);
    ot_text_printf(&device, "%s%s", said(r, "device", NULL) ? "" : "kernel-tuner:",
                   said(r, "device", r->from->device ? r->from->device : "unknown"));
    optune_record *record = ot_alloc(sizeof *record);
    struct stat info; /* the same time for the same file, so that it comes in once */
    const double when = stat(path, &info) == 0 ? (double)info.st_mtime : ot_unix_time();
    for (int i = 0; i < r->from->n_trials && status >= 0; i++) {
        const ot_recorded_trial *trial = &r->from->trial[i];
        const bool good = trial->outcome == OPTUNE_OUTCOME_OK;
        char why[OPTUNE_WHY_SIZE];
        *record = (optune_record){.call = ot_text_str(&call),
                                  .op = r->call.op->name,
                                  .target = ot_text_str(&target),
                                  .device = ot_text_str(&device),
                                  .policy = said(r, "policy", "warm"),
                                  .impl = r->impl->name,
                                  .digest = "",
                                  .depends = "",
                                  .outcome = trial->outcome,
                                  .cost = trial->cost,
                                  .low = trial->cost,
                                  .high = trial->cost,
                                  .n_samples = good,
                                  .sample = &trial->cost,
                                  .inner = 1,
                                  .all_cost = trial->seconds,
                                  .time = when,
                                  .tool = "kernel-tuner"};
        status = config_of(r, trial, &record->config, why) ? take(arg, i + 1, record, NULL)
                                                           : take(arg, i + 1, NULL, why);
    }
    free(record);
    ot_text_release(&call);
    ot_text_release(&target);
    ot_text_release(&device);
    return status;
}

int ot_tuner_read(optune *o, const char *path,
                  int (*take)(void *arg, int64_t number, const optune_record *record,
                              const char *problem),
                  void *arg, optune_err *err)
{
    reading *r = ot_alloc(sizeof *r);
    r->o = o;
    int status = ot_recorded_read(path, &r->from, err);
    if (status >= 0) {
        r->origin = r->from->origin ? json_loads(r->from->origin, 0, NULL) : NULL;
        status = find_owner(r, err);
    }
    if (status >= 0)
        status = match_knobs(r, err);
    if (status >= 0)
        status = take_all(r, path, take, arg);
    for (int k = 0; k < OPTUNE_MAX_KNOBS; k++)
        free(r->digit[k]);
    ot_space_close(r->space);
    json_decref(r->origin);
    ot_recorded_free(r->from);
    free(r);
    return status;
}
