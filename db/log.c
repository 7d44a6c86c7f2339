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
#include <sys/stat.h>
#include <unistd.h>

#include "db/line.h"

enum { LONGEST_LINE = 16 << 20 };

struct ot_log {
    int fd;
    bool half; /* the last write stopped inside a line */
    char *path;
};

/* ---- appending --------------------------------------------------------------------------- */

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
    ot_text_release(&closed);
    if (good)
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EIO, "cannot append to log '%s': %s", log->path,
                       strerror(why));
}

int ot_log_open(const char *path, ot_log **log, optune_err *err)
{
    *log = NULL;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return optune_fail(err, OPTUNE_EIO, "cannot open log '%s': %s", path, strerror(why));
    }
    ot_log *opened = ot_alloc(sizeof(*opened));
    *opened = (ot_log){.fd = fd, .path = ot_strdup(path)};
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

int ot_log_append(ot_log *log, const optune_record *record, optune_err *err)
{
    ot_text line = {0};
    ot_record_line(record, &line);
    int status = append(log, &line, err);
    ot_text_release(&line);
    return status;
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
    free(log->path);
    free(log);
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct input {
    int fd;
    char data[65536];
    size_t at, n;
    bool failed;
} input;

/* The next line without its newline, and what is wrong with its form. False at the end. */
static bool next_line(input *in, ot_text *line, const char **problem, bool *ended)
{
    bool any = false;
    *problem = NULL;
    *ended = false;
    ot_text_clear(line);
    ot_text_add(line, "");
    for (;;) {
        if (in->at == in->n) {
            ssize_t n;
            do
                n = read(in->fd, in->data, sizeof(in->data));
            while (n < 0 && errno == EINTR);
            in->failed = n < 0;
            in->at = 0;
            in->n = n > 0 ? (size_t)n : 0;
            if (n <= 0)
                return any;
        }
        any = true;
        const char *start = in->data + in->at;
        const char *newline = memchr(start, '\n', in->n - in->at);
        size_t n = newline ? (size_t)(newline - start) : in->n - in->at;
        if (line->n + n > LONGEST_LINE)
            *problem = "it is too long";
        else
            ot_text_add_n(line, start, n);
        in->at += n + (newline != NULL);
        if (newline) {
            *ended = true;
            return true;
        }
    }
}

static int pass_line(const ot_text *text, const char *problem, bool ended, const char *source,
                     ot_log_line *line, ot_log_fn fn, void *arg)
{
    ot_arena arena = {0};
    json_t *root = NULL;
    int number = line->number, answer = 0;
    /* Some editors put a byte order mark in front. */
    size_t mark =
        number == 1 && text->n >= 3 && memcmp(text->s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    bool told = true;
    if (problem)
        *line = (ot_log_line){.problem = problem, .record.source = source};
    else
        told = ot_line_parse(text->s + mark, text->n - mark, source, &arena, line, &root);
    line->number = number;
    if (told && line->problem && !ended)
        line->problem = "the log ends in the middle of it";
    if (told)
        answer = fn(arg, line);
    json_decref(root);
    ot_arena_release(&arena);
    return answer;
}

int ot_log_read(const char *path, ot_log_fn fn, void *arg, optune_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return optune_fail(err, errno == ENOENT ? OPTUNE_ENOENT : OPTUNE_EIO,
                           "cannot open log '%s': %s", path, strerror(errno));
    const char *slash = strrchr(path, '/');
    const char *source = slash ? slash + 1 : path;
    input *in = ot_alloc(sizeof(*in));
    ot_log_line *line = ot_alloc(sizeof(*line));
    in->fd = fd;
    ot_text text = {0};
    const char *problem;
    bool ended;
    int answer = 0;
    for (int number = 1; answer == 0 && next_line(in, &text, &problem, &ended); number++) {
        line->number = number;
        answer = pass_line(&text, problem, ended, source, line, fn, arg);
    }
    if (answer == 0 && in->failed)
        answer =
            optune_fail(err, OPTUNE_EIO, "cannot read log '%s': %s", path, strerror(errno));
    ot_text_release(&text);
    free(line);
    free(in);
    close(fd);
    return answer;
}
