/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed files: the only file that includes zlib. What is read is bounded by its caller, not by
 * what a file says of itself; plain files are read as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "db/pack.h"

enum { PIECE = 1 << 18 };

static int give(int from, int to, const char *path, optune_err *err)
{
    char *piece = ot_alloc(PIECE);
    gzFile file = gzdopen(to, "wb6");
    ssize_t n;
    int status = file ? OPTUNE_OK : optune_fail(err, OPTUNE_ENOMEM, "out of memory for zlib");
    if (!file)
        close(to);
    while (status >= 0 && (n = read(from, piece, PIECE)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || gzwrite(file, piece, (unsigned)n) != (int)n)
            status =
                optune_fail(err, OPTUNE_EIO, "cannot compress '%s': %s", path, strerror(errno));
    }
    free(piece);
    if (file && gzclose(file) != Z_OK && status >= 0)
        status =
            optune_fail(err, OPTUNE_EIO, "cannot compress '%s': %s", path, strerror(errno));
    return status;
}

int ot_gzip(const char *path, int fd, optune_err *err)
{
    const int from = ot_open_file(path, O_RDONLY, err), to = dup(fd);
    int status = OPTUNE_OK;
    if (from < 0)
        status = from;
    else if (to < 0)
        status = optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path, strerror(errno));
    else
        status = give(from, to, path, err); /* closes `to` */
    if (status < 0 && to >= 0 && from < 0)
        close(to);
    if (from >= 0)
        close(from);
    return status;
}

static int refused(gzFile file, const char *path, optune_err *err)
{
    int fault = Z_OK;
    const char *why = gzerror(file, &fault);
    if (strncmp(why, "<fd:", 4) == 0) /* zlib's name for it, in front of what it says */
        why += strcspn(why, ">") + strspn(why + strcspn(why, ">"), ">: ");
    if (fault == Z_BUF_ERROR)
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "'%s' is truncated: its compressed text has no end (%s)", path, why);
    if (fault == Z_DATA_ERROR)
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "'%s' is damaged: its compressed text is none (%s)", path, why);
    return fault == Z_OK ? OPTUNE_OK
                         : optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path,
                                       fault == Z_ERRNO ? strerror(errno) : why);
}

int ot_gunzip(const char *path, int64_t from, ot_piece_fn take, void *arg, optune_err *err)
{
    const int fd = ot_open_file(path, O_RDONLY, err);
    if (fd < 0)
        return fd;
    gzFile file = from == 0 || lseek(fd, from, SEEK_SET) >= 0 ? gzdopen(fd, "rb") : NULL;
    if (!file) {
        close(fd);
        return optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path, strerror(errno));
    }
    char *piece = ot_alloc(PIECE);
    int n, status = OPTUNE_OK;
    while (status >= 0 && (n = gzread(file, piece, PIECE)) > 0)
        status = take(arg, piece, (size_t)n);
    if (status >= 0)
        status = refused(file, path, err);
    gzclose(file);
    free(piece);
    return status;
}
