/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements that stay in their file. While a model's file is read, the bytes of its large tensors
 * are cut out of the message: each leaves a ticket, which nobody can forge who does not know this
 * reading's random number, and is read, with read(2), whenever somebody holds the constant. What
 * it was is known by a digest, so a file that is changed or cut off later is refused and never
 * believed. The digest is of the first time that the elements are read: until then the file's time
 * of change tells, unless that is so lately that the next change could have the same; then they are
 * read for it at once. The file stays open: one that is removed or replaced is still the one that
 * was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "onnx/onnx.h"

enum { CHUNK = 1 << 20 };

/* ---- files ---------------------------------------------------------------------------------- */

struct ot_onnx_file {
    atomic_int users;
    int fd;
    char *path;
    struct stat was; /* when it was opened */
    bool settled;    /* it had not been changed for a while */
};

/* Clocks of file systems tick in up to two seconds. */
static const double SETTLED_S = 2.5;

static double seconds_of(const struct timespec *t)
{
    return (double)t->tv_sec + (double)t->tv_nsec * 1e-9;
}

ot_onnx_file *ot_onnx_file_new(int fd, const char *path)
{
    ot_onnx_file *file = ot_alloc(sizeof *file);
    atomic_init(&file->users, 1);
    file->fd = fd;
    file->path = ot_strdup(path);
    struct timespec now = {0};
    file->settled = clock_gettime(CLOCK_REALTIME, &now) == 0 && fstat(fd, &file->was) == 0 &&
                    seconds_of(&now) - seconds_of(&file->was.st_mtim) > SETTLED_S;
    return file;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Of its names only their number may: a file that is removed is still what it was. */
static bool has_changed(const ot_onnx_file *file)
{
    struct stat now;
    return fstat(file->fd, &now) < 0 || now.st_size != file->was.st_size ||
           !same_time(&now.st_mtim, &file->was.st_mtim) ||
           (now.st_nlink == file->was.st_nlink && !same_time(&now.st_ctim, &file->was.st_ctim));
}

void ot_onnx_file_close(ot_onnx_file *file)
{
    if (!file || atomic_fetch_sub(&file->users, 1) > 1)
        return;
    close(file->fd);
    free(file->path);
    free(file);
}

int ot_onnx_file_read(const ot_onnx_file *file, int64_t offset, int64_t bytes, void *to,
                      optune_err *err)
{
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done;
        const ssize_t n = pread(file->fd, (char *)to + done,
                                (size_t)(left < CHUNK ? left : CHUNK), offset + done);
        if (n > 0)
            done += n;
        else if (n == 0 || errno != EINTR)
            return optune_fail(err, OPTUNE_EIO, "cannot read '%.200s': %s", file->path,
                               n ? strerror(errno) : "it became shorter");
    }
    return OPTUNE_OK;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* Of as many bytes as there are, chunk by chunk: the same for the same bytes. */
static uint64_t join(uint64_t before, const void *chunk, size_t n)
{
    const uint64_t both[2] = {before, ot_hash64(chunk, n)};
    return ot_hash64(both, sizeof both);
}

static uint64_t digest_of(const char *data, size_t bytes)
{
    uint64_t digest = 0;
    for (size_t at = 0; at < bytes; at += CHUNK)
        digest = join(digest, data + at, bytes - at < CHUNK ? bytes - at : CHUNK);
    return digest;
}

int ot_onnx_piece_digest(ot_onnx_piece *piece, optune_err *err)
{
    piece->digest = 0;
    piece->known = !piece->file->settled;
    if (!piece->known)
        return OPTUNE_OK;
    char *chunk = ot_alloc(CHUNK);
    int status = OPTUNE_OK;
    for (int64_t at = 0; at < piece->bytes && status >= 0; at += CHUNK) {
        const int64_t n = piece->bytes - at < CHUNK ? piece->bytes - at : CHUNK;
        status = ot_onnx_file_read(piece->file, piece->offset + at, n, chunk, err);
        if (status >= 0)
            piece->digest = join(piece->digest, chunk, (size_t)n);
    }
    free(chunk);
    return status;
}

static int read_piece(void *from, void *to, size_t bytes, optune_err *err)
{
    ot_onnx_piece *piece = from; /* one holder at a time */
    uint8_t *byte = to;
    const int status = ot_onnx_file_read(piece->file, piece->offset, (int64_t)bytes, to, err);
    if (status < 0)
        return status;
    const uint64_t digest = digest_of(to, bytes);
    if (piece->known ? digest != piece->digest : has_changed(piece->file))
        return optune_fail(err, OPTUNE_EDAMAGED,
                           "'%.200s' was changed after the model was read, and these elements "
                           "are in it: read the model again",
                           piece->file->path);
    piece->digest = digest;
    piece->known = true;
    for (size_t i = 0; i < bytes && piece->bools; i++)
        byte[i] = byte[i] != 0;
    return OPTUNE_OK;
}

static void close_piece(void *from)
{
    ot_onnx_piece *piece = from;
    ot_onnx_file_close(piece->file);
    free(piece);
}

ot_backing *ot_onnx_piece_backing(const ot_onnx_piece *piece, optune_err *err)
{
    ot_onnx_piece *own = ot_alloc(sizeof *own);
    *own = *piece;
    atomic_fetch_add(&own->file->users, 1);
    ot_backing *backing =
        ot_backing_new((size_t)piece->bytes, read_piece, close_piece, own, err);
    if (!backing)
        close_piece(own);
    return backing;
}

/* ---- tickets -------------------------------------------------------------------------------- */

typedef struct ticket {
    uint8_t secret[OT_ONNX_SECRET];
    uint32_t number;
} ticket;

const ot_onnx_piece *ot_onnx_piece_of(const ot_onnx_pieces *pieces,
                                      const ot_onnx_tensor *tensor)
{
    ticket t;
    if (!tensor->has_raw_data || tensor->raw_data.len != sizeof t)
        return NULL;
    memcpy(&t, tensor->raw_data.data, sizeof t);
    return memcmp(t.secret, pieces->secret, sizeof t.secret) == 0 &&
                   t.number < (uint32_t)pieces->n
               ? &pieces->piece[t.number]
               : NULL;
}

int ot_onnx_piece_add(ot_onnx_pieces *pieces, const ot_onnx_piece *piece, ot_text *message)
{
    ticket t = {.number = (uint32_t)pieces->n};
    memcpy(t.secret, pieces->secret, sizeof t.secret);
    pieces->piece = ot_room(pieces->piece, pieces->n, &pieces->capacity, sizeof *pieces->piece);
    pieces->piece[pieces->n++] = *piece;
    ot_text_add_n(message, (const char *)&t, sizeof t);
    return OPTUNE_OK;
}

void ot_onnx_pieces_release(ot_onnx_pieces *pieces)
{
    ot_onnx_file_close(pieces->file);
    free(pieces->piece);
    *pieces = (ot_onnx_pieces){0};
}
