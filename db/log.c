/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log files: appended to, one line with one write(2), so that two writers never mix and a crash
 * leaves at most half a line at the end; and read from start to end, whatever is in them. What
 * a line says is known in line.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/remedy.h"
#include "db/head.h"
#include "db/kv.h"
#include "db/line.h"

struct ot_log {
    int fd;
    bool half; /* the last write stopped inside a line */
    char *path;
    bool is_short;
    ot_headings *headings;
    ot_said said;
    off_t end; /* of what was appended last, where it is a file, and how that ended */
    char tail[16];
};

/* ---- appending --------------------------------------------------------------------------- */

static void remember_end(ot_log *log, const ot_text *written)
{
    const size_t n = sizeof log->tail;
    log->end = written->n >= n ? lseek(log->fd, 0, SEEK_CUR) : -1;
    if (log->end >= 0)
        memcpy(log->tail, written->s + written->n - n, n);
}

/* Whether somebody cut the log off, or emptied it, since: others may have appended then. */
static bool was_cut(const ot_log *log)
{
    const off_t n = sizeof log->tail;
    char tail[sizeof log->tail];
    struct stat info;
    return fstat(log->fd, &info) == 0 && S_ISREG(info.st_mode) && log->end >= n &&
           info.st_size != log->end &&
           (pread(log->fd, tail, sizeof tail, log->end - n) != n ||
            memcmp(tail, log->tail, sizeof tail) != 0);
}

static int append(ot_log *log, ot_text *line, optune_err *err)
{
    ot_text closed = {0};
    if (log->half) {
        ot_text_add(&closed, "\n");
        ot_text_add_n(&closed, line->s, line->n);
    }
    const ot_text *whole = log->half ? &closed : line;
    ssize_t n;
    do
        n = write(log->fd, whole->s, whole->n);
    while (n < 0 && errno == EINTR);
    int why = n < 0 ? errno : ENOSPC; /* a short write to a file means that it is full */
    bool good = n >= 0 && (size_t)n == whole->n;
    if (n > 0)
        log->half = !good;
    if (good)
        remember_end(log, whole);
    ot_text_release(&closed);
    if (good)
        return OPTUNE_OK;
    ot_said_forget(&log->said);
    return optune_fail(err, OPTUNE_EIO, "cannot append to log '%s': %s", log->path,
                       strerror(why));
}

/* So that a new log's name, too, survives a power cut, and those of the folders that were made for
 * it: DIR/logs, and DIR. */
static void sync_folders(const char *path)
{
    enum { FOLDERS = 3 };
    char *folder = ot_strdup(path);
    for (int i = 0; i < FOLDERS; i++) {
        char *slash = strrchr(folder, '/');
        if (!slash) {
            ot_sync_path(".");
            break;
        }
        *slash = 0;
        ot_sync_path(*folder ? folder : "/");
    }
    free(folder);
}

double ot_log_patience_s = 60;

/* The lock says that its writer lives; several may append to one log. Who has it alone stores what
 * is in it or takes lines out: he is waited for, and what he put in its place is opened. A file
 * system without locks has nobody who takes lines out. One of a database is no link, which nobody
 * would read. */
static int open_locked(const char *path, ot_log_lines lines, struct stat *info, int *fd,
                       optune_err *err)
{
    enum { PAUSE_US = 20000 };
    const int flags =
        O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | (lines == OT_LOG_SHORT ? O_NOFOLLOW : 0);
    const double last = ot_now() + ot_log_patience_s;
    for (;;) {
        struct stat named;
        *fd = open(path, flags, 0666);
        if (*fd < 0)
            break;
        const bool locked = flock(*fd, LOCK_SH | LOCK_NB) == 0;
        const bool busy = !locked && (errno == EWOULDBLOCK || errno == EINTR);
        if (fstat(*fd, info) < 0)
            break;
        const bool there = !S_ISREG(info->st_mode) ||
                           (stat(path, &named) == 0 && named.st_dev == info->st_dev &&
                            named.st_ino == info->st_ino);
        if (!busy && there)
            return OPTUNE_OK;
        close(*fd);
        *fd = -1;
        if (ot_now() > last)
            return optune_fail(err, OPTUNE_ETIMEOUT,
                               "log '%s' is being read or pruned by another process", path);
        usleep(PAUSE_US);
    }
    const int why = errno;
    if (*fd >= 0)
        close(*fd);
    return optune_fail(err, OPTUNE_EIO, "cannot open log '%s': %s%s", path, strerror(why),
                       ot_errno_remedy(why));
}

