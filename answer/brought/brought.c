/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of somebody's own in a process that asks: read, described, and remembered beside the
 * database, so that a later process knows them by their operator's name.
 *
 * The one idea: what is remembered is where the file is, not what it said, so an edit shows.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "bring/bring.h"

static const double COUNT_S = 2;

static void describe(const ot_brought *b, optune_brought *to)
{
    ot_copy(to->op, sizeof to->op, b->op.name);
    ot_copy(to->impl, sizeof to->impl, b->impl.name);
    ot_copy(to->target, sizeof to->target, ot_language_target(b->language));
    ot_copy(to->workload, sizeof to->workload, b->workload[0]);
    const ot_program *p = &b->program;
    if (b->language == OT_LANGUAGE_PROGRAM)
        snprintf(to->reference, sizeof to->reference, "%s%s%s",
                 p->same_output ? "what its default config prints" : "",
                 p->same_output && p->check.n ? ", and by " : "",
                 p->check.n        ? "the check command"
                 : !p->same_output ? "nothing: its exit status decides"
                                   : "");
    else if (b->reference)
        ot_format(to->reference, sizeof to->reference, "the reference function '%.120s'",
                  b->reference);
    else
        ot_copy(to->reference, sizeof to->reference, "the output of its own default config");
    if (b->exemplified)
        ot_copy(to->reference + strlen(to->reference),
                sizeof to->reference - strlen(to->reference),
                ", which has to give what its files say");
    to->absolute = b->absolute;
    to->relative = b->relative;
}

static int bring(const char *path, const char *workload, optune_brought *brought,
                 optune_err *err)
{
    if (!ot_is_brought_path(path))
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "'%s' is neither C (.c), OpenCL C (.cl), CUDA (.cu), T1 (.json) nor a program's "
            "declaration (.tune), by its name",
            path);
    OT_RETURN_UNLESS_OK(ot_context_load(path, err));
    const ot_brought *b = ot_brought_of_path(path);
    optune_call call;
    ot_brought_count count;
    describe(b, brought);
    OT_RETURN_UNLESS_OK(ot_call_parse(workload ? workload : b->workload[0], &call, err));
    if (call.op != &b->op)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "workload '%s' is not a call of '%s', which is what "
                           "'%s' brings",
                           workload, b->op.name, path);
    ot_brought_count_valid(b, &call, COUNT_S, &count);
    brought->combinations = count.combinations;
    brought->valid = count.valid;
    brought->counted = count.whole;
    brought->undefined = count.undefined;
    return ot_brought_check_count(b, &count, err);
}

int optune_bring(const char *path, const char *workload, optune_brought *brought,
                 optune_err *err)
{
    optune_brought own = {.size = sizeof own};
    OT_ENTER(err, {"path", path}, {"brought", brought});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_brought, brought));
    const int status = bring(path, workload, &own, err);
    ot_sized_give(&own, sizeof own, brought);
    return status;
}

/* ---- beside the database ----------------------------------------------------------------- */

/* Where it was another file's until now, which is still there: its records have no operator. */
static void tell_of_another(optune *o, const char *before, const ot_brought *b)
{
    if (*before && strcmp(before, b->path) != 0 && access(before, F_OK) == 0)
        ot_context_log(o, OPTUNE_LOG_WARNING,
                       "operator '%s' was brought from '%s' until now, and is from '%s' from "
                       "here on: for both, give one of them another name",
                       b->op.name, before, b->path);
}

int optune_remember(optune *o, const char *path, optune_err *err)
{
    char name[sizeof o->db + OPTUNE_NAME_SIZE + 16];
    OT_ENTER(err, {"handle", o}, {"path", path});
    const ot_brought *b = ot_brought_of_path(path);
    if (!b)
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' was not brought", path);
    OT_RETURN_UNLESS_OK(ot_context_plugin(o, b->path, err));
    for (int i = 0; i < b->n_remarks; i++)
        ot_context_log(o, OPTUNE_LOG_WARNING, "%s", b->remark[i]);
    if (!*o->db)
        return OPTUNE_OK;
    snprintf(name, sizeof name, "%s/brought", o->db);
    OT_RETURN_UNLESS_OK(ot_context_make(name, err));
    snprintf(name, sizeof name, "%s/brought/%s", o->db, b->op.name);
    ot_text before = {0};
    ot_read_file(name, &before, 4096, NULL);
    const int status = ot_context_write(name, b->path, err);
    if (status >= 0)
        tell_of_another(o, ot_text_str(&before), b);
    ot_text_release(&before);
    return status;
}

/* A file that is gone or broken is told of and left out: what else is asked has an answer. */
static void load_one(optune *o, const char *op)
{
    char name[sizeof o->db + OPTUNE_NAME_SIZE + 300];
    optune_err err = {0};
    ot_text path = {0};
    snprintf(name, sizeof name, "%s/brought/%.255s", o->db, op);
    int status = ot_read_file(name, &path, 4096, &err);
    if (status >= 0 && !ot_is_brought_path(ot_text_str(&path)))
        status = optune_fail(&err, OPTUNE_EDAMAGED, "it names no kernel's file");
    if (status >= 0 && ot_brought_of_op(op))
        goto out; /* of another path: the one that was named goes before */
    if (status >= 0)
        status = ot_context_plugin(o, ot_text_str(&path), &err);
    if (status < 0)
        ot_context_log(
            o, OPTUNE_LOG_WARNING,
            "operator '%s' was brought from '%s': %s; `optune tune` brings it again, "
            "or remove '%s'",
            op, ot_text_str(&path), err.text, name);
out:
    ot_text_release(&path);
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !strstr(entry->d_name, ".tmp");
}

void ot_context_recall(optune *o)
{
    char dir[sizeof o->db + 16];
    struct dirent **entry = NULL;
    snprintf(dir, sizeof dir, "%s/brought", o->db);
    const int n = *o->db ? scandir(dir, &entry, is_name, alphasort) : 0;
    for (int i = 0; i < n; i++) {
        load_one(o, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
}
