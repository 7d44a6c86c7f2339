/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that call a vendor's library, on machines without a GPU: they are C for the host, so a
 * stand-in that computes what the library's interface promises takes the library's place, and the
 * output is compared with the operator's reference.
 */
#ifndef OPTUNE_TESTS_HOST_BODY_H
#define OPTUNE_TESTS_HOST_BODY_H

#include "answer/answer.h"

/* What a plan's stages say "ot_stream" and scratch buffers are; these have no contents. */
extern char host_body_stream[1], *host_body_scratch;

typedef struct host_body {
    void *(*symbol)(const char *name); /* the stand-in's; fails the test where it has none */
    void (*between)(void);             /* after the first stages, and after the timed ones */
    int runs;                          /* of the timed stages */
    double tolerance;                  /* as a share of the sum of magnitudes */
} host_body;

/* A group's fixtures; "cuda -arch=sm_80". 0. */
int host_body_setup(const char *target);
int host_body_teardown(void **state);

/* Compiles and runs `impl` on the workload with its config `config`, NULL: the fallback's, else the
 * only one. False: it does not apply, or has no plain float types. */
bool host_body_try(const host_body *body, const optune_impl *impl, const char *workload,
                   const char *config);
/* The same on all samples of the operator, of which so many at least must apply. */
void host_body_try_samples(const host_body *body, const char *impl, int least);

/* The same step by step, of one body at a time: loaded with input and output; its stages of a
 * phase; nothing was said to fail, or `what` was, which is forgotten then; the output compared and
 * overwritten; all of it closed. */
bool host_body_open(const host_body *body, const optune_impl *impl, const char *workload,
                    const char *config);
void host_body_run(optune_phase phase, void *stream);
void host_body_said(const char *what);
void host_body_compare(void);
void host_body_close(void);

#endif
