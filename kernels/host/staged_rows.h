/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU rows share that fold short rows which lie one behind the other: a block copies a run of
 * many rows to shared memory in vectors of 16 bytes, whatever a row's own length allows
 * (kernels/common/staged_rows.kernel.h). Host code only.
 */
#ifndef OPTUNE_KERNELS_HOST_STAGED_ROWS_H
#define OPTUNE_KERNELS_HOST_STAGED_ROWS_H

#include "kernels/host/pattern_gpu.h"

typedef struct staged_rows {
    int64_t rows, count; /* how many there are, elements of each */
    int64_t bytes, held; /* of an element in memory, and as threads compute with it */
} staged_rows;

/* Whether a row is short enough for every device; else why not. */
bool staged_rows_apply(const staged_rows *r, char *why);

/* Whether rows walked in memory would be moved in pieces of less than 16 bytes, and there are
 * enough of them to occupy the device; else why not. */
bool staged_rows_pay(const optune_task *task, const staged_rows *r, char *why);

/* Knobs `threads` and `team`. */
void staged_rows_space(optune_space *space);
bool staged_rows_valid(const optune_task *task, const staged_rows *r,
                       const optune_config *config, char *why);
void staged_rows_fallback(const optune_task *task, const staged_rows *r,
                          const optune_space *space, optune_config *config);

/* As gpu_cost counts. */
double staged_rows_cost(const optune_task *task, const staged_rows *r,
                        const optune_config *config);

/* The knobs as macros of module m; the grid, block and shared memory of the stage. */
optune_stage staged_rows_stage(optune_plan *plan, int m, const staged_rows *r,
                               const optune_config *config);

#endif
