/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs that an operator's `standard` computes. Used by reference.c only. */
#ifndef OPTUNE_RUN_STANDARD_H
#define OPTUNE_RUN_STANDARD_H

#include "run/worker.h"

/* Into out[i], as many bytes as output i has. left[i]: which of its elements were not written, for
 * the caller to free; NULL: none. The implementation is built beside `path` and stays there.
 * Whatever goes wrong names the implementation: it refuses its own default, cannot be compiled,
 * crashes, writes where it must not, takes more than a minute, leaves processes behind, computes
 * with what its outputs hold before. EINTERRUPTED: nobody is at the other end of *asker (NULL:
 * nobody asks), and whatever it started is ended. */
int ot_standard_run(const optune_call *call, const void *const *in, const optune_target *target,
                    const optune_device *device, const int *asker, const char *path,
                    void *const *out, bool *left[OPTUNE_MAX_OUTPUTS], optune_err *err);

#endif
