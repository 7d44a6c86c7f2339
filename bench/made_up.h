/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases of records that are made up, for benches of the store and of its answers: what they
 * say changes no time.
 */
#ifndef OPTUNE_BENCH_MADE_UP_H
#define OPTUNE_BENCH_MADE_UP_H

#include <time.h>

#include "bench/bench.h"

enum { MADE_UP_SAMPLES = 10 };

/* On one thread of this machine, of which it is known; ends the program where it cannot be. */
optune *made_up_handle(const char *db);
/* Record i of a question of the handle: a random config, a cost that differs, in sample[] those of
 * MADE_UP_SAMPLES runs. Texts are in the arena. */
void made_up_record(optune *o, const optune_call *call, const optune_impl *impl,
                    optune_space *space, uint64_t *rng, int i, optune_record *r, double *sample,
                    ot_arena *arena);
/* Seconds that the thread, or the process, has had of a processor. */
double made_up_processor_s(clockid_t whose);

#endif
