/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call on a CUDA device that is only assumed: what rows take and refuse by arithmetic needs no
 * device, and no compiler.
 */
#ifndef OPTUNE_TESTS_ASSUMED_H
#define OPTUNE_TESTS_ASSUMED_H

#include "optune/define.h"

typedef struct assumption {
    optune_target target;
    optune_device device;
    optune_call call;
    optune_task task; /* of the three */
} assumption;
extern assumption assumed;

/* NULL: it stays as it was. */
void assume(const char *target, const char *call);
/* A test's setup: `cuda -arch=sm_80`. */
int assume_sm_80(void **state);

/* A knob of its fallback. */
int64_t untuned(const char *impl, const char *call, const char *knob);

/* Whether `impl` computes the call, and with its fallback but for `knob` (NULL: with that), and
 * why not. */
bool assumed_takes(const char *impl, const char *call, const char *knob, int64_t value,
                   char *why);
void check_takes(const char *impl, const char *call, const char *knob, int64_t value);
void check_refuses(const char *impl, const char *call, const char *knob, int64_t value,
                   const char *reason);

#endif
