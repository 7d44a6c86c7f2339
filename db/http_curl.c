/* SPDX-License-Identifier: Apache-2.0 */
/* curl, opened when something is fetched for the first time: who only asks questions needs none. */
#include <pthread.h>

#include "db/http_curl.h"

ot_curl ot_curl_api;
static const char *const symbols[] = {OT_CURL_FUNCTIONS(OT_BIND_NAME)};
static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};

static int bound;
static optune_err bound_err;
static CURLcode global_state;
static pthread_once_t global_once = PTHREAD_ONCE_INIT;

static void start(void)
{
    bound = ot_bind(files, "libcurl4", symbols, OT_COUNT(symbols), &ot_curl_api, &bound_err);
    if (bound < 0)
        return;
    global_state = ot_curl_api.curl_global_init(CURL_GLOBAL_DEFAULT);
}

int ot_curl_open(optune_err *err)
{
    pthread_once(&global_once, start);
    if (bound < 0)
        return optune_fail(err, bound, "%s", bound_err.text);
    if (global_state != CURLE_OK)
        return optune_fail(err, OPTUNE_ENET, "libcurl cannot start: %s",
                           ot_curl_api.curl_easy_strerror(global_state));
    return OPTUNE_OK;
}

void ot_curl_host(const char *url, char *host, size_t size)
{
    char *part = NULL;
    CURLU *parsed = ot_curl_api.curl_url();
    if (!parsed || ot_curl_api.curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK ||
        ot_curl_api.curl_url_get(parsed, CURLUPART_HOST, &part, 0) != CURLUE_OK ||
        !ot_copy(host, size, part))
        ot_copy(host, size, "?");
    ot_curl_api.curl_free(part);
    ot_curl_api.curl_url_cleanup(parsed);
}
