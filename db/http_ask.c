/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a server, and what is done with each piece of its answer: bounded in every
 * direction (bytes, connecting, total time, crawling, redirects) as the other end is a stranger.
 * Nothing but https is spoken unless http was asked for, redirects included, certificates are
 * always verified, and what is secret goes to the host it was meant for.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "db/http_curl.h"
#include "db/pack.h"

enum { REDIRECTS = 5, CRAWL_BYTES = 64, CRAWL_SECONDS = 30 };

/* ---- pieces ------------------------------------------------------------------------------ */

bool ot_transfer_stopped(const ot_transfer *t)
{
    return t->how->stop && atomic_load(t->how->stop);
}

/* The server began from the start, whatever it was asked for. */
static bool from_start(ot_transfer *t)
{
    long status = 0;
    t->begun = true;
    ot_curl_api.curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    if (t->had == 0 || status == 206)
        return true;
    t->left += t->had;
    t->had = 0;
    return ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0;
}

static size_t take(char *data, size_t size, size_t count, void *arg)
{
    ot_transfer *t = arg;
    size_t n = size * count;
    if (!t->begun && !from_start(t)) {
        t->why = errno;
        return 0;
    }
    if ((int64_t)n > t->left) {
        t->full = true;
        return 0;
    }
    t->left -= (int64_t)n;
    t->reply->bytes += (int64_t)n;
    for (size_t done = 0; done < n;) {
        ssize_t written = write(t->fd, data + done, n - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            t->why = errno;
            return 0;
        }
        done += (size_t)written;
    }
    return n;
}

static size_t give(char *data, size_t size, size_t count, void *arg)
{
    ot_transfer *t = arg;
    ssize_t n;
    do
        n = read(t->fd, data, size * count);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    t->why = errno;
    return CURL_READFUNC_ABORT;
}

/* curl sends the body again where a connection that it kept had died. */
static int rewind_body(void *arg, curl_off_t offset, int origin)
{
    ot_transfer *t = arg;
    return lseek(t->fd, offset, origin) >= 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
    ot_transfer *t = arg;
    const size_t n = size * count;
    if (n >= 5 && !strncmp(data, "HTTP/", 5)) {
        t->reply->etag[0] = 0; /* of the answer before this one: a redirect's */
    } else if (n > 5 && !strncasecmp(data, "etag:", 5)) {
        size_t from = 5, to = n;
        while (from < to && (data[from] == ' ' || data[from] == '\t'))
            from++;
        while (to > from && (unsigned char)data[to - 1] <= ' ')
            to--;
        if (to - from < sizeof t->reply->etag)
            snprintf(t->reply->etag, sizeof t->reply->etag, "%.*s", (int)(to - from),
                     data + from);
    } else if (n > 5 && !strncasecmp(data, "date:", 5)) {
        char date[64];
        snprintf(date, sizeof date, "%.*s", (int)(n - 5), data + 5);
        const time_t there = ot_curl_api.curl_getdate(date, NULL);
        t->apart = there > 0 ? (double)there - ot_unix_time() : 0;
    }
    return n;
}

static int watch(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                 curl_off_t up)
{
    ot_transfer *t = arg;
    const curl_off_t done = t->put ? up : down, total = t->put ? up_all : down_all;
    if (t->how->progress && ot_now() > t->told + 0.1 && done > 0) {
        t->told = ot_now();
        t->how->progress(t->how->arg, t->had + done, total > 0 ? t->had + total : -1);
    }
    return ot_transfer_stopped(t);
}

/* What a server's answer to a PUT says is of no interest. */
static size_t drop(char *data, size_t size, size_t count, void *arg)
{
    (void)data;
    (void)arg;
    return size * count;
}

/* ---- what is asked ----------------------------------------------------------------------- */

static void add_header(struct curl_slist **all, const char *name, const char *value)
{
    ot_text line = {0};
    ot_text_printf(&line, "%s: %s", name, value);
    struct curl_slist *longer = ot_curl_api.curl_slist_append(*all, line.s);
    *all = longer ? longer : *all;
    ot_text_release(&line);
}

static bool is_signed(const ot_http *how)
{
    return how->secret && how->region && how->key_id;
}

static int headers_of(ot_transfer *t, const char *path, struct curl_slist **all,
                      optune_err *err)
{
    const ot_http *how = t->how;
    if (t->put && !is_signed(how)) /* curl would sign it, and not send it */
        add_header(all, "Expect", "");
    if (how->etag)
        add_header(all, t->put ? "If-Match" : "If-None-Match", how->etag);
    if (t->put && how->only_new)
        add_header(all, "If-None-Match", "*");
    if (t->had > 0)
        add_header(all, "If-Range", t->validator);
    if (how->secret && how->region) {
        char digest[OT_HEX_SHA256] =
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"; /* of nothing */
        if (t->put)
            OT_RETURN_UNLESS_OK(ot_sha256_file(path, 0, digest, NULL, err));
        add_header(all, "x-amz-content-sha256", digest);
        if (how->session)
            add_header(all, "x-amz-security-token", how->session);
    }
    return OPTUNE_OK;
}

