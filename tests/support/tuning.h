/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs in a temp dir: databases, the cache of compiled candidates and the lock of the
 * device are all in there, so that tests meet neither the user's files nor other runs.
 */
#ifndef OPTUNE_TESTS_TUNING_H
#define OPTUNE_TESTS_TUNING_H

#include <jansson.h>

#include "answer/answer.h"
#include "run/run.h"

extern char tuning_dir[1024];
int tuning_setup(void **state); /* of a group */
int tuning_teardown(void **state);

/* tuning_dir/NAME, in a buffer that the eighth next call overwrites. */
const char *tuning_path(const char *name);
/* A handle on tuning_dir/DB for one thread of this machine. */
optune *tuning_open(const char *db);
/* The same answering for a stored device; other options as given. */
optune *tuning_open_with(const char *db, optune_options options);
/* Runs and parses what it says; fails the test unless the run ends with `status`. Options are
 * completed: size, and a limit that ends a run that hangs. New reference. */
json_t *tuning_run(optune *o, optune_run_options options, int status);
/* One workload of one op on the named implementation (NULL: all). */
json_t *tuning_run_one(optune *o, const char *op, const char *workload, const char *impl,
                       int trials);
/* What a selection says: "impl config tier cost", to be released with free. */
char *tuning_answer(optune *o, const char *workload);
/* Its JSON, parsed. New reference. */
json_t *tuning_parse(const char *text);
json_int_t tuning_int(const json_t *object, const char *name); /* fails the test when absent */
const char *tuning_text(const json_t *object, const char *name);
const json_t *tuning_workload(const json_t *run, size_t i); /* run.workloads[i] */

/* Every record of a store. */
typedef struct tuning_records {
    ot_arena arena;
    optune_record *record;
    int n;
} tuning_records;
void tuning_read(const char *db, tuning_records *records);
/* The files DB/logs/ *.log, oldest name first; `each` gets their paths. Returns how many. */
int tuning_logs(const char *db, void (*each)(void *arg, const char *path), void *arg);

#endif
