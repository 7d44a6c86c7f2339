/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that go: from the logs first, as they are the truth, then from the store. A log is
 * written anew beside the old one and takes its place in one step; a log that somebody appends to
 * is left alone, and told.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/head.h"
#include "db/kv.h"
#include "db/line.h"

enum { AT_ONCE = 1024 }; /* records dropped in one transaction */

typedef struct trial {
    ot_digest question, digest;
    uint64_t config; /* of implementation and config */
    double time;
    bool good, final;
} trial;

typedef struct pruning {
    ot_store *store;
    trial *trial;
    int64_t n, capacity;
    ot_digest *gone; /* sorted */
    int64_t n_gone;
    ot_stored_log *log; /* those that were written anew; names owned */
    int n_logs, logs_capacity;
    ot_pruned *pruned;
    optune_err *err;
} pruning;

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ot_digest));
}

static bool goes(const pruning *p, const ot_digest *digest)
{
    return p->n_gone && bsearch(digest, p->gone, (size_t)p->n_gone, sizeof *digest, by_digest);
}

/* ---- which ------------------------------------------------------------------------------- */

static int collect(void *arg, const optune_record *r)
{
    pruning *p = arg;
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 1024;
        p->trial = realloc(p->trial, (size_t)p->capacity * sizeof *p->trial);
        if (!p->trial)
            abort();
    }
    const ot_question asked = {
        .device = r->device, .target = r->target, .call = r->call, .policy = r->policy};
    ot_text config = {0};
    ot_text_printf(&config, "%s\n%s\n%s\n", r->impl ? r->impl : "", r->digest ? r->digest : "",
                   r->depends ? r->depends : "");
    ot_config_print(&r->config, &config);
    p->trial[p->n++] = (trial){.question = ot_question_digest(&asked),
                               .digest = ot_record_digest(r),
                               .config = ot_hash64(config.s, config.n),
                               .time = r->time,
                               .good = r->outcome == OPTUNE_OUTCOME_OK,
                               .final = r->final};
    ot_text_release(&config);
    return OPTUNE_OK;
}

static bool same_kind(const trial *a, const trial *b)
{
    return memcmp(&a->question, &b->question, sizeof a->question) == 0 &&
           a->config == b->config && a->good == b->good && a->final == b->final;
}

/* Measurements of one thing side by side, the newest first. */
static int by_kind(const void *x, const void *y)
{
    const trial *a = x, *b = y;
    const int question = memcmp(&a->question, &b->question, sizeof a->question);
    if (question)
        return question;
    if (a->config != b->config)
        return a->config < b->config ? -1 : 1;
    if (a->good != b->good || a->final != b->final)
        return (a->good * 2 + a->final) - (b->good * 2 + b->final);
    return (a->time < b->time) - (a->time > b->time);
}

/* Of what succeeded the newest stays, and so many older ones; what failed among finalists refutes
 * others and stays. */
static void choose(pruning *p, int64_t history, double days)
{
    const double since = ot_unix_time() - days * 86400;
    p->gone = ot_alloc((size_t)(p->n + 1) * sizeof *p->gone);
    if (p->n)
        qsort(p->trial, (size_t)p->n, sizeof *p->trial, by_kind);
    int64_t rank = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const trial *t = &p->trial[i];
        rank = i && same_kind(t, t - 1) ? rank + 1 : 0;
        const bool old = t->good && history >= 0 && rank > history;
        const bool failure = !t->good && !t->final && days >= 0 && t->time < since;
        p->pruned->history += old;
        p->pruned->failures += failure;
        if (old || failure)
            p->gone[p->n_gone++] = t->digest;
    }
    if (p->n_gone)
        qsort(p->gone, (size_t)p->n_gone, sizeof *p->gone, by_digest);
}

/* ---- logs -------------------------------------------------------------------------------- */

typedef struct sifting {
    ot_heads *heads;
    ot_said said;
    ot_text stays;
    int64_t gone;
} sifting;

/* A head stays with the first line that leans on it and stays. */
static void sift_line(const pruning *p, sifting *s, const ot_text *text, bool ended,
                      const char *name)
{
    ot_arena arena = {0};
    json_t *root = NULL;
    ot_log_line *line = ot_alloc(sizeof *line);
    bool gone = false;
    const bool told = ot_line_parse(text->s, text->n, name, s->heads, &arena, line, &root);
    if (told && line->ours) {
        const ot_digest digest = ot_record_digest(&line->record);
        gone = goes(p, &digest);
    }
    s->gone += gone;
    if (!gone && told && line->head) {
        const ot_heading heading = {line->head->name, line->head->text, line->head->n_text};
        ot_said_say(&s->said, &heading, &s->stays);
    }
    if (!gone && (told || !ot_line_is_head(text->s, text->n))) {
        ot_text_add_n(&s->stays, text->s, text->n);
        ot_text_add(&s->stays, ended ? "\n" : "");
    }
    json_decref(root);
    ot_arena_release(&arena);
    free(line);
}

