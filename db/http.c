/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file from a server, or to one: the only file that includes curl. Bounded in every direction
 * (bytes, connecting, total time, crawling, redirects, tries) as the other end is a stranger; a
 * file appears whole under its name or not at all. Nothing but https is spoken unless http was
 * asked for, redirects included, certificates are always verified, and what is secret goes to the
 * host it was meant for. What may pass is tried again, later each time and at a random moment, or
 * when the server said.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define CURL_DISABLE_TYPECHECK /* its macros would hide the functions' names */
#include <curl/curl.h>

#include "db/http.h"
#include "db/pack.h"

enum { REDIRECTS = 5, CRAWL_BYTES = 64, CRAWL_SECONDS = 30, TRIES = 4, MOST_PAUSE_S = 60 };
static const int64_t default_bytes = (int64_t)256 << 20;
double ot_http_pause_s = 0.5;

/* The functions used, opened at the first transfer. */
#define FUNCTIONS(X)                                                                           \
    X(curl_easy_cleanup)                                                                       \
    X(curl_easy_getinfo)                                                                       \
    X(curl_easy_init)                                                                          \
    X(curl_easy_perform)                                                                       \
    X(curl_easy_setopt)                                                                        \
    X(curl_easy_strerror)                                                                      \
    X(curl_free)                                                                               \
    X(curl_global_init)                                                                        \
    X(curl_slist_append)                                                                       \
    X(curl_slist_free_all)                                                                     \
    X(curl_url)                                                                                \
    X(curl_url_cleanup)                                                                        \
    X(curl_url_get)                                                                            \
    X(curl_url_set)
static struct {
    FUNCTIONS(OT_BIND_FIELD)
} api;
static const char *const symbols[] = {FUNCTIONS(OT_BIND_NAME)};
static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};

static int bound;
static optune_err bound_err;
static CURLcode global_state;
static pthread_once_t global_once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    bound = ot_bind(files, "libcurl4", symbols, OT_COUNT(symbols), &api, &bound_err);
    if (bound < 0)
        return;
    global_state = api.curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* ---- a transfer -------------------------------------------------------------------------- */

typedef struct transfer {
    const char *url;
    const ot_http *how;
    ot_http_reply *reply;
    CURL *curl;
    char host[256];   /* alone: an address may hold a password */
    bool put, folder; /* a file is written, a folder is made (MKCOL); else something comes */
    int fd;           /* to which it goes, or from which it comes */
    int64_t size;     /* of what is put */
    int64_t had;  /* bytes that an earlier try left in fd, and that are not asked for again */
    int64_t left; /* bytes that may still come */
    bool begun, full; /* something came; the limit was reached */
    int why;          /* errno of a failed write or read */
    double told;      /* when progress was last told */
    double pause;     /* as the server wants it; negative: it said nothing */
    char validator[sizeof((ot_http_reply *)0)->etag]; /* of what was had */
    char reason[CURL_ERROR_SIZE];
} transfer;

static void host_of(const char *url, char *host, size_t size)
{
    char *part = NULL;
    CURLU *parsed = api.curl_url();
    if (!parsed || api.curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK ||
        api.curl_url_get(parsed, CURLUPART_HOST, &part, 0) != CURLUE_OK ||
        !ot_copy(host, size, part))
        ot_copy(host, size, "?");
    api.curl_free(part);
    api.curl_url_cleanup(parsed);
}

static bool stopped(const transfer *t)
{
    return t->how->stop && atomic_load(t->how->stop);
}

/* The server began from the start, whatever it was asked for. */
static bool from_start(transfer *t)
{
    long status = 0;
    t->begun = true;
    api.curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    if (t->had == 0 || status == 206)
        return true;
    t->left += t->had;
    t->had = 0;
    return ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0;
}

static size_t take(char *data, size_t size, size_t count, void *arg)
{
    transfer *t = arg;
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
    transfer *t = arg;
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
    transfer *t = arg;
    return lseek(t->fd, offset, origin) >= 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
    transfer *t = arg;
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
    }
    return n;
}

