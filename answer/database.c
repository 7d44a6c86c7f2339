/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to a database as a whole: looked through, counted, made small, made anew from its
 * logs, relieved of what is old or wrong. Each deed is a row of a table here; db/ does them.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"

typedef struct doing {
    optune *o;
    const optune_database_options *options;
    ot_text text;
    json_t *json;
    bool faulty;
    int opened; /* as ot_context_replaced wants it */
    optune_err *err;
} doing;

static void count(doing *d, const char *name, const char *what, int64_t n)
{
    json_object_set_new(d->json, name, json_integer((json_int_t)n));
    ot_text_printf(&d->text, "%12lld %s\n", (long long)n, what);
}

/* To write, but of nothing that is not there: neither a store nor logs it was made from. */
static int existing(doing *d, ot_store **store)
{
    optune_err err = {0};
    ot_text logs = {0};
    ot_text_printf(&logs, "%s/logs", d->o->db);
    const int status = ot_context_reader(d->o, store, &d->opened, &err);
    const bool none = status == OPTUNE_ENOENT && !ot_exists(logs.s);
    ot_text_release(&logs);
    return none ? optune_fail(d->err, status, "%s", err.text)
                : ot_context_writer(d->o, store, &d->opened, d->err);
}

static int check(doing *d)
{
    ot_care care = {0};
    const bool mend = d->options->mend;
    ot_store *store;
    int status =
        mend ? existing(d, &store) : ot_context_reader(d->o, &store, &d->opened, d->err);
    if (status < 0)
        return status;
    status = mend ? ot_store_mend(store, &care, d->err) : ot_store_check(store, &care, d->err);
    if (status < 0)
        return status;
    const bool faults = ot_care_faults(&care) > 0;
    count(d, "records", "records", care.records);
    count(d, "entries", "entries of the index", care.entries);
    count(d, "devices", "devices", care.devices);
    count(d, "damaged", "damaged records", care.damaged);
    count(d, "misplaced", "records under another's key", care.misplaced);
    count(d, "unlisted", "records without an entry", care.unlisted);
    count(d, "dangling", "entries without their record", care.dangling);
    count(d, "devices_damaged", "damaged devices", care.devices_damaged);
    count(d, "summaries", "summaries that the index contradicts", care.summaries);
    count(d, "quarantined", "records in quarantine", care.quarantined);
    json_object_set_new(d->json, "mended", json_boolean(mend && faults));
    if (mend)
        count(d, "restored", "records restored from the logs", care.restored);
    if (faults && mend)
        ot_text_printf(&d->text, "%lld faults were mended\n", (long long)ot_care_faults(&care));
    else if (faults)
        ot_text_printf(&d->text, "%lld faults; `optune db check --mend` mends them\n",
                       (long long)ot_care_faults(&care));
    else
        ot_text_add(&d->text, "no faults\n");
    d->faulty = faults && !mend;
    return OPTUNE_OK;
}

static int stat_of(doing *d)
{
    ot_store_stats stats;
    ot_care care;
    ot_store *store;
    OT_RETURN_UNLESS_OK(ot_context_reader(d->o, &store, &d->opened, d->err));
    OT_RETURN_UNLESS_OK(ot_store_stats_get(store, &stats, d->err));
    OT_RETURN_UNLESS_OK(ot_store_check(store, &care, d->err));
    json_object_set_new(d->json, "db", json_string(d->o->db));
    ot_text_printf(&d->text, "%s\n", d->o->db);
    count(d, "records", "records", stats.records);
    count(d, "questions", "questions", stats.questions);
    count(d, "devices", "devices", care.devices);
    count(d, "bytes", "bytes in use", stats.bytes);
    count(d, "bytes_a_record", "bytes a record",
          stats.records ? stats.bytes / stats.records : 0);
    count(d, "damaged", "damaged records", stats.damaged);
    count(d, "quarantined", "records in quarantine", care.quarantined);
    count(d, "forgotten", "records forgotten", care.forgotten);
    count(d, "commits", "commits", ot_store_last(store));
    return OPTUNE_OK;
}

static int compact(doing *d)
{
    int64_t before, after;
    ot_store *store;
    OT_RETURN_UNLESS_OK(existing(d, &store));
    OT_RETURN_UNLESS_OK(ot_store_compact(store, &before, &after, d->err));
    count(d, "before", "bytes before", before);
    count(d, "after", "bytes after", after);
    return OPTUNE_OK;
}

static int rebuild(doing *d)
{
    int64_t gone = 0;
    const ot_rebuilding how = {.logs = d->options->words, .stop = &d->o->stop, .gone = &gone};
    ot_store_stats stats, was = {0};
    int64_t refused;
    ot_store *old;
    if (ot_context_reader(d->o, &old, &d->opened, NULL) < 0 ||
        ot_store_stats_get(old, &was, NULL) < 0)
        was.records = 0;
    OT_RETURN_UNLESS_OK(ot_store_rebuild(d->o->db, &how, &stats, &refused, d->err));
    count(d, "records", "records", stats.records);
    count(d, "questions", "questions", stats.questions);
    count(d, "refused", "lines not taken (`optune import` says why)", refused);
    if (gone)
        count(d, "gone", "logs done without: they were removed meanwhile", gone);
    if (was.records > stats.records)
        count(d, "fewer", "records fewer than before: they were in no log that was read",
              was.records - stats.records);
    return OPTUNE_OK;
}

