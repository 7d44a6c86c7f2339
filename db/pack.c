/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs, written and read. Whoever made one may be anybody: every length is bounded before it is
 * used, what it says of itself is text and numbers within limits, and nothing of it is believed
 * before its signature was looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/pack.h"

enum { MOST_HEADER = 256 << 10, MOST_OPS = 4096 };
static const char domain[] =
    "optune pack 1\n"; /* so that a signature is good for a pack only */

void ot_pack_release(ot_pack *pack)
{
    json_decref(pack->ops);
    pack->ops = NULL;
}

static void signed_text(const char *header, ot_text *to)
{
    ot_text_add(to, domain);
    ot_text_add(to, header);
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool write_all(int fd, const char *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t written = write(fd, data + done, n - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

static int cannot(const char *path, optune_err *err)
{
    return optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
}

/* The two lines in front of a body whose digest is known. */
static int head(const ot_pack *pack, const char *body, int64_t body_bytes,
                const ot_signer *signer, ot_text *to, optune_err *err)
{
    char signature[OT_HEX_SIGNATURE] = "";
    json_t *json = json_pack("{s:i, s:s, s:I, s:I, s:I, s:s, s:O, s:s, s:f, s:s}",
                             "optune_pack", 1, "body", body, "bytes", (json_int_t)body_bytes,
                             "raw", (json_int_t)pack->raw, "records", (json_int_t)pack->records,
                             "device", pack->device, "ops", pack->ops, "tool", pack->tool,
                             "time", pack->time, "key", signer ? signer->key : "");
    char *header = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!header)
        return optune_fail(err, OPTUNE_EUSAGE, "a pack's device or tool is no text");
    ot_text whole = {0};
    signed_text(header, &whole);
    const int status = signer ? ot_sign(signer, whole.s, whole.n, signature, err) : OPTUNE_OK;
    ot_text_printf(to, "%s\n%s\n", header, signature);
    ot_text_release(&whole);
    free(header);
    return status;
}

static int append_file(int fd, const char *path, const char *to, optune_err *err)
{
    char piece[65536];
    const int from = ot_open_file(path, O_RDONLY, NULL);
    ssize_t n = from < 0 ? -1 : 0;
    bool good = from >= 0;
    while (good && (n = read(from, piece, sizeof piece)) > 0)
        good = write_all(fd, piece, (size_t)n);
    const int status = good && n == 0 ? OPTUNE_OK : cannot(to, err);
    if (from >= 0)
        close(from);
    return status;
}

static int write_pack(const char *body, int fd, const char *path, const ot_signer *signer,
                      const ot_pack *pack, optune_err *err)
{
    char digest[OT_HEX_SHA256];
    int64_t bytes;
    ot_text front = {0};
    int status = ot_sha256_file(body, 0, digest, &bytes, err);
    if (status >= 0 && bytes > OT_PACK_MOST_BYTES)
        status = optune_fail(err, OPTUNE_ELIMIT, "a pack of %lld bytes is longer than %d MiB",
                             (long long)bytes, OT_PACK_MOST_BYTES >> 20);
    if (status >= 0)
        status = head(pack, digest, bytes, signer, &front, err);
    if (status >= 0 && !write_all(fd, front.s, front.n))
        status = cannot(path, err);
    if (status >= 0)
        status = append_file(fd, body, path, err);
    if (status >= 0 && fsync(fd) < 0)
        status = cannot(path, err);
    ot_text_release(&front);
    return status;
}

int ot_pack_write(const char *log, const char *path, const ot_signer *signer, ot_pack *pack,
                  optune_err *err)
{
    struct stat info;
    if (stat(log, &info) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", log, strerror(errno));
    pack->raw = info.st_size;
    if (pack->raw > OT_PACK_MOST_RAW)
        return optune_fail(err, OPTUNE_ELIMIT, "'%s' is too long for one pack", log);
    ot_text body = {0};
    ot_text_printf(&body, "%s.body", path);
    const int packed = ot_open_file(body.s, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, err);
    const int fd = ot_open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, err);
    int status = packed < 0 ? packed : fd < 0 ? fd : ot_gzip(log, packed, err);
    if (status >= 0)
        status = write_pack(body.s, fd, path, signer, pack, err);
    if (packed >= 0)
        close(packed);
    if (fd >= 0)
        close(fd);
    unlink(body.s);
    if (status < 0)
        unlink(path);
    ot_text_release(&body);
    json_t *ops = json_incref(pack->ops);
    if (status >= 0) {
        ot_pack_release(pack);
        status = ot_pack_read(path, pack, err);
    }
    json_decref(ops);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int wrong(const char *path, const char *what, optune_err *err)
{
    return optune_fail(err, OPTUNE_EDAMAGED, "the pack '%s' is refused: %s", path, what);
}

/* The first two lines, cut in place. */
static int read_head(const char *path, char **header, char **signature, int64_t *body,
                     optune_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        const int why = errno;
        if (fd >= 0)
            close(fd);
        return optune_fail(err, fd < 0 && why == ENOENT ? OPTUNE_ENOENT : OPTUNE_EIO,
                           "cannot open the pack '%s': %s", path,
                           fd < 0 ? strerror(why) : "it is no file");
    }
    char *text = ot_alloc(MOST_HEADER + 1);
    size_t n = 0;
    for (ssize_t got; n < MOST_HEADER && (got = read(fd, text + n, MOST_HEADER - n)) > 0;)
        n += (size_t)got;
    close(fd);
    char *end = memchr(text, '\n', n);
    char *second = end ? end + 1 : text;
    char *last = end ? memchr(second, '\n', n - (size_t)(second - text)) : NULL;
    *header = text;
    if (!last || memchr(text, 0, (size_t)(last - text)))
        return wrong(path, "it does not begin as a pack does", err);
    *end = *last = 0;
    *signature = second;
    *body = last + 1 - text;
    return OPTUNE_OK;
}

/* One line of people's text: no control characters, so that a terminal may show it. */
static bool take_text(const json_t *json, const char *name, char *to, size_t size)
{
    const json_t *value = json_object_get(json, name);
    const char *text = json_string_value(value);
    return text && ot_text_is_plain(text) && strlen(text) == json_string_length(value) &&
           ot_copy(to, size, text);
}

static bool take_count(const json_t *json, const char *name, int64_t most, int64_t *to)
{
    const json_t *value = json_object_get(json, name);
    *to = json_integer_value(value);
    return json_is_integer(value) && *to >= 0 && *to <= most;
}

static bool take_ops(const json_t *json, ot_pack *pack)
{
    json_t *ops = json_object_get(json, "ops"), *count;
    const char *op;
    int64_t sum = 0;
    if (!json_is_object(ops) || json_object_size(ops) > MOST_OPS)
        return false;
    json_object_foreach(ops, op, count)
    {
        if (!json_is_integer(count) || json_integer_value(count) < 1 ||
            json_integer_value(count) > pack->records || strlen(op) >= OPTUNE_NAME_SIZE)
            return false;
        if (!ot_text_is_plain(op) || strchr(op, ' '))
            return false;
        sum += json_integer_value(count);
    }
    pack->ops = json_incref(ops);
    return sum == pack->records;
}

static int take_header(const char *path, const json_t *json, ot_pack *pack, char *body,
                       int64_t *body_bytes, optune_err *err)
{
    const json_t *version = json_object_get(json, "optune_pack"),
                 *time = json_object_get(json, "time");
    if (!json_is_integer(version))
        return wrong(path, "its first line is not a pack's", err);
    if (json_integer_value(version) != 1)
        return optune_fail(err, OPTUNE_EVERSION,
                           "the pack '%s' is of version %lld, which a later optune reads", path,
                           (long long)json_integer_value(version));
    if (!take_text(json, "body", body, OT_HEX_SHA256) || !ot_is_hex(body, OT_HEX_SHA256 - 1) ||
        !take_text(json, "device", pack->device, sizeof pack->device) || !*pack->device ||
        !take_text(json, "tool", pack->tool, sizeof pack->tool) ||
        !take_text(json, "key", pack->key, sizeof pack->key) ||
        (*pack->key && !ot_is_hex(pack->key, OT_HEX_KEY - 1)) ||
        !take_count(json, "bytes", OT_PACK_MOST_BYTES, body_bytes) ||
        !take_count(json, "raw", OT_PACK_MOST_RAW, &pack->raw) ||
        !take_count(json, "records", OT_PACK_MOST_RAW / 64, &pack->records) ||
        !json_is_number(time) || !isfinite(json_number_value(time)) || !take_ops(json, pack))
        return wrong(path, "a field of its first line is missing, or not what it may be", err);
    pack->time = json_number_value(time);
    return OPTUNE_OK;
}

static int check_signature(const char *path, const char *header, const char *signature,
                           ot_pack *pack, optune_err *err)
{
    if (!*signature || !*pack->key) {
        pack->key[0] = 0;
        return *signature ? wrong(path, "it bears a signature, and names no key", err)
                          : OPTUNE_OK;
    }
    ot_text whole = {0};
    signed_text(header, &whole);
    const int right = ot_signed(pack->key, signature, whole.s, whole.n, err);
    ot_text_release(&whole);
    return right ? right : wrong(path, "its signature is not that of the key it names", err);
}

int ot_pack_read(const char *path, ot_pack *pack, optune_err *err)
{
    char *header = NULL, *signature = NULL, body[OT_HEX_SHA256], found[OT_HEX_SHA256];
    int64_t body_bytes = 0, bytes = 0;
    *pack = (ot_pack){.name = ""};
    int status = read_head(path, &header, &signature, &pack->body, err);
    json_t *json = status >= 0 ? json_loads(header, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (status >= 0)
        status = take_header(path, json, pack, body, &body_bytes, err);
    if (status >= 0)
        status = check_signature(path, header, signature, pack, err);
    if (status >= 0)
        status = ot_sha256_file(path, pack->body, found, &bytes, err);
    if (status >= 0 && (bytes != body_bytes || strcmp(found, body) != 0))
        status = wrong(path, "what it holds is not what was signed", err);
    if (status >= 0)
        status = ot_sha256_file(path, 0, pack->name, &pack->bytes, err);
    json_decref(json);
    free(header);
    if (status < 0)
        ot_pack_release(pack);
    return status < 0 ? status : OPTUNE_OK;
}

typedef struct unpacking {
    int fd;
    int64_t left;
    const char *pack, *log;
    optune_err *err;
} unpacking;

static int unpack(void *arg, const char *data, size_t n)
{
    unpacking *u = arg;
    u->left -= (int64_t)n;
    if (u->left < 0)
        return wrong(u->pack, "it holds more than it says", u->err);
    return write_all(u->fd, data, n) ? OPTUNE_OK : cannot(u->log, u->err);
}

int ot_pack_unpack(const char *path, const ot_pack *pack, const char *log, optune_err *err)
{
    const int fd = ot_open_file(log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, err);
    if (fd < 0)
        return fd;
    unpacking u = {fd, pack->raw, path, log, err};
    int status = ot_gunzip(path, pack->body, unpack, &u, err);
    if (status >= 0 && u.left > 0)
        status = wrong(path, "it holds less than it says", err);
    close(fd);
    if (status < 0)
        unlink(log);
    return status;
}
