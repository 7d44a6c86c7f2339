/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of outputs of a `standard`. Used by standard.c only. */
#ifndef OPTUNE_RUN_STANDARD_CHECK_H
#define OPTUNE_RUN_STANDARD_CHECK_H

#include "run/worker.h"

/* The bytes that outputs are full of in front of a first run, and of a second one. */
enum { OT_STANDARD_POISON = 0xff, OT_STANDARD_OTHER = 0xa9 };

/* EUSAGE: no element of an output of floats is a number. */
int ot_standard_numbers(const optune_call *call, void *const *out, optune_err *err);
/* Whether an element may not have been written, or be computed from what was there: a second run,
 * over the other bytes, tells. */
bool ot_standard_doubtful(const optune_call *call, void *const *out);
/* Output `o` of both runs: which elements were not written becomes *left, for the caller to free;
 * NULL: all were. EUSAGE: one follows from what was there. */
int ot_standard_left(const optune_call *call, int o, const void *once, const void *again,
                     bool **left, optune_err *err);
/* EUSAGE: output `o` is not what the file says, within the operator's tolerance. */
int ot_standard_against(const optune_call *call, int o, const void *got, const char *path,
                        optune_err *err);

#endif
