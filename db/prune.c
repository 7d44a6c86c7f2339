/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that go: from the logs first, as they are the truth, then from the store. A log is
 * written anew beside the old one and takes its place in one step; a log that somebody appends to
 * is left alone, and told.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
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
    bool good, final, chosen;
} trial;

typedef struct going {
    ot_digest digest; /* first: it is what they are sorted by */
    bool old;         /* a measurement that a newer one replaced; else a failure */
    bool stays;       /* a log that is left alone has it, and would bring it back */
    bool found;       /* in a log that was written anew */
} going;

typedef struct pruning {
    ot_store *store;
    trial *trial;
    int64_t n, capacity;
    going *gone; /* sorted */
    int64_t n_gone;
    ot_stored_log *log; /* those that were written anew; names owned */
    int n_logs, logs_capacity;
    char **left; /* names of those that were left alone before any was written anew */
    int n_left, left_capacity;
    bool forget; /* whatever a log that is left alone has */
    optune_err
        failed; /* why the first could not be written anew that could not; 0: all could */
    ot_pruned *pruned;
    optune_err *err;
} pruning;

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ot_digest));
}

static going *find(const pruning *p, const ot_digest *digest)
{
    return p->n_gone ? bsearch(digest, p->gone, (size_t)p->n_gone, sizeof *p->gone, by_digest)
                     : NULL;
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
    char text[8];
    ot_text config = {0};
    ot_text_printf(&config, "%s\n%s\n%s\n", r->impl ? r->impl : "", r->digest ? r->digest : "",
                   r->depends ? r->depends : "");
    ot_config_print(&r->config, &config);
    p->trial[p->n++] = (trial){
        .question = ot_question_digest(&asked),
        .digest = ot_record_digest(r),
        .config = ot_hash64(config.s, config.n),
        .time = r->time,
        .good = r->outcome == OPTUNE_OUTCOME_OK,
        .final = r->final,
        .chosen = r->counters && ot_lines_get(r->counters, OT_CHOSEN, text, sizeof text)};
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

/* The newest first. */
static int by_time(const void *x, const void *y)
{
    const trial *a = *(const trial *const *)x, *b = *(const trial *const *)y;
    return a->time != b->time ? (a->time < b->time) - (a->time > b->time)
                              : memcmp(&a->digest, &b->digest, sizeof a->digest);
}

/* Of one question those that newer ones of the same config replaced: `history` of them stay. */
static void end_question(pruning *p, const trial **old, int64_t *n, int64_t history)
{
    if (*n > history)
        qsort(old, (size_t)*n, sizeof *old, by_time);
    for (int64_t i = history < 0 ? *n : history; i < *n; i++)
        p->gone[p->n_gone++] = (going){.digest = old[i]->digest, .old = true};
    *n = 0;
}

/* When the choice for a graph was made that counts: of the question whose first trial `at` is. */
static double newest_choice(const pruning *p, int64_t at)
{
    const trial *first = &p->trial[at];
    double time = -INFINITY;
    for (int64_t i = at; i < p->n; i++) {
        const trial *t = &p->trial[i];
        if (memcmp(&t->question, &first->question, sizeof t->question) != 0)
            break;
        if (t->good && t->chosen && t->time > time)
            time = t->time;
    }
    return time;
}

/* Of each config's measurements the newest stays, or several where they are of one time; of those
 * chosen for a graph, too; and of all of a question so many older ones. What failed among finalists
 * refutes others and stays. */
static void choose(pruning *p, int64_t history, double days)
{
    const double since = ot_unix_time() - days * 86400;
    const trial **old = ot_alloc((size_t)(p->n + 1) * sizeof *old);
    int64_t n_old = 0;
    double newest = 0, choice = 0; /* of its kind; of its question */
    p->gone = ot_alloc((size_t)(p->n + 1) * sizeof *p->gone);
    if (p->n)
        qsort(p->trial, (size_t)p->n, sizeof *p->trial, by_kind);
    for (int64_t i = 0; i < p->n; i++) {
        const trial *t = &p->trial[i];
        if (!i || memcmp(&t->question, &t[-1].question, sizeof t->question) != 0) {
            end_question(p, old, &n_old, history);
            choice = newest_choice(p, i);
        }
        if (!i || !same_kind(t, t - 1))
            newest = t->time;
        if (t->good && history >= 0 && t->time < newest && !(t->chosen && t->time >= choice))
            old[n_old++] = t;
        if (!t->good && !t->final && days >= 0 && t->time < since)
            p->gone[p->n_gone++] = (going){.digest = t->digest};
    }
    end_question(p, old, &n_old, history);
    free(old);
    if (p->n_gone)
        qsort(p->gone, (size_t)p->n_gone, sizeof *p->gone, by_digest);
}

/* ---- logs -------------------------------------------------------------------------------- */

enum { SOME = 1 << 20 }; /* bytes that are written at once */

typedef struct sifting {
    enum {
        LOOKS,
        NOTES,
        WRITES
    } does; /* looks for one that goes; notes these; writes the rest */
    ot_heads *heads;
    ot_said said;
    ot_text stays; /* what was not written yet */
    int fd;
    int why; /* an errno: it cannot be written */
    int64_t gone, bytes;
} sifting;

static void flush(sifting *s)
{
    for (size_t done = 0; done < s->stays.n && !s->why;) {
        const ssize_t n = write(s->fd, s->stays.s + done, s->stays.n - done);
        if (n < 0 && errno != EINTR)
            s->why = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    s->bytes += (int64_t)s->stays.n;
    ot_text_clear(&s->stays);
}

static void keep(sifting *s, const ot_text *text, bool ended, const ot_log_line *line)
{
    if (line && line->head) {
        const ot_heading heading = {line->head->name, line->head->text, line->head->n_text};
        ot_said_say(&s->said, &heading, &s->stays);
    }
    if (line || !ot_line_is_head(text->s, text->n)) {
        ot_text_add_n(&s->stays, text->s, text->n);
        ot_text_add(&s->stays, ended ? "\n" : "");
    }
    if (s->stays.n >= SOME)
        flush(s);
}

/* A head stays with the first line that leans on it and stays. */
static void sift_line(const pruning *p, sifting *s, const ot_text *text, bool ended,
                      const char *name)
{
    ot_arena arena = {0};
    json_t *root = NULL;
    ot_log_line *line = ot_alloc(sizeof *line);
    going *gone = NULL;
    const bool told = ot_line_parse(text->s, text->n, name, s->heads, &arena, line, &root);
    if (told && line->ours) {
        const ot_digest digest = ot_record_digest(&line->record);
        gone = find(p, &digest);
    }
    s->gone += gone != NULL;
    if (gone && s->does == NOTES)
        gone->stays = true;
    if (gone && s->does == WRITES)
        gone->found = true;
    if (!gone && s->does == WRITES)
        keep(s, text, ended, told ? line : NULL);
    json_decref(root);
    ot_arena_release(&arena);
    free(line);
}

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
    while ((s->does != LOOKS || !s->gone) && !s->why &&
           (status = ot_input_line(in, &line, &ended, p->err)) == OPTUNE_OK)
        sift_line(p, s, &line, ended, path);
    if (s->does == WRITES)
        flush(s);
    ot_heads_free(s->heads);
    ot_said_release(&s->said);
    ot_input_close(in);
    ot_text_release(&line);
    ot_text_release(&s->stays);
    return status < 0 ? status : OPTUNE_OK;
}

static int cannot_write(const pruning *p, const char *path, int why)
{
    return optune_fail(p->err, OPTUNE_EIO, "cannot write log '%s' anew: %s", path,
                       strerror(why));
}

/* It may have lines that nobody has stored, of a writer who was killed: these are not in the store
 * because they are in what takes the log's place, which may be as large as what was stored. */
static int unmark(const pruning *p, const char *name, const struct stat *info, bool *stored)
{
    bool old;
    *stored = ot_store_log_mark(p->store, name, &old) == info->st_size && !old;
    const ot_stored_log again = {name, -1};
    return *stored ? OPTUNE_OK : ot_store_logs_done(p->store, &again, 1, p->err);
}

/* Of a log that is claimed; what stays of it takes its place in one step. */
static int write_anew(pruning *p, const char *path, const char *name, const struct stat *info)
{
    ot_text fresh = {0};
    sifting s = {.does = WRITES};
    bool stored = false;
    ot_text_printf(&fresh, "%s" OT_LOG_PRUNED, path);
    unlink(fresh.s); /* of who was killed: nobody else has the claim */
    s.fd = open(fresh.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                info->st_mode & 0777);
    int status = s.fd < 0 ? cannot_write(p, path, errno) : sift(p, path, &s);
    /* Who else may write to it does not depend on this one's umask. */
    if (status >= 0 && !s.why && fchmod(s.fd, info->st_mode & 0777) < 0)
        s.why = errno;
    if (status >= 0 && !s.why && fsync(s.fd) < 0)
        s.why = errno;
    if (s.fd >= 0 && close(s.fd) < 0 && !s.why)
        s.why = errno;
    if (status >= 0 && !s.why)
        status = unmark(p, name, info, &stored);
    if (status >= 0 && !s.why && rename(fresh.s, path) < 0)
        s.why = errno;
    if (status >= 0 && s.why)
        status = cannot_write(p, path, s.why);
    if (status < 0) {
        unlink(fresh.s);
    } else {
        p->pruned->logs++;
        p->pruned->lines += s.gone;
        p->log = ot_room(p->log, p->n_logs, &p->logs_capacity, sizeof *p->log);
        p->log[p->n_logs++] = (ot_stored_log){ot_strdup(name), stored ? s.bytes : -1};
    }
    ot_text_release(&fresh);
    return status;
}

/* What it has stays in the store. */
static int note(const pruning *p, const char *path)
{
    sifting s = {.does = NOTES};
    const int status = p->forget ? OPTUNE_OK : sift(p, path, &s);
    return status == OPTUNE_ENOENT ? OPTUNE_OK : status;
}

/* Of a log that could not be claimed. *told: it is there. */
static int leave_alone(const pruning *p, const char *path, int why, bool *told)
{
    *told = why != ENOENT;
    if (why == EACCES || why == EPERM) {
        p->pruned->unread++;
        return OPTUNE_OK;
    }
    p->pruned->busy += *told;
    return *told ? note(p, path) : OPTUNE_OK;
}

static int claim_for(const char *path, int *why)
{
    errno = 0;
    const int claim = ot_log_claim(path);
    *why = errno;
    return claim;
}

/* In front of all rewriting: what is found out here leaves everything as it was. */
static int look_at(void *arg, const char *path, const char *name, int64_t size)
{
    pruning *p = arg;
    int why;
    bool told;
    (void)size;
    const int claim = claim_for(path, &why);
    if (claim >= 0) {
        close(claim);
        return OPTUNE_OK;
    }
    OT_RETURN_UNLESS_OK(leave_alone(p, path, why, &told));
    if (told) {
        p->left = ot_room(p->left, p->n_left, &p->left_capacity, sizeof *p->left);
        p->left[p->n_left++] = ot_strdup(name);
    }
    return OPTUNE_OK;
}

static bool was_left(const pruning *p, const char *name)
{
    for (int i = 0; i < p->n_left; i++)
        if (!strcmp(p->left[i], name))
            return true;
    return false;
}

static int rewrite_claimed(pruning *p, const char *path, const char *name, int claim)
{
    struct stat info;
    sifting s = {.does = LOOKS};
    int status = sift(p, path, &s);
    if (status == OPTUNE_EUSAGE || (p->forget && status == OPTUNE_EIO)) {
        p->pruned->unread++;
        return OPTUNE_OK;
    }
    if (status < 0 || !s.gone)
        return status;
    status = fstat(claim, &info) < 0 ? cannot_write(p, path, errno)
                                     : write_anew(p, path, name, &info);
    if (status != OPTUNE_EIO)
        return status;
    /* The others are none the worse. */
    if (!p->failed.status && p->err)
        p->failed = *p->err;
    p->failed.status = status;
    return note(p, path);
}

static int rewrite(void *arg, const char *path, const char *name, int64_t size)
{
    pruning *p = arg;
    int why;
    bool told;
    (void)size;
    if (was_left(p, name))
        return OPTUNE_OK;
    const int claim = claim_for(path, &why);
    if (claim < 0)
        return leave_alone(p, path, why, &told);
    const int status = rewrite_claimed(p, path, name, claim);
    close(claim);
    return status;
}

/* The store after the logs; who forgets drops also what a log that is left alone has. What was
 * found in none may be in one that cannot be read here, and would come back from there. */
static int drop(pruning *p)
{
    ot_digest digest[AT_ONCE];
    int n = 0, status = OPTUNE_OK;
    for (int64_t i = 0; status >= 0 && i < p->n_gone; i++) {
        const going *g = &p->gone[i];
        if (p->forget || (!g->stays && (g->found || !p->pruned->unread))) {
            digest[n++] = g->digest;
            p->pruned->history += !p->forget && g->old;
            p->pruned->failures += !p->forget && !g->old;
        }
        if (n == AT_ONCE || (n && i + 1 == p->n_gone)) {
            status = ot_store_drop(p->store, digest, n, p->forget, p->err);
            n = 0;
        }
    }
    return status;
}

static int rewrite_all(pruning *p)
{
    const char *dir = ot_store_dir(p->store);
    int status = p->forget ? OPTUNE_OK : ot_each_log(dir, look_at, p, p->err);
    if (status >= 0)
        status = ot_each_log(dir, rewrite, p, p->err);
    if (p->n_logs) {
        ot_text logs = {0};
        ot_text_printf(&logs, "%s/logs", dir);
        ot_sync_path(logs.s);
        ot_text_release(&logs);
    }
    return status < 0 ? status : ot_store_logs_done(p->store, p->log, p->n_logs, p->err);
}

static int remove_all(pruning *p)
{
    int status = p->n_gone ? rewrite_all(p) : OPTUNE_OK;
    if (status >= 0)
        status = drop(p);
    if (status >= 0 && p->failed.status)
        status = optune_fail(p->err, p->failed.status, "%s", p->failed.text);
    for (int i = 0; i < p->n_logs; i++)
        free((char *)(uintptr_t)p->log[i].name);
    for (int i = 0; i < p->n_left; i++)
        free(p->left[i]);
    free(p->log);
    free(p->left);
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
        status = remove_all(&p);
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
    pruning p = {.store = store, .forget = true, .pruned = pruned, .err = err, .n_gone = n};
    ot_text path = {0};
    *pruned = (ot_pruned){0};
    int status = say_forgotten(store, digest, n, &path, err);
    if (status < 0) {
        ot_text_release(&path);
        return status;
    }
    p.gone = ot_alloc((size_t)(n + 1) * sizeof *p.gone);
    for (int i = 0; i < n; i++)
        p.gone[i] = (going){.digest = digest[i]};
    qsort(p.gone, (size_t)n, sizeof *p.gone, by_digest);
    status = remove_all(&p);
    /* Not before: who is killed here leaves it to the next one that writes. */
    if (status >= 0)
        status = ot_store_log_done(store, path.s, err);
    free(p.gone);
    ot_text_release(&path);
    return status;
}