static void say_pruned(doing *d, const ot_pruned *pruned)
{
    count(d, "lines", "lines of logs removed", pruned->lines);
    count(d, "logs", "logs written anew", pruned->logs);
    count(d, "busy", "logs left alone: somebody writes to them", pruned->busy);
    count(d, "unread", "logs left alone: they cannot be read here", pruned->unread);
}

static int prune(doing *d)
{
    ot_pruned pruned;
    ot_store *store;
    OT_RETURN_UNLESS_OK(existing(d, &store));
    const int history = d->options->history ? d->options->history : 64;
    const double days = d->options->days != 0 ? d->options->days : 30;
    OT_RETURN_UNLESS_OK(
        ot_store_prune(store, history < 0 ? 0 : history, days, &pruned, d->err));
    count(d, "history", "older measurements removed", pruned.history);
    count(d, "failures", "failed trials removed", pruned.failures);
    say_pruned(d, &pruned);
    return OPTUNE_OK;
}

/* ---- forgetting -------------------------------------------------------------------------- */

static int digests_of(doing *d, ot_store *store, const char *workload, ot_arena *arena,
                      ot_digest **digest, int *n)
{
    optune *o = d->o;
    optune_call *call = ot_alloc(sizeof *call);
    ot_question question;
    optune_record *record = NULL;
    int n_records = 0;
    int status = ot_call_parse(workload, call, d->err);
    const optune_task task = {call, &o->target, &o->device};
    if (status >= 0)
        status = ot_context_question(o, &task, &question, arena);
    if (status >= 0)
        status = ot_store_find(store, &question, 0, arena, &record, &n_records, d->err);
    *digest = ot_arena_alloc(arena, (size_t)(n_records + 1) * sizeof **digest);
    for (int i = 0; status >= 0 && i < n_records; i++)
        if (!d->options->impl || !strcmp(record[i].impl, d->options->impl))
            (*digest)[(*n)++] = ot_record_digest(&record[i]);
    if (status >= 0 && !*n)
        status = optune_fail(
            d->err, OPTUNE_ENOENT, "no record of '%.200s'%s%s for this device and target",
            workload, d->options->impl ? " by " : "", d->options->impl ? d->options->impl : "");
    free(call);
    return status;
}

static int forget(doing *d)
{
    const char *workload = d->options->words ? d->options->words[0] : NULL;
    ot_arena arena = {0};
    ot_digest *digest = NULL;
    ot_pruned pruned;
    ot_store *store;
    int n = 0;
    if (!workload)
        return optune_fail(d->err, OPTUNE_EUSAGE, "forget needs a workload");
    int status = ot_context_device(d->o, d->err);
    if (status >= 0)
        status = existing(d, &store);
    if (status >= 0)
        status = digests_of(d, store, workload, &arena, &digest, &n);
    if (status >= 0)
        status = ot_store_forget(store, digest, n, &pruned, d->err);
    if (status >= 0) {
        count(d, "forgotten", "records forgotten", n);
        say_pruned(d, &pruned);
    }
    ot_arena_release(&arena);
    return status;
}

/* ---- the deeds --------------------------------------------------------------------------- */

static const struct deed {
    const char *name;
    int (*run)(doing *d);
    bool once; /* what half of it did is not found again */
} deeds[] = {
    {"check", check, false},     {"stat", stat_of, false}, {"compact", compact, false},
    {"rebuild", rebuild, false}, {"prune", prune, false},  {"forget", forget, true},
};

int optune_database(optune *o, const optune_database_options *options, optune_result **result,
                    optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    optune_database_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_database_options, options, &own));
    options = &own;
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"options.what", options->what}));
    const char *names[OT_COUNT(deeds)];
    const struct deed *deed = NULL;
    for (int i = 0; i < OT_COUNT(deeds); i++) {
        names[i] = deeds[i].name;
        if (!strcmp(deeds[i].name, options->what))
            deed = &deeds[i];
    }
    if (!deed)
        return ot_no_such(err, "db command", options->what, names, OT_COUNT(deeds));
    doing d = {.o = o, .options = options, .json = json_object(), .err = err};
    int status, swaps = 0;
    do {
        const unsigned turn = ot_context_enter(o);
        d.opened = o->stores->n_opened;
        status = deed->run(&d);
        ot_context_leave(o, turn);
    } while (!deed->once && ot_context_replaced(o, status, d.opened, &swaps));
    if (status < 0) {
        if (status == OPTUNE_EINTERRUPTED)
            atomic_store(&o->stop, false); /* it was this that was asked to end */
        ot_text_release(&d.text);
        json_decref(d.json);
        return status;
    }
    *result = ot_result_new(d.text.s, d.json);
    return d.faulty
               ? optune_fail(err, OPTUNE_EDAMAGED,
                             "the database '%s' has faults: `optune db check --mend`", o->db)
               : OPTUNE_OK;
}
