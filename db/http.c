/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file from a server, or to one. A file appears whole under its name or not at all. What may
 * pass is tried again, later each time and at a random moment, or when the server said. How a
 * server is spoken to is http_ask.c's.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/http_curl.h"

enum { TRIES = 4, MOST_PAUSE_S = 60 };
enum { TOO_LARGE = 100 }; /* CURLE_TOO_LARGE, which libcurl has since 8.6 */
double ot_http_pause_s = 0.5;

/* ---- what came of it --------------------------------------------------------------------- */

/* S3 refuses what is signed at another time than its own, by 15 minutes or more, with the same 403
 * as a wrong key. */
static bool is_skewed(const ot_transfer *t)
{
    enum { S3_SKEW_S = 14 * 60 };
    return t->how->secret && t->how->region && fabs(t->apart) >= S3_SKEW_S;
}

static int refused(ot_transfer *t, optune_err *err)
{
    const long status = t->reply->status;
    const char *doing = t->put ? "writing to" : "fetching from";
    if (status == 403 && is_skewed(t))
        return optune_fail(
            err, OPTUNE_ENET,
            "'%s' does not let us: HTTP status %ld; this machine's clock is %.0f "
            "minutes %s the server's, and what is signed has to be within 15: "
            "set the clock",
            t->host, status, fabs(t->apart) / 60, t->apart > 0 ? "behind" : "ahead of");
    if (status == 404 || status == 410)
        return optune_fail(err, OPTUNE_ENOENT, "%s '%s' failed: HTTP status %ld", doing,
                           t->host, status);
    if (t->put && (status == 412 || status == 409))
        return optune_fail(err, OPTUNE_ECONFLICT,
                           "'%s' has another there already: HTTP status %ld", t->host, status);
    if (status == 401 || status == 403)
        return optune_fail(err, OPTUNE_ENET, "'%s' does not let us: HTTP status %ld%s", t->host,
                           status,
                           t->how->secret   ? "; is the S3 key one of this bucket?"
                           : t->how->bearer ? "; is the token still good?"
                                            : ", and there is no token");
    if (t->pause > MOST_PAUSE_S)
        return optune_fail(err, OPTUNE_ENET,
                           "%s '%s' failed: HTTP status %ld; it wants to be asked again in "
                           "%.0f s, which is not waited for",
                           doing, t->host, status, t->pause);
    return optune_fail(err, OPTUNE_ENET, "%s '%s' failed: HTTP status %ld", doing, t->host,
                       status);
}

static bool may_pass(const ot_transfer *t, CURLcode code)
{
    static const long passing[] = {408, 425, 429, 500, 502, 503, 504};
    if (t->full || t->why || t->pause > MOST_PAUSE_S)
        return false;
    if (code == CURLE_HTTP_RETURNED_ERROR)
        for (int i = 0; i < OT_COUNT(passing); i++)
            if (t->reply->status == passing[i])
                return true;
    return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_GOT_NOTHING || code == CURLE_OPERATION_TIMEDOUT ||
           code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
}

/* A server that refuses one address may serve the next; S3 says 403 of what is not there. */
static bool at_fault(const ot_transfer *t, CURLcode code)
{
    const long status = t->reply->status;
    return t->full ||
           (code == CURLE_HTTP_RETURNED_ERROR && t->pause <= MOST_PAUSE_S && status >= 400 &&
            status < 500 && status != 401 && status != 407 && !may_pass(t, code));
}

static int verdict(ot_transfer *t, CURLcode code, optune_err *err)
{
    const long status = t->reply->status;
    const char *doing = t->put ? "writing to" : "fetching from";
    t->reply->at_fault = at_fault(t, code);
    if (ot_transfer_stopped(t))
        return optune_fail(err, OPTUNE_EINTERRUPTED, "%s '%s' was interrupted", doing, t->host);
    if (code == CURLE_OK && status >= 300 && status != 304 && !ot_transfer_follows(t))
        return optune_fail(err, OPTUNE_ENET, "'%s' has moved (HTTP status %ld): %s", t->host,
                           status,
                           t->put ? "nothing is written elsewhere than asked for"
                                  : "what is signed goes where it was asked for alone");
    if (code == CURLE_OK)
        return OPTUNE_OK;
    if (t->full)
        return optune_fail(err, OPTUNE_ENET,
                           "fetching from '%s' stopped: longer than %lld bytes", t->host,
                           (long long)(t->how->max_bytes > 0 ? t->how->max_bytes
                                                             : (int64_t)OT_HTTP_MOST_BYTES));
    if (t->why)
        return optune_fail(err, OPTUNE_EIO,
                           t->put ? "cannot read what goes to '%s': %s"
                                  : "cannot write what '%s' sends: %s",
                           t->host, strerror(t->why));
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return refused(t, err);
    return optune_fail(err, OPTUNE_ENET, "%s '%s' %s: %s", doing, t->host,
                       code == CURLE_OPERATION_TIMEDOUT ? "timed out" : "failed",
                       code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE
                           ? "no memory, or its headers are too long" /* curl says the former */
                       : *t->reason ? t->reason
                                    : ot_curl_api.curl_easy_strerror(code));
}