static int watch(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                 curl_off_t up)
{
    transfer *t = arg;
    const curl_off_t done = t->put ? up : down, total = t->put ? up_all : down_all;
    if (t->how->progress && ot_now() > t->told + 0.1 && done > 0) {
        t->told = ot_now();
        t->how->progress(t->how->arg, t->had + done, total > 0 ? t->had + total : -1);
    }
    return stopped(t);
}

/* ---- what is asked ----------------------------------------------------------------------- */

static void add_header(struct curl_slist **all, const char *name, const char *value)
{
    ot_text line = {0};
    ot_text_printf(&line, "%s: %s", name, value);
    struct curl_slist *longer = api.curl_slist_append(*all, line.s);
    *all = longer ? longer : *all;
    ot_text_release(&line);
}

/* Of an answer that is the same byte by byte. */
static bool is_strong(const char *etag)
{
    return *etag == '"';
}

static bool is_signed(const ot_http *how)
{
    return how->secret && how->region && how->key_id;
}

static int headers_of(transfer *t, const char *path, struct curl_slist **all, optune_err *err)
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
static bool follows(const transfer *t)
{
    return !t->put && !t->folder && !(t->how->secret && t->how->region);
}

static CURLcode set_who(transfer *t)
{
    const ot_http *how = t->how;
    CURLcode bad = CURLE_OK;
#define SET(option, value) bad = bad ? bad : api.curl_easy_setopt(t->curl, option, value)
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
static void add_address(const transfer *t, ot_text *to)
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

static bool set_options(transfer *t, const struct curl_slist *headers)
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
    SET(CURLOPT_FOLLOWLOCATION, follows(t) ? 1L : 0L);
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
        if (how->packed && !how->resume)
            SET(CURLOPT_ACCEPT_ENCODING, "");
    }
    if (how->ca_file)
        SET(CURLOPT_CAINFO, how->ca_file);
    bad = bad ? bad : set_who(t);
    return bad == CURLE_OK;
}
#undef SET

/* What a server's answer to a PUT says is of no interest. */
static size_t drop(char *data, size_t size, size_t count, void *arg)
{
    (void)data;
    (void)arg;
    return size * count;
}

/* ---- what came of it --------------------------------------------------------------------- */

static int refused(transfer *t, optune_err *err)
{
    const long status = t->reply->status;
    const char *doing = t->put ? "writing to" : "fetching from";
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
    return optune_fail(err, OPTUNE_ENET, "%s '%s' failed: HTTP status %ld", doing, t->host,
                       status);
}