/* What stays of a log. */
static int sift(const pruning *p, const char *path, sifting *s)
{
    const ot_log_source source = {.path = path, .stop = ot_store_stopped_by(p->store)};
    ot_input *in;
    ot_text line = {0};
    bool ended;
    int status = ot_input_open(&source, &in, p->err);
    if (status < 0)
        return status;
    s->heads = ot_heads_new();
    while ((status = ot_input_line(in, &line, &ended, p->err)) == OPTUNE_OK)
        sift_line(p, s, &line, ended, path);
    ot_heads_free(s->heads);
    ot_said_release(&s->said);
    ot_input_close(in);
    ot_text_release(&line);
    return status < 0 ? status : OPTUNE_OK;
}

static int rewrite(void *arg, const char *path, const char *name, int64_t size)
{
    pruning *p = arg;
    sifting s = {0};
    (void)size;
    const int claim = ot_log_claim(path);
    if (claim < 0) {
        p->pruned->busy++;
        return OPTUNE_OK;
    }
    int status = sift(p, path, &s);
    if (status >= 0 && s.gone) {
        status = ot_write_file(path, ot_text_str(&s.stays), s.stays.n, p->err);
        p->pruned->logs++;
        p->pruned->lines += s.gone;
        p->log = ot_room(p->log, p->n_logs, &p->logs_capacity, sizeof *p->log);
        p->log[p->n_logs++] = (ot_stored_log){ot_strdup(name), (int64_t)s.stays.n};
    }
    close(claim);
    ot_text_release(&s.stays);
    return status;
}

static int remove_all(pruning *p, bool forget)
{
    int status =
        p->n_gone ? ot_each_log(ot_store_dir(p->store), rewrite, p, p->err) : OPTUNE_OK;
    if (status >= 0)
        status = ot_store_logs_done(p->store, p->log, p->n_logs, p->err);
    for (int i = 0; i < p->n_logs; i++)
        free((char *)(uintptr_t)p->log[i].name);
    free(p->log);
    for (int64_t i = 0; status >= 0 && i < p->n_gone; i += AT_ONCE) {
        const int64_t left = p->n_gone - i;
        status = ot_store_drop(p->store, p->gone + i, (int)(left < AT_ONCE ? left : AT_ONCE),
                               forget, p->err);
    }
    return status;
}

int ot_store_prune(ot_store *store, int64_t history, double days, ot_pruned *pruned,
                   optune_err *err)
{
    pruning p = {.store = store, .pruned = pruned, .err = err};
    int64_t added;
    *pruned = (ot_pruned){0};
    /* What the logs know and the store does not would come back later. */
    int status = ot_store_recover(store, false, &added, err);
    if (status >= 0 && ot_store_gone(store))
        status = optune_fail(err, OPTUNE_ESTORE, "the store was made anew: prune it again");
    if (status >= 0)
        status = ot_store_walk(store, collect, &p, err);
    if (status >= 0) {
        choose(&p, history, days);
        status = remove_all(&p, false);
    }
    free(p.trial);
    free(p.gone);
    return status;
}

/* ---- forgetting -------------------------------------------------------------------------- */

/* In the log *path. */
static int say_forgotten(ot_store *store, const ot_digest *digest, int n, ot_text *path,
                         optune_err *err)
{
    char stamp[32];
    struct tm utc;
    const time_t now = time(NULL);
    ot_log *log = NULL;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    ot_text_printf(path, "%s/logs", ot_store_dir(store));
    int status = ot_make_dirs(path->s, err);
    ot_text_printf(path, "/%s-%d-forget.log", stamp, (int)getpid());
    if (status >= 0)
        status = ot_log_open(path->s, OT_LOG_SHORT, &log, err);
    for (int i = 0; status >= 0 && i < n; i++)
        status = ot_log_forget(log, &digest[i], err);
    if (status >= 0)
        status = ot_log_sync(log, err);
    ot_log_close(log);
    return status;
}

int ot_store_forget(ot_store *store, const ot_digest *digest, int n, ot_pruned *pruned,
                    optune_err *err)
{
    pruning p = {.store = store, .pruned = pruned, .err = err, .n_gone = n};
    ot_text path = {0};
    *pruned = (ot_pruned){0};
    int status = say_forgotten(store, digest, n, &path, err);
    if (status < 0) {
        ot_text_release(&path);
        return status;
    }
    p.gone = ot_alloc((size_t)(n + 1) * sizeof *p.gone);
    memcpy(p.gone, digest, (size_t)n * sizeof *p.gone);
    qsort(p.gone, (size_t)n, sizeof *p.gone, by_digest);
    status = remove_all(&p, true);
    /* Not before: who is killed here leaves it to the next one that writes. */
    if (status >= 0)
        status = ot_store_log_done(store, path.s, err);
    free(p.gone);
    ot_text_release(&path);
    return status;
}