/* What is written goes where it was sent, or nowhere; so does what bears the headers of S3, as curl
 * gives headers of ours to every host that it is led to. */
bool ot_transfer_follows(const ot_transfer *t)
{
    return !t->put && !t->folder && !(t->how->secret && t->how->region);
}

static CURLcode set_who(ot_transfer *t)
{
    const ot_http *how = t->how;
    CURLcode bad = CURLE_OK;
#define SET(option, value)                                                                     \
    bad = bad ? bad : ot_curl_api.curl_easy_setopt(t->curl, option, value)
    if (is_signed(how)) {
        ot_text provider = {0};
        ot_text_printf(&provider, "aws:amz:%s:s3", how->region);
        SET(CURLOPT_AWS_SIGV4, provider.s);
        SET(CURLOPT_USERNAME, how->key_id);
        SET(CURLOPT_PASSWORD, how->secret);
        ot_text_release(&provider);
    } else if (how->bearer && !strncasecmp(t->url, "https://", 8)) {
        SET(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        SET(CURLOPT_XOAUTH2_BEARER, how->bearer);
    }
    return bad;
}

/* S3 signs each byte of a path but letters, digits and -._~/ as %XX, and curl what it sends. */
static void add_address(const ot_transfer *t, ot_text *to)
{
    const char *path = strstr(t->url, "://");
    path = path ? strchr(path + 3, '/') : NULL;
    if (!path || !is_signed(t->how))
        path = t->url + strlen(t->url);
    ot_text_add_n(to, t->url, (size_t)(path - t->url));
    for (; *path && *path != '?'; path++) {
        unsigned byte = (unsigned char)*path;
        if (*path == '%' && isxdigit((unsigned char)path[1]) &&
            isxdigit((unsigned char)path[2])) {
            sscanf(path + 1, "%2x", &byte);
            path += 2;
        }
        const bool plain = byte < 128 && (isalnum((int)byte) || strchr("-._~/", (int)byte));
        ot_text_printf(to, plain && byte ? "%c" : "%%%02X", byte);
    }
    ot_text_add(to, path);
}

static bool set_options(ot_transfer *t, const struct curl_slist *headers)
{
    const ot_http *how = t->how;
    const double connect_s = how->connect_s > 0 ? how->connect_s : 15;
    const double total_s = how->total_s > 0 ? how->total_s : 300;
    const bool plain = how->plain && !strncasecmp(t->url, "http://", 7);
    CURLcode bad = CURLE_OK;
    ot_text address = {0};
    add_address(t, &address);
    SET(CURLOPT_URL, ot_text_str(&address));
    ot_text_release(&address);
    SET(CURLOPT_PROTOCOLS_STR, plain ? "http,https" : "https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, plain ? "http,https" : "https");
    SET(CURLOPT_FOLLOWLOCATION, ot_transfer_follows(t) ? 1L : 0L);
    SET(CURLOPT_MAXREDIRS, (long)REDIRECTS);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_FAILONERROR, 1L);
    SET(CURLOPT_NOSIGNAL, 1L); /* the signals are the host program's */
    SET(CURLOPT_USERAGENT, "optune");
    SET(CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_s * 1000));
    SET(CURLOPT_TIMEOUT_MS, (long)(total_s * 1000));
    SET(CURLOPT_LOW_SPEED_LIMIT, (long)CRAWL_BYTES);
    SET(CURLOPT_LOW_SPEED_TIME, (long)CRAWL_SECONDS);
    SET(CURLOPT_ERRORBUFFER, t->reason);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, watch);
    SET(CURLOPT_XFERINFODATA, t);
    SET(CURLOPT_WRITEDATA, t);
    if (t->folder) {
        SET(CURLOPT_NOBODY, 1L);
        SET(CURLOPT_CUSTOMREQUEST, "MKCOL");
    } else if (t->put) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->size);
        SET(CURLOPT_READFUNCTION, give);
        SET(CURLOPT_READDATA, t);
        SET(CURLOPT_SEEKFUNCTION, rewind_body);
        SET(CURLOPT_SEEKDATA, t);
    } else {
        SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->left);
        SET(CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->had);
        /* Without a word a server may send anything, and some compress whatever they are asked
         * for; it is unpacked all the same. A digest of packed bytes would be no strong ETag. */
        SET(CURLOPT_ACCEPT_ENCODING, how->packed && !how->resume ? "" : "identity");
    }
    if (how->ca_file)
        SET(CURLOPT_CAINFO, how->ca_file);
    bad = bad ? bad : set_who(t);
    return bad == CURLE_OK;
}
#undef SET

int ot_transfer_ask(ot_transfer *t, const char *path, struct curl_slist **headers,
                    optune_err *err)
{
    OT_RETURN_UNLESS_OK(headers_of(t, path, headers, err));
    return set_options(t, *headers) &&
                   ot_curl_api.curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION,
                                                t->put ? drop : take) == CURLE_OK
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ENET, "libcurl cannot be set up");
}
