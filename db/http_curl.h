/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door to curl, and one transfer between those who ask for it (http_ask.c) and those who judge
 * what came of it (http.c).
 */
#ifndef OPTUNE_DB_HTTP_CURL_H
#define OPTUNE_DB_HTTP_CURL_H

#define CURL_DISABLE_TYPECHECK /* its macros would hide the functions' names */
#include <curl/curl.h>

#include "db/http.h"

enum { OT_HTTP_MOST_BYTES = 256 << 20 }; /* unless the caller says */

/* The functions used, opened at the first transfer. */
#define OT_CURL_FUNCTIONS(X)                                                                   \
    X(curl_easy_cleanup)                                                                       \
    X(curl_easy_getinfo)                                                                       \
    X(curl_easy_init)                                                                          \
    X(curl_easy_perform)                                                                       \
    X(curl_easy_setopt)                                                                        \
    X(curl_easy_strerror)                                                                      \
    X(curl_free)                                                                               \
    X(curl_getdate)                                                                            \
    X(curl_global_init)                                                                        \
    X(curl_slist_append)                                                                       \
    X(curl_slist_free_all)                                                                     \
    X(curl_url)                                                                                \
    X(curl_url_cleanup)                                                                        \
    X(curl_url_get)                                                                            \
    X(curl_url_set)
typedef struct ot_curl {
    OT_CURL_FUNCTIONS(OT_BIND_FIELD)
} ot_curl;
extern ot_curl ot_curl_api;

/* http_curl.c: ETOOL or ENET with what helps where there is no curl. */
int ot_curl_open(optune_err *err);
/* The host alone: an address may hold a password. */
void ot_curl_host(const char *url, char *host, size_t size);

typedef struct ot_transfer {
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
    double apart;     /* seconds that the server's clock is ahead of ours; 0: not known */
    double pause;     /* as the server wants it; negative: it said nothing */
    char validator[sizeof((ot_http_reply *)0)->etag]; /* of what was had */
    char reason[CURL_ERROR_SIZE];
} ot_transfer;

/* ---- http_ask.c -------------------------------------------------------------------------- */
bool ot_transfer_stopped(const ot_transfer *t);
/* Whether it goes where a server leads it. */
bool ot_transfer_follows(const ot_transfer *t);
/* What is asked and how far it may go; *headers are the caller's to free, and live as long. `path`:
 * of what is put. */
int ot_transfer_ask(ot_transfer *t, const char *path, struct curl_slist **headers,
                    optune_err *err);

#endif
