/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of files: a folder that is served by nobody, or that several machines mount. The same
 * promises as over https: whole or not at all, and only if it is still, or is not yet, what the
 * caller knows.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/http.h"
#include "db/turn.h"

static const int64_t default_bytes = (int64_t)256 << 20;

/* %20 and the like are what they stand for. */
static int path_of(const char *url, ot_text *path, optune_err *err)
{
    const char *at = url + strlen("file://");
    for (; *at; at++) {
        unsigned byte = (unsigned char)*at;
        if (*at == '%') {
            const char hex[3] = {at[1], at[1] ? at[2] : 0, 0};
            char *end = NULL;
            byte = (unsigned)strtoul(hex, &end, 16);
            if (end != hex + 2 || byte == 0)
                return optune_fail(err, OPTUNE_EUSAGE, "'%.200s' is no address of a file", url);
            at += 2;
        }
        ot_text_add_n(path, &(char){(char)byte}, 1);
    }
    return path->n ? OPTUNE_OK
                   : optune_fail(err, OPTUNE_EUSAGE, "'%.200s' is no address of a file", url);
}

static int read_plain(const char *path, const ot_http *how, ot_text *to, optune_err *err)
{
    struct stat info;
    const int64_t most = how->max_bytes > 0 ? how->max_bytes : default_bytes;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is no file", path);
    return ot_read_file(path, to, (size_t)most, err);
}

static void tag_of(const ot_text *bytes, char *etag)
{
    char hex[33];
    ot_digest_hex(ot_digest_of(ot_text_str(bytes), bytes->n), hex);
    snprintf(etag, sizeof((ot_http_reply *)0)->etag, "\"%s\"", hex);
}

int ot_http_file_get(const char *url, const char *path, const ot_http *how,
                     ot_http_reply *reply, optune_err *err)
{
    ot_text from = {0}, bytes = {0};
    int status = path_of(url, &from, err);
    if (status >= 0)
        status = read_plain(from.s, how, &bytes, err);
    reply->status = status == OPTUNE_ENOENT ? 404 : 0;
    reply->at_fault = status < 0;
    if (status >= 0) {
        tag_of(&bytes, reply->etag);
        reply->status = how->etag && !strcmp(how->etag, reply->etag) ? 304 : 200;
    }
    if (status >= 0 && reply->status == 200) {
        reply->bytes = (int64_t)bytes.n;
        status = ot_write_shared(path, ot_text_str(&bytes), bytes.n, err);
    }
    ot_text_release(&from);
    ot_text_release(&bytes);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* ECONFLICT unless what is there is what the caller takes it for. */
static int check_old(const char *path, const ot_http *how, ot_http_reply *reply,
                     optune_err *err)
{
    ot_text old = {0};
    char etag[sizeof reply->etag] = "";
    if (!how->etag && !how->only_new)
        return OPTUNE_OK;
    const int status = read_plain(path, how, &old, NULL);
    if (status >= 0)
        tag_of(&old, etag);
    ot_text_release(&old);
    if (status < 0 && status != OPTUNE_ENOENT)
        return optune_fail(err, OPTUNE_EIO, "cannot read '%s'", path);
    if (how->only_new ? status == OPTUNE_ENOENT : !strcmp(etag, how->etag))
        return OPTUNE_OK;
    reply->status = 412;
    return optune_fail(err, OPTUNE_ECONFLICT, "'%s' is there, and is another", path);
}

int ot_http_file_put(const char *url, const char *path, const ot_http *how,
                     ot_http_reply *reply, optune_err *err)
{
    ot_text to = {0}, folder = {0}, bytes = {0};
    int lock = -1, status = path_of(url, &to, err);
    if (status >= 0) {
        const char *slash = strrchr(to.s, '/');
        ot_text_add_n(&folder, to.s, slash && slash > to.s ? (size_t)(slash - to.s) : 1);
        status = ot_make_shared_dirs(folder.s, err);
    }
    if (status >= 0)
        status = read_plain(path, how, &bytes, err);
    if (status >= 0) {
        ot_text_add(&folder, "/.lock");
        status = ot_turn_take(folder.s, how->stop, &lock, err);
    }
    if (status >= 0)
        status = check_old(to.s, how, reply, err);
    if (status >= 0)
        status = ot_write_shared(to.s, ot_text_str(&bytes), bytes.n, err);
    if (status >= 0) {
        reply->status = 201;
        reply->bytes = (int64_t)bytes.n;
        tag_of(&bytes, reply->etag);
    }
    if (lock >= 0)
        close(lock);
    ot_text_release(&to);
    ot_text_release(&folder);
    ot_text_release(&bytes);
    return status;
}
