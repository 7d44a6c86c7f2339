/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch tables of a database that nothing was measured for. */
#ifndef OPTUNE_TESTS_TABLES_H
#define OPTUNE_TESTS_TABLES_H

#include <stdint.h>

struct optune;

/* A table of two rows of a workload with one dim: with their untuned configs one implementation
 * where the dim is at most `most`, in a plan for these sizes, and another one for all others. */
void tables_write(struct optune *o, const char *workload, int64_t most, const char *small,
                  const char *other);

#endif