static bool may_pass(const transfer *t, CURLcode code)
{
    static const long passing[] = {408, 425, 429, 500, 502, 503, 504};
    if (t->full || t->why)
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
static bool at_fault(const transfer *t, CURLcode code)
{
    const long status = t->reply->status;
    return t->full || (code == CURLE_HTTP_RETURNED_ERROR && status >= 400 && status < 500 &&
                       status != 401 && status != 407 && !may_pass(t, code));
}

static int verdict(transfer *t, CURLcode code, optune_err *err)
{
    const long status = t->reply->status;
    const char *doing = t->put ? "writing to" : "fetching from";
    t->reply->at_fault = at_fault(t, code);
    if (stopped(t))
        return optune_fail(err, OPTUNE_EINTERRUPTED, "%s '%s' was interrupted", doing, t->host);
    if (code == CURLE_OK && status >= 300 && status != 304 && !follows(t))
        return optune_fail(err, OPTUNE_ENET, "'%s' has moved (HTTP status %ld): %s", t->host,
                           status,
                           t->put ? "nothing is written elsewhere than asked for"
                                  : "what is signed goes where it was asked for alone");
    if (code == CURLE_OK)
        return OPTUNE_OK;
    if (t->full)
        return optune_fail(
            err, OPTUNE_ENET, "fetching from '%s' stopped: longer than %lld bytes", t->host,
            (long long)(t->how->max_bytes > 0 ? t->how->max_bytes : default_bytes));
    if (t->why)
        return optune_fail(err, OPTUNE_EIO,
                           t->put ? "cannot read what goes to '%s': %s"
                                  : "cannot write what '%s' sends: %s",
                           t->host, strerror(t->why));
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return refused(t, err);
    return optune_fail(err, OPTUNE_ENET, "%s '%s' %s: %s", doing, t->host,
                       code == CURLE_OPERATION_TIMEDOUT ? "timed out" : "failed",
                       *t->reason ? t->reason : api.curl_easy_strerror(code));
}

/* One try; *again: it failed in a way that may pass. */
static int attempt(transfer *t, const char *path, bool *again, optune_err *err)
{
    struct curl_slist *headers = NULL;
    *again = false;
    t->begun = t->full = false;
    t->why = 0;
    t->pause = -1;
    t->reason[0] = 0;
    t->reply->status = 0;
    t->left = (t->how->max_bytes > 0 ? t->how->max_bytes : default_bytes) - t->had;
    t->curl = api.curl_easy_init();
    int status = t->curl ? headers_of(t, path, &headers, err)
                         : optune_fail(err, OPTUNE_ENET, "libcurl cannot be set up");
    if (status >= 0 &&
        (!set_options(t, headers) || api.curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION,
                                                          t->put ? drop : take) != CURLE_OK))
        status = optune_fail(err, OPTUNE_ENET, "libcurl cannot be set up");
    if (status >= 0) {
        curl_off_t wait = 0;
        const CURLcode code = api.curl_easy_perform(t->curl);
        api.curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->reply->status);
        if (api.curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
            t->pause = (double)wait;
        t->full = t->full || code == CURLE_FILESIZE_EXCEEDED;
        status = verdict(t, code, err);
        *again = status < 0 && status != OPTUNE_EINTERRUPTED && may_pass(t, code);
        /* What was had is not what the server has: once more, from the start. */
        if (t->had > 0 && (t->reply->status == 416 || code == CURLE_RANGE_ERROR)) {
            *again = ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0;
            t->had = 0;
            t->pause = 0;
        }
    }
    api.curl_slist_free_all(headers);
    api.curl_easy_cleanup(t->curl);
    return status;
}

/* Longer each time, and at a random moment, so that many do not come back at once. */
static int pause_before(const transfer *t, int try, optune_err *err)
{
    uint32_t word = 0;
    if (getrandom(&word, sizeof word, 0) < 0)
        word = (uint32_t)ot_now_ns();
    double seconds = t->pause;
    if (seconds < 0)
        seconds = ot_http_pause_s * ldexp(0.5 + (double)word / UINT32_MAX, try);
    if (seconds > MOST_PAUSE_S)
        seconds = MOST_PAUSE_S;
    for (const double end = ot_now() + seconds; ot_now() < end;) {
        if (stopped(t))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "waiting for '%s' was interrupted",
                               t->host);
        usleep(20000);
    }
    return OPTUNE_OK;
}

static int try_all(transfer *t, const char *path, optune_err *err)
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
    pthread_once(&global_once, start_curl);
    if (bound < 0)
        return optune_fail(err, bound, "%s", bound_err.text);
    if (global_state != CURLE_OK)
        return optune_fail(err, OPTUNE_ENET, "libcurl cannot start: %s",
                           api.curl_easy_strerror(global_state));
    return OPTUNE_OK;
}

/* Beside its place: what an earlier try left, or a name that nobody foresees. */
static int open_part(transfer *t, const char *path, ot_text *part, ot_text *tag,
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
    transfer t = {.url = url, .how = how, .reply = reply, .fd = -1};
    ot_text part = {0}, tag = {0};
    host_of(url, t.host, sizeof t.host);
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
        ot_write_file(tag.s, reply->etag, strlen(reply->etag), NULL);
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
    transfer t = {.url = url, .how = how, .reply = reply, .put = true};
    host_of(url, t.host, sizeof t.host);
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
    transfer t = {.url = url, .how = how, .reply = &reply, .fd = -1, .folder = true};
    host_of(url, t.host, sizeof t.host);
    const int status = try_all(&t, "", err);
    return reply.status == 405 ? OPTUNE_OK : status;
}
