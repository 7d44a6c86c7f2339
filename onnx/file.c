/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model's file and the files that hold its elements. Nothing in them is believed: how deep
 * messages are nested is counted before anything walks down them, what the message takes is held
 * against the file's size, and external files lie below the model's folder, over no link.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/onnx.h"

enum {
    MAX_DEPTH = 64,      /* of messages in messages: reading one inside another takes stack */
    STRUCTS = 64,        /* bytes of structs for each byte of a file: empty nodes are small */
    FREE_BYTES = 1 << 16 /* for the smallest files */
};
/* What protobuf itself takes: longer messages have no lengths. */
static const size_t file_limit = ((size_t)1 << 31) - 1;

/* ---- nesting ------------------------------------------------------------------------------ */

/* Reads a variable-length number; 0: there is none. */
static size_t varint(const uint8_t *p, size_t n, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < n && i < 10; i++) {
        *value |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (!(p[i] & 0x80))
            return i + 1;
    }
    return 0;
}

/* Bytes behind a field's key; more than n: the message is cut short or of a kind nobody writes. */
static size_t skip(int kind, const uint8_t *p, size_t n, size_t *head)
{
    uint64_t value;
    *head = 0;
    switch (kind) {
    case 0:
        *head = varint(p, n, &value);
        return *head ? *head : SIZE_MAX;
    case 1:
        return 8;
    case 5:
        return 4;
    case 2:
        *head = varint(p, n, &value);
        return *head && value <= n - *head ? *head + (size_t)value : SIZE_MAX;
    default:
        return SIZE_MAX;
    }
}

/* OK, EDAMAGED or ELIMIT. */
static int check_nesting(const ProtobufCMessageDescriptor *type, const uint8_t *p, size_t n,
                         int depth)
{
    if (depth > MAX_DEPTH)
        return OPTUNE_ELIMIT;
    while (n > 0) {
        uint64_t key;
        const size_t key_bytes = varint(p, n, &key);
        if (!key_bytes)
            return OPTUNE_EDAMAGED;
        p += key_bytes;
        n -= key_bytes;
        size_t head;
        const size_t bytes = skip((int)(key & 7), p, n, &head);
        if (bytes > n)
            return OPTUNE_EDAMAGED;
        const ProtobufCFieldDescriptor *field =
            key >> 3 <= UINT32_MAX
                ? protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3))
                : NULL;
        if (field && field->type == PROTOBUF_C_TYPE_MESSAGE && (key & 7) == 2) {
            const int status =
                check_nesting(field->descriptor, p + head, bytes - head, depth + 1);
            if (status < 0)
                return status;
        }
        p += bytes;
        n -= bytes;
    }
    return OPTUNE_OK;
}

/* ---- the message -------------------------------------------------------------------------- */

static void *budget_alloc(void *left, size_t size)
{
    size_t *bytes = left;
    if (size > *bytes)
        return NULL;
    *bytes -= size;
    return malloc(size ? size : 1);
}

static void budget_free(void *left, void *data)
{
    (void)left;
    free(data);
}

void ot_onnx_close(ot_onnx_model *model)
{
    if (model)
        onnx__model_proto__free_unpacked(model, NULL);
}

static int unpack(const char *path, const ot_text *file, ot_onnx_model **model, optune_err *err)
{
    const uint8_t *bytes = (const uint8_t *)ot_text_str(file);
    const int nested = check_nesting(&onnx__model_proto__descriptor, bytes, file->n, 0);
    if (nested == OPTUNE_ELIMIT)
        return optune_fail(err, nested, "'%s' nests messages more than %d deep", path,
                           (int)MAX_DEPTH);
    size_t left = STRUCTS * file->n + FREE_BYTES;
    ProtobufCAllocator budget = {budget_alloc, budget_free, &left};
    *model = nested < 0 ? NULL : onnx__model_proto__unpack(&budget, file->n, bytes);
    if (*model && (*model)->graph)
        return OPTUNE_OK;
    ot_onnx_close(*model);
    *model = NULL;
    return optune_fail(err, OPTUNE_EDAMAGED,
                       "'%s' is no ONNX model, or one that was cut short: fetch or export it "
                       "again",
                       path);
}

/* What an arena still gives for one message. */
typedef struct arena_budget {
    ot_arena *arena;
    size_t left;
} arena_budget;

