/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching one file over https: the only file that includes curl. Bounded in every direction
 * (bytes, connecting, total time, crawling, redirects) because the other end is a stranger; the
 * file appears whole under its name or not at all. Nothing but https is spoken, redirects
 * included, and certificates are always verified.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CURL_DISABLE_TYPECHECK /* its macros would hide the functions' names */
#include <curl/curl.h>

#include "db/db.h"

enum { REDIRECTS = 5, CRAWL_BYTES = 64, CRAWL_SECONDS = 30 };
static const int64_t default_bytes = (int64_t)256 << 20;

/* The functions used, opened at the first fetch. */
#define FUNCTIONS(X)                                                                           \
    X(curl_easy_cleanup)                                                                       \
    X(curl_easy_getinfo)                                                                       \
    X(curl_easy_init)                                                                          \
    X(curl_easy_perform)                                                                       \
    X(curl_easy_setopt)                                                                        \
    X(curl_easy_strerror)                                                                      \
    X(curl_free)                                                                               \
    X(curl_global_init)                                                                        \
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

typedef struct sink {
    int fd;
    int64_t left;
    bool full; /* the limit was reached */
    int why;   /* errno of a failed write */
} sink;

static size_t take(char *data, size_t size, size_t count, void *arg)
{
    sink *to = arg;
    size_t n = size * count;
    if ((int64_t)n > to->left) {
        to->full = true;
        return 0;
    }
    to->left -= (int64_t)n;
    for (size_t done = 0; done < n;) {
        ssize_t written = write(to->fd, data + done, n - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            to->why = errno;
            return 0;
        }
        done += (size_t)written;
    }
    return n;
}

/* The host alone: a URL may carry a password. */
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

static bool set_options(CURL *curl, const char *url, const ot_fetch *how, sink *to,
                        char *reason)
{
    int64_t max_bytes = how->max_bytes > 0 ? how->max_bytes : default_bytes;
    double connect_s = how->connect_s > 0 ? how->connect_s : 15;
    double total_s = how->total_s > 0 ? how->total_s : 300;
    to->left = max_bytes;
    CURLcode bad = CURLE_OK;
#define SET(option, value) bad = bad ? bad : api.curl_easy_setopt(curl, option, value)
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PROTOCOLS_STR, "https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
    SET(CURLOPT_FOLLOWLOCATION, 1L);
    SET(CURLOPT_MAXREDIRS, (long)REDIRECTS);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_FAILONERROR, 1L);
    SET(CURLOPT_NOSIGNAL, 1L); /* the signals are the host program's */
    SET(CURLOPT_ACCEPT_ENCODING, "");
    SET(CURLOPT_USERAGENT, "optune");
    SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)max_bytes);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_s * 1000));
    SET(CURLOPT_TIMEOUT_MS, (long)(total_s * 1000));
    SET(CURLOPT_LOW_SPEED_LIMIT, (long)CRAWL_BYTES);
    SET(CURLOPT_LOW_SPEED_TIME, (long)CRAWL_SECONDS);
    SET(CURLOPT_WRITEFUNCTION, take);
    SET(CURLOPT_WRITEDATA, to);
    SET(CURLOPT_ERRORBUFFER, reason);
    if (how->ca_file)
        SET(CURLOPT_CAINFO, how->ca_file);
#undef SET
    return bad == CURLE_OK;
}

static int transfer(const char *url, const char *host, const ot_fetch *how, sink *to,
                    optune_err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    CURL *curl = api.curl_easy_init();
    if (!curl || !set_options(curl, url, how, to, reason)) {
        api.curl_easy_cleanup(curl);
        return optune_fail(err, OPTUNE_ENET, "libcurl cannot be set up");
    }
    CURLcode code = api.curl_easy_perform(curl);
    long http = 0;
    api.curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    api.curl_easy_cleanup(curl);
    if (code == CURLE_OK)
        return OPTUNE_OK;
    if (to->full || code == CURLE_FILESIZE_EXCEEDED)
        return optune_fail(err, OPTUNE_ENET,
                           "fetching from '%s' stopped: longer than %lld bytes", host,
                           (long long)(how->max_bytes > 0 ? how->max_bytes : default_bytes));
    if (to->why)
        return optune_fail(err, OPTUNE_EIO, "cannot write what '%s' sends: %s", host,
                           strerror(to->why));
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return optune_fail(err, OPTUNE_ENET, "fetching from '%s' failed: HTTP status %ld", host,
                           http);
    return optune_fail(err, OPTUNE_ENET, "fetching from '%s' %s: %s", host,
                       code == CURLE_OPERATION_TIMEDOUT ? "timed out" : "failed",
                       *reason ? reason : api.curl_easy_strerror(code));
}

int ot_http_fetch(const char *url, const char *path, const ot_fetch *how, optune_err *err)
{
    static const ot_fetch defaults;
    if (!how)
        how = &defaults;
    if (strncasecmp(url, "https://", 8) != 0)
        return optune_fail(err, OPTUNE_ENET,
                           "only https is fetched, and '%.200s' is no https address", url);
    pthread_once(&global_once, start_curl);
    if (bound < 0)
        return optune_fail(err, bound, "%s", bound_err.text);
    if (global_state != CURLE_OK)
        return optune_fail(err, OPTUNE_ENET, "libcurl cannot start: %s",
                           api.curl_easy_strerror(global_state));
    char host[256];
    host_of(url, host, sizeof host);
    ot_text fresh = {0};
    ot_text_printf(&fresh, "%s.XXXXXX", path);
    sink to = {.fd = mkostemp(fresh.s, O_CLOEXEC)};
    if (to.fd < 0) {
        int status =
            optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
        ot_text_release(&fresh);
        return status;
    }
    int status = transfer(url, host, how, &to, err);
    if (close(to.fd) < 0 && status == OPTUNE_OK)
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
    if (status == OPTUNE_OK && rename(fresh.s, path) < 0)
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
    if (status < 0)
        unlink(fresh.s);
    ot_text_release(&fresh);
    return status;
}
