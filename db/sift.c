/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs without the records that go. One is written anew beside the old one and takes its place in
 * one step; one that somebody appends to is left alone, and told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/head.h"
#include "db/line.h"
#include "db/prune.h"

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ot_digest));
}

void ot_prune_sort(ot_pruning *p)
{
    if (p->n_gone)
        qsort(p->gone, (size_t)p->n_gone, sizeof *p->gone, by_digest);
}

/* NULL: it stays. */
static ot_going *find(const ot_pruning *p, const ot_digest *digest)
{
    return p->n_gone ? bsearch(digest, p->gone, (size_t)p->n_gone, sizeof *p->gone, by_digest)
                     : NULL;
}

/* ---- one log ---------------------------------------------------------------------------- */
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
static void sift_line(const ot_pruning *p, sifting *s, const ot_text *text, bool ended,
                      const char *name)
{
    ot_arena arena = {0};
    json_t *root = NULL;
    ot_log_line *line = ot_alloc(sizeof *line);
    ot_going *gone = NULL;
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

static int sift(const ot_pruning *p, const char *path, sifting *s)
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

static int cannot_write(const ot_pruning *p, const char *path, int why)
{
    return optune_fail(p->err, OPTUNE_EIO, "cannot write log '%s' anew: %s", path,
                       strerror(why));
}

/* It may have lines that nobody has stored, of a writer who was killed: these are not in the store
 * because they are in what takes the log's place, which may be as large as what was stored. */
static int unmark(const ot_pruning *p, const char *name, const struct stat *info, bool *stored)
{
    bool old;
    *stored = ot_store_log_mark(p->store, name, &old) == info->st_size && !old;
    const ot_stored_log again = {name, -1};
    return *stored ? OPTUNE_OK : ot_store_logs_done(p->store, &again, 1, p->err);
}

/* Of a log that is claimed; what stays of it takes its place in one step, and is whose it was: one
 * that its owner could not read any more would be missing where he makes the store anew. */
static int write_anew(ot_pruning *p, const char *path, const char *name, int claim,
                      const struct stat *info)
{
    ot_text fresh = {0};
    sifting s = {.does = WRITES};
    bool stored = false;
    ot_text_printf(&fresh, "%s" OT_LOG_PRUNED, path);
    unlink(fresh.s); /* of who was killed: nobody else has the claim */
    s.fd = open(fresh.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                info->st_mode & 0777);
    int status = s.fd < 0 ? cannot_write(p, path, errno) : sift(p, path, &s);
    if (status >= 0 && !s.why)
        s.why = ot_stay_whose(s.fd, claim);
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
static int note(const ot_pruning *p, const char *path)
{
    sifting s = {.does = NOTES};
    const int status = p->forget ? OPTUNE_OK : sift(p, path, &s);
    return status == OPTUNE_ENOENT ? OPTUNE_OK : status;
}

/* Of a log that could not be claimed. *told: it is there. */
static int leave_alone(const ot_pruning *p, const char *path, int why, bool *told)
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
    ot_pruning *p = arg;
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

static bool was_left(const ot_pruning *p, const char *name)
{
    for (int i = 0; i < p->n_left; i++)
        if (!strcmp(p->left[i], name))
            return true;
    return false;
}

static int rewrite_claimed(ot_pruning *p, const char *path, const char *name, int claim)
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
                                     : write_anew(p, path, name, claim, &info);
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
    ot_pruning *p = arg;
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

int ot_prune_logs(ot_pruning *p)
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
