/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between http.c, which speaks with servers, and http_file.c, which does the same to folders.
 * Nothing outside db/ includes this.
 */
#ifndef OPTUNE_DB_HTTP_H
#define OPTUNE_DB_HTTP_H

#include "db/db.h"

extern double ot_http_pause_s; /* before the second try; tests make it short */

/* Addresses file:///PATH, as ot_http_get and ot_http_put. A file's ETag is a digest of its bytes;
 * who writes holds the lock of its folder meanwhile. */
int ot_http_file_get(const char *url, const char *path, const ot_http *how,
                     ot_http_reply *reply, optune_err *err);
int ot_http_file_put(const char *url, const char *path, const ot_http *how,
                     ot_http_reply *reply, optune_err *err);

#endif