static void *arena_alloc(void *data, size_t size)
{
    arena_budget *budget = data;
    if (size > budget->left)
        return NULL;
    budget->left -= size;
    return ot_arena_alloc(budget->arena, size ? size : 1);
}

static void arena_free(void *budget, void *data)
{
    (void)budget;
    (void)data;
}

const ot_onnx_attr *ot_onnx_attr_read(ot_onnx *m, const uint8_t *bytes, size_t n)
{
    if (check_nesting(&onnx__attribute_proto__descriptor, bytes, n, 1) < 0)
        return NULL;
    arena_budget left = {&m->arena, STRUCTS * n + FREE_BYTES};
    ProtobufCAllocator budget = {arena_alloc, arena_free, &left};
    return onnx__attribute_proto__unpack(&budget, n, bytes);
}

/* The message without its large tensors, or all of it where that cannot be had. */
static int read_message(const char *path, ot_onnx_pieces *pieces, ot_text *message,
                        optune_err *err)
{
    struct stat about; /* first by name: a pipe is opened once */
    const bool plain = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    const int fd = plain ? ot_open_file(path, O_RDONLY, NULL) : -1;
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        (size_t)about.st_size <= file_limit) {
        pieces->file = ot_onnx_file_new(fd, path);
        if (ot_onnx_skim(pieces, about.st_size, message))
            return OPTUNE_OK;
    } else if (fd >= 0) {
        close(fd);
    }
    return ot_read_input(path, message, file_limit, err);
}

int ot_onnx_open(const char *path, ot_onnx_model **model, ot_onnx_pieces *pieces,
                 optune_err *err)
{
    ot_text message = {0};
    *model = NULL;
    int status = read_message(path, pieces, &message, err);
    if (status >= 0)
        status = unpack(path, &message, model, err);
    ot_text_release(&message);
    return status;
}

/* ---- elements in files of their own -------------------------------------------------------- */

static int outside(const char *location, optune_err *err)
{
    return optune_fail(err, OPTUNE_EUSAGE,
                       "its elements are in '%.200s': only files in the model's own folder or "
                       "below it are read, over no link",
                       location);
}

/* Opens the next word of a path that has no word for another place. */
static int step(int folder, const char *word, size_t n, bool last)
{
    char name[256];
    if (n == 0 || n >= sizeof name || (n == 1 && *word == '.') ||
        (n == 2 && !memcmp(word, "..", 2))) {
        errno = EPERM;
        return -1;
    }
    memcpy(name, word, n);
    name[n] = '\0';
    return openat(folder, name,
                  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
}

static int open_below(const char *model, const char *location, optune_err *err)
{
    const char *slash = strrchr(model, '/');
    char *folder = ot_strdup(slash ? model : ".");
    if (slash)
        folder[slash == model ? 1 : slash - model] = '\0';
    int at = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    free(folder);
    const char *word = location;
    while (strncmp(word, "./", 2) == 0) /* the folder itself, as some writers begin */
        word += 2;
    while (at >= 0 && word) {
        const size_t n = strcspn(word, "/");
        const int next = step(at, word, n, !word[n]);
        const int why = errno;
        close(at);
        errno = why;
        at = next;
        word = word[n] ? word + n + 1 : NULL;
    }
    if (at >= 0)
        return at;
    return errno == EPERM || errno == ELOOP || errno == ENOTDIR
               ? outside(location, err)
               : optune_fail(err, OPTUNE_EIO, "its elements are in '%.200s': %s", location,
                             strerror(errno));
}

int ot_onnx_external(const char *model, const char *location, int64_t offset, int64_t bytes,
                     ot_onnx_file **to, optune_err *err)
{
    const int file = open_below(model, location, err);
    if (file < 0)
        return file;
    struct stat about;
    int status = OPTUNE_OK;
    if (fstat(file, &about) < 0 || !S_ISREG(about.st_mode))
        status = outside(location, err);
    else if (offset < 0 || offset > about.st_size || bytes > about.st_size - offset)
        status = optune_fail(err, OPTUNE_EDAMAGED,
                             "its elements are %lld bytes from %lld on of '%.200s', which has "
                             "%lld",
                             (long long)bytes, (long long)offset, location,
                             (long long)about.st_size);
    if (status < 0)
        close(file);
    else
        *to = ot_onnx_file_new(file, location);
    return status;
}
