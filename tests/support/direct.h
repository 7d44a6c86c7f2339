/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An implementation of a call built and run in the test's own process on the test's own data:
 * for what the inputs of the tuner never hold, NaN, ties, extreme integers. cpu, one thread.
 */
#ifndef OPTUNE_TESTS_DIRECT_H
#define OPTUNE_TESTS_DIRECT_H

#include "answer/answer.h"
#include "run/run.h"

typedef struct direct direct;

/* NULL where the implementation does not apply. Fails the test when it does not build. The
 * config is the fallback for `random` 0, else the random-th valid one drawn. */
direct *direct_open(const optune_impl *impl, const char *call, int random);
/* The same of the configs whose plan is `wanted`, the fallback for `random` 0 if it is; NULL, too,
 * where none of some hundreds is. */
direct *direct_open_where(const optune_impl *impl, const char *call, int random,
                          bool (*wanted)(const optune_plan *plan));
void direct_close(direct *d);
const optune_call *direct_call(const direct *d);
/* Runs every stage on these buffers, dense and row-major. */
void direct_run(direct *d, const void *const *in, void *const *out);

#endif