/* One try; *again: it failed in a way that may pass. */
static int attempt(ot_transfer *t, const char *path, bool *again, optune_err *err)
{
    struct curl_slist *headers = NULL;
    *again = false;
    t->begun = t->full = false;
    t->why = 0;
    t->pause = -1;
    t->reason[0] = 0;
    t->reply->status = 0;
    t->apart = 0;
    t->left =
        (t->how->max_bytes > 0 ? t->how->max_bytes : (int64_t)OT_HTTP_MOST_BYTES) - t->had;
    t->curl = ot_curl_api.curl_easy_init();
    int status = t->curl ? ot_transfer_ask(t, path, &headers, err)
                         : optune_fail(err, OPTUNE_ENET, "libcurl cannot be set up");
    if (status >= 0) {
        curl_off_t wait = 0;
        const CURLcode code = ot_curl_api.curl_easy_perform(t->curl);
        ot_curl_api.curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->reply->status);
        if (ot_curl_api.curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK &&
            wait > 0)
            t->pause = (double)wait;
        t->full = t->full || code == CURLE_FILESIZE_EXCEEDED;
        status = verdict(t, code, err);
        *again = status < 0 && status != OPTUNE_EINTERRUPTED && may_pass(t, code);
        /* What was had is not what the server has: once more, from the start. */
        if (t->had > 0 && (t->reply->status == 416 || code == CURLE_RANGE_ERROR ||
                           code == CURLE_BAD_CONTENT_ENCODING)) {
            *again = ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0;
            t->had = 0;
            t->pause = 0;
        }
    }
    ot_curl_api.curl_slist_free_all(headers);
    ot_curl_api.curl_easy_cleanup(t->curl);
    return status;
}

/* Longer each time, and at a random moment, so that many do not come back at once. */
static int pause_before(const ot_transfer *t, int try, optune_err *err)
{
    uint32_t word = 0;
    if (getrandom(&word, sizeof word, 0) < 0)
        word = (uint32_t)ot_now_ns();
    double seconds = t->pause;
    if (seconds < 0)
        seconds = ot_http_pause_s * ldexp(0.5 + (double)word / UINT32_MAX, try);
    for (const double end = ot_now() + seconds; ot_now() < end;) {
        if (ot_transfer_stopped(t))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "waiting for '%s' was interrupted",
                               t->host);
        usleep(20000);
    }
    return OPTUNE_OK;
}

/* Of an answer that is the same byte by byte. */
static bool is_strong(const char *etag)
{
    return *etag == '"';
}

static int try_all(ot_transfer *t, const char *path, optune_err *err)
{
    const int tries = t->how->tries > 0 ? t->how->tries : TRIES;
    for (int try = 0;; try++) {
        bool again;
        const int status = attempt(t, path, &again, err);
        if (status >= 0 || !again || try + 1 >= tries)
            return status;
        OT_RETURN_UNLESS_OK(pause_before(t, try, err));
        /* A body is sent from its start; what came is gone on with where its validator is known. */
        const bool goes_on = !t->put && t->how->resume && is_strong(t->reply->etag);
        if (goes_on) {
            t->had = lseek(t->fd, 0, SEEK_END);
            memcpy(t->validator, t->reply->etag, sizeof t->validator);
        } else if (t->fd >= 0 && !t->put && t->had == 0 && ftruncate(t->fd, 0) < 0) {
            return optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
        }
        if (!goes_on)
            lseek(t->fd, t->put ? 0 : t->had, SEEK_SET);
    }
}

/* ---- getting and putting ----------------------------------------------------------------- */

static int start(const char *url, const ot_http *how, optune_err *err)
{
    const bool known =
        !strncasecmp(url, "https://", 8) || (how->plain && !strncasecmp(url, "http://", 7));
    if (!known) {
        /* What stands in front of an @ may be secret. */
        const char *at = strchr(url, '@');
        return optune_fail(err, OPTUNE_ENET,
                           "only https is fetched, and '%.200s' is no https address",
                           at ? at + 1 : url);
    }
    return ot_curl_open(err);
}

