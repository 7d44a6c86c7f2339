/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of what somebody calls a log: a file, a pipe, or something that is neither. Memory is
 * bounded whatever comes, and so is time: what does not end (a device, a line without an end, a
 * silent or babbling pipe) is told and left, and between any two reads the caller may stop it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/line.h"

enum {
    ENDLESS = 64 << 20, /* bytes: no line of anything is longer */
    BABBLE = 1000000,   /* lines of a pipe, in a row, that say nothing */
    POLL_MS = 100,
};

struct ot_input {
    const ot_log_source *source;
    int fd;
    bool pipe;
    int64_t number; /* of the line being read */
    int babble;
    char data[65536];
    size_t at, n;
};

/* ---- what it is -------------------------------------------------------------------------- */

static const struct magic {
    const char *bytes;
    int n;
    const char *what, *remedy;
} magics[] = {
    {"\x1f\x8b", 2, "compressed (gzip)", "zcat"},
    {"\x28\xb5\x2f\xfd", 4, "compressed (zstd)", "zstdcat"},
    {"\xfd"
     "7zXZ",
     5, "compressed (xz)", "xzcat"},
    {"BZh", 3, "compressed (bzip2)", "bzcat"},
    {"PK\x03\x04", 4, "a zip archive", "unzip -p"},
    {"\xff\xfe", 2, "UTF-16", "iconv -f utf-16 -t utf-8"},
    {"\xfe\xff", 2, "UTF-16", "iconv -f utf-16 -t utf-8"},
};

static int check_start(const ot_input *in, optune_err *err)
{
    for (int i = 0; i < OT_COUNT(magics); i++) {
        const struct magic *m = &magics[i];
        if (in->n >= (size_t)m->n && memcmp(in->data, m->bytes, (size_t)m->n) == 0)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "'%s' is %s, and a log is plain text: import <(%s '%s')",
                               in->source->path, m->what, m->remedy, in->source->path);
    }
    return OPTUNE_OK;
}

static int check_kind(ot_input *in, const struct stat *info, optune_err *err)
{
    const char *path = in->source->path;
    in->pipe = S_ISFIFO(info->st_mode) || S_ISSOCK(info->st_mode);
    if (S_ISREG(info->st_mode) || in->pipe)
        return OPTUNE_OK;
    if (S_ISDIR(info->st_mode))
        return optune_fail(err, OPTUNE_EIO,
                           "'%s' is a directory; name the logs in it: %s/*.log", path, path);
    return optune_fail(
        err, OPTUNE_EUSAGE,
        "'%s' is a device, and a log is a file or a pipe that somebody writes to", path);
}

/* A pipe that nobody writes to would keep open(2) waiting. What is given as standard input may be
 * what nobody can open by a name: a socket, somebody else's file, or there is no /dev. */
static int open_source(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), why = errno;
    if (fd >= 0 || strcmp(path, "/dev/stdin") != 0)
        return fd;
    const int given = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (given < 0)
        errno = why;
    return given;
}

int ot_input_open(const ot_log_source *source, ot_input **input, optune_err *err)
{
    struct stat info;
    *input = NULL;
    const int fd = open_source(source->path);
    if (fd < 0 || fstat(fd, &info) < 0) {
        const int why = errno;
        if (fd >= 0)
            close(fd);
        return optune_fail(err, why == ENOENT ? OPTUNE_ENOENT : OPTUNE_EIO,
                           "cannot open log '%s': %s", source->path, strerror(why));
    }
    ot_input *in = ot_alloc(sizeof *in);
    in->source = source;
    in->fd = fd;
    const int status = check_kind(in, &info, err);
    if (status < 0)
        ot_input_close(in);
    else
        *input = in;
    return status;
}

void ot_input_close(ot_input *in)
{
    if (!in)
        return;
    close(in->fd);
    free(in);
}

/* ---- reading ----------------------------------------------------------------------------- */

static int check_stop(const ot_input *in, optune_err *err)
{
    if (!in->source->stop || !atomic_load(in->source->stop))
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted at line %lld",
                       (long long)in->number);
}

/* Until there is something to read, or its end. */
static int wait_for(const ot_input *in, optune_err *err)
{
    const double patience = in->source->patience_s > 0 ? in->source->patience_s : 60;
    const double until = ot_now() + patience;
    for (;;) {
        struct pollfd one = {.fd = in->fd, .events = POLLIN};
        const int status = check_stop(in, err);
        if (status < 0)
            return status;
        if (poll(&one, 1, POLL_MS) > 0)
            return OPTUNE_OK;
        if (ot_now() > until)
            return optune_fail(err, OPTUNE_EIO, "nobody wrote to '%s' for %.0f s",
                               in->source->path, patience);
    }
}

/* 1: there is no more. */
static int fill(ot_input *in, optune_err *err)
{
    const bool first = in->number == 1 && in->n == 0;
    ssize_t n = -1;
    int status = check_stop(in, err);
    while (status >= 0 && n < 0) {
        status = in->pipe ? wait_for(in, err) : OPTUNE_OK;
        n = status < 0 ? -1 : read(in->fd, in->data, sizeof in->data);
        if (status >= 0 && n < 0 && errno == EAGAIN)
            in->pipe = true; /* it calls itself a file and has to be waited for */
        else if (status >= 0 && n < 0 && errno != EINTR)
            status = optune_fail(err, OPTUNE_EIO, "cannot read log '%s': %s", in->source->path,
                                 strerror(errno));
    }
    if (status < 0)
        return status;
    in->at = 0;
    in->n = (size_t)n;
    if (n == 0)
        return 1;
    return first ? check_start(in, err) : OPTUNE_OK;
}

int ot_input_line(ot_input *in, ot_text *line, bool *ended, optune_err *err)
{
    size_t length = 0;
    bool any = false;
    *ended = false;
    ot_text_clear(line);
    ot_text_add(line, "");
    in->number++;
    if (in->pipe && ++in->babble > BABBLE)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%s' is no log: %d lines up to line %lld hold no record",
                           in->source->path, BABBLE, (long long)in->number - 1);
    while (!*ended) {
        if (in->at == in->n) {
            const int status = fill(in, err);
            if (status < 0)
                return status;
            if (status == 1)
                return any ? OPTUNE_OK : 1;
        }
        any = true;
        const char *start = in->data + in->at;
        const char *newline = memchr(start, '\n', in->n - in->at);
        const size_t n = newline ? (size_t)(newline - start) : in->n - in->at;
        const size_t room = OT_LONGEST_LINE + 1 - line->n;
        ot_text_add_n(line, start, n < room ? n : room);
        in->at += n + (newline != NULL);
        length += n;
        *ended = newline != NULL;
        if (length > ENDLESS)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "'%s' is no log: line %lld does not end within %d MiB",
                               in->source->path, (long long)in->number, ENDLESS >> 20);
    }
    return in->number % 1024 ? OPTUNE_OK : check_stop(in, err);
}

void ot_input_good(ot_input *in)
{
    in->babble = 0;
}
