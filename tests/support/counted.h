/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a plan for CPUs, compiled and loaded into this process, whose parallel loops a
 * team of two threads computes that is only played: part after part, the last one first, and a test
 * may look at what each part has done.
 */
#ifndef OPTUNE_TESTS_COUNTED_H
#define OPTUNE_TESTS_COUNTED_H

#include "strategy/inside.h"

typedef struct counted {
    const optune_plan *plan;
    void *module[OPTUNE_MAX_MODULES];
    unsigned char *scratch[OPTUNE_MAX_SCRATCH]; /* what lies behind it is looked at, too */
    char dir[1024];
} counted;

/* Of a task whose device has two threads. */
void counted_open(counted *c, const optune_task *task, const optune_plan *plan);
void counted_close(counted *c);

/* All stages, by the team or by each module itself; a write behind scratch memory fails the
 * test. `looks`, unless NULL, is called after each part that the team computes. Returns how many
 * loops the team had. */
int counted_compute(const counted *c, void *const *in, void *out, bool team,
                    void (*looks)(void *), void *context);

#endif