int ot_log_open(const char *path, ot_log_lines lines, ot_log **log, optune_err *err)
{
    *log = NULL;
    int fd;
    struct stat info;
    OT_RETURN_UNLESS_OK(open_locked(path, lines, &info, &fd, err));
    ot_log *opened = ot_alloc(sizeof *opened);
    *opened = (ot_log){.fd = fd, .path = ot_strdup(path), .is_short = lines == OT_LOG_SHORT};
    opened->headings = opened->is_short ? ot_headings_new() : NULL;
    if (info.st_size == 0) {
        ot_made(fd, path);
        sync_folders(path);
    }
    char last = '\n';
    if (S_ISREG(info.st_mode) && info.st_size > 0 && pread(fd, &last, 1, info.st_size - 1) == 1)
        opened->half = last != '\n';
    int status = OPTUNE_OK;
    if (opened->half) {
        ot_text nothing = {0};
        status = append(opened, &nothing, err);
        opened->half = false;
    }
    if (status < 0) {
        ot_log_close(opened);
        return status;
    }
    *log = opened;
    return OPTUNE_OK;
}

int ot_log_append_lines(ot_log *log, ot_text *lines, optune_err *err)
{
    return append(log, lines, err);
}

/* What was said went with the rest of it. */
ot_said *ot_log_said(ot_log *log)
{
    if (was_cut(log))
        ot_said_forget(&log->said);
    return &log->said;
}

int ot_log_append(ot_log *log, const optune_record *record, optune_err *err)
{
    ot_text line = {0};
    char why[OPTUNE_WHY_SIZE];
    if (!ot_record_sound(record, why))
        return optune_fail(err, OPTUNE_EUSAGE, "a record cannot be written to log '%s': %s",
                           log->path, why);
    if (log->is_short) {
        const ot_heading heading = ot_heading_of(log->headings, record);
        ot_said_say(ot_log_said(log), &heading, &line);
        ot_line_add_short(record, heading.name, &line);
    } else {
        ot_record_line(record, &line);
    }
    int status = append(log, &line, err);
    ot_text_release(&line);
    return status;
}

int ot_log_forget(ot_log *log, const ot_digest *digest, optune_err *err)
{
    char hex[33];
    ot_text line = {0};
    ot_digest_hex(*digest, hex);
    ot_text_printf(&line, OT_FORGET_PREFIX "%s\n", hex);
    const int status = append(log, &line, err);
    ot_text_release(&line);
    return status;
}

const char *ot_log_name(const ot_log *log)
{
    return log->path;
}

void ot_log_device(ot_log *log, const optune_device *device)
{
    /* Records stay whole without it, so its failure is not worth a word. */
    ot_text line = {0};
    ot_device_line(device, &line);
    append(log, &line, NULL);
    ot_text_release(&line);
}

int ot_log_sync(ot_log *log, optune_err *err)
{
    if (fdatasync(log->fd) < 0 && errno != EINVAL) /* a pipe cannot be synced and need not be */
        return optune_fail(err, OPTUNE_EIO, "cannot sync log '%s': %s", log->path,
                           strerror(errno));
    return OPTUNE_OK;
}

void ot_log_close(ot_log *log)
{
    if (!log)
        return;
    close(log->fd);
    ot_headings_free(log->headings);
    ot_said_release(&log->said);
    free(log->path);
    free(log);
}

/* ---- reading ----------------------------------------------------------------------------- */

static int pass_line(const ot_text *text, bool ended, const char *source, ot_heads *heads,
                     ot_arena *arena, ot_log_line *line, ot_log_fn fn, void *arg)
{
    json_t *root = NULL;
    const int64_t number = line->number;
    int answer = 0;
    const size_t mark =
        number == 1 ? (size_t)(ot_text_behind_mark(ot_text_str(text)) - ot_text_str(text)) : 0;
    const bool told =
        ot_line_parse(text->s + mark, text->n - mark, source, heads, arena, line, &root);
    line->number = number;
    if (told && line->problem && !ended)
        line->problem = "the log ends in the middle of it";
    if (told)
        answer = fn(arg, line);
    json_decref(root);
    ot_arena_reset(arena);
    return answer;
}

int ot_log_read_from(const ot_log_source *source, ot_log_fn fn, void *arg, optune_err *err)
{
    const char *slash = strrchr(source->path, '/');
    const char *name = slash ? slash + 1 : source->path;
    ot_input *in;
    int answer = ot_input_open(source, &in, err);
    if (answer < 0)
        return answer;
    ot_log_line *line = ot_alloc(sizeof(*line));
    ot_heads *heads = ot_heads_new();
    ot_arena arena = {0};
    ot_text text = {0};
    bool ended;
    int status = OPTUNE_OK;
    for (int64_t number = 1; answer == 0; number++) {
        status = ot_input_line(in, &text, &ended, err);
        if (status)
            break;
        line->number = number;
        answer = pass_line(&text, ended, name, heads, &arena, line, fn, arg);
        if (line->ours || line->device || line->target_text)
            ot_input_good(in);
    }
    ot_text_release(&text);
    ot_arena_release(&arena);
    ot_heads_free(heads);
    free(line);
    ot_input_close(in);
    return status < 0 ? status : answer;
}

int ot_log_read(const char *path, ot_log_fn fn, void *arg, optune_err *err)
{
    return ot_log_read_from(&(ot_log_source){.path = path}, fn, arg, err);
}
