/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real TLS server on loopback for tests: `openssl s_server` over a folder, with a certificate
 * of its own made on the spot. It ends with the test, or at the latest after a minute.
 */
#ifndef OPTUNE_TESTS_HTTPS_H
#define OPTUNE_TESTS_HTTPS_H

#include "base/base.h"

typedef struct https_server {
    ot_child child;
    char dir[4096];     /* what it serves; the working directory while it starts */
    char ca_file[4200]; /* its certificate */
    int port;
} https_server;

/* False when there is no `openssl` program. Fails the test on anything else. */
bool https_start(https_server *server);
void https_stop(https_server *server);
/* Puts a file there, in full: `head` are the lines of the response with "\r\n" each. */
void https_put(https_server *server, const char *name, const char *head, const char *body);
/* "https://127.0.0.1:PORT/NAME", in a buffer that the second next call overwrites. */
const char *https_url(const https_server *server, const char *name);
/* A self-signed certificate for 127.0.0.1 and its key. */
void https_certificate(const char *certificate, const char *key);

#endif