/* Beside its place: what an earlier try left, or a name that nobody foresees. */
static int open_part(ot_transfer *t, const char *path, ot_text *part, ot_text *tag,
                     optune_err *err)
{
    ot_text_printf(part, t->how->resume ? "%s.part" : "%s.XXXXXX", path);
    ot_text_printf(tag, "%s.etag", part->s);
    t->fd = t->how->resume ? ot_open_file(part->s, O_RDWR | O_CREAT | O_NOFOLLOW, err)
                           : mkostemp(part->s, O_CLOEXEC);
    if (t->fd < 0)
        return t->how->resume ? t->fd
                              : optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path,
                                            strerror(errno));
    ot_made(t->fd, part->s);
    ot_text known = {0};
    struct stat info;
    if (t->how->resume && fstat(t->fd, &info) == 0 && info.st_size > 0) {
        if (ot_read_file(tag->s, &known, sizeof t->validator - 1, NULL) >= 0 && known.n &&
            is_strong(known.s)) {
            snprintf(t->validator, sizeof t->validator, "%s", known.s);
            t->had = lseek(t->fd, 0, SEEK_END);
        } else if (ftruncate(t->fd, 0) < 0) {
            t->had = 0;
        }
    }
    ot_text_release(&known);
    return OPTUNE_OK;
}

int ot_http_get(const char *url, const char *path, const ot_http *how, ot_http_reply *reply,
                optune_err *err)
{
    static const ot_http defaults;
    how = how ? how : &defaults;
    *reply = (ot_http_reply){0};
    if (!strncmp(url, "file://", 7))
        return ot_http_file_get(url, path, how, reply, err);
    OT_RETURN_UNLESS_OK(start(url, how, err));
    ot_transfer t = {.url = url, .how = how, .reply = reply, .fd = -1};
    ot_text part = {0}, tag = {0};
    ot_curl_host(url, t.host, sizeof t.host);
    int status = open_part(&t, path, &part, &tag, err);
    if (status >= 0)
        status = try_all(&t, path, err);
    if (t.fd >= 0 && close(t.fd) < 0 && status == OPTUNE_OK)
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
    const bool came = status >= 0 && reply->status != 304;
    if (came && rename(part.s, path) < 0)
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
    struct stat info;
    const bool keep = status < 0 && how->resume && is_strong(reply->etag) &&
                      stat(part.s, &info) == 0 && info.st_size > 0 && !t.full;
    if (keep)
        ot_write_shared(tag.s, reply->etag, strlen(reply->etag), NULL);
    else
        unlink(tag.s);
    if (t.fd >= 0 && !keep && !(came && status >= 0))
        unlink(part.s);
    ot_text_release(&part);
    ot_text_release(&tag);
    return status;
}

int ot_http_put(const char *url, const char *path, const ot_http *how, ot_http_reply *reply,
                optune_err *err)
{
    static const ot_http defaults;
    struct stat info;
    how = how ? how : &defaults;
    *reply = (ot_http_reply){0};
    if (!strncmp(url, "file://", 7))
        return ot_http_file_put(url, path, how, reply, err);
    OT_RETURN_UNLESS_OK(start(url, how, err));
    ot_transfer t = {.url = url, .how = how, .reply = reply, .put = true};
    ot_curl_host(url, t.host, sizeof t.host);
    t.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int status = OPTUNE_OK;
    if (t.fd < 0 || fstat(t.fd, &info) < 0 || !S_ISREG(info.st_mode))
        status = optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path,
                             t.fd < 0 ? strerror(errno) : "it is no file");
    if (status >= 0) {
        t.size = info.st_size;
        status = try_all(&t, path, err);
    }
    if (status >= 0)
        reply->bytes = t.size;
    if (t.fd >= 0)
        close(t.fd);
    return status;
}

int ot_http_make_folder(const char *url, const ot_http *how, optune_err *err)
{
    ot_http_reply reply = {0};
    if (!strncmp(url, "file://", 7))
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(start(url, how, err));
    ot_transfer t = {.url = url, .how = how, .reply = &reply, .fd = -1, .folder = true};
    ot_curl_host(url, t.host, sizeof t.host);
    const int status = try_all(&t, "", err);
    return reply.status == 405 ? OPTUNE_OK : status;
}
