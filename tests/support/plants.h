/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin of tests/data/plants in a worker of the test's own: one candidate after another, and
 * what each leaves behind. Databases, caches, locks and temporary files lie in plants_dir.
 */
#ifndef OPTUNE_TESTS_PLANTS_H
#define OPTUNE_TESTS_PLANTS_H

#include "answer/answer.h"
#include "run/run.h"

typedef struct plant_result {
    int outcome; /* negative: no outcome but a status, the end of a run */
    double cost;
    char message[OPTUNE_ERR_SIZE];
} plant_result;

extern char plants_dir[1024], plants_plugin[1100];
/* `kind`: CHEATS, STATE_LEFT or WRECKS. */
int plants_setup(const char *kind);
int plants_teardown(void **state);

const char *plants_word(int outcome);

/* The workload of what follows. */
void plants_workload(const char *call);
/* Builds and tries an implementation's fallback; `limit_s` as in ot_trial. */
plant_result plants_trial(const char *impl, double limit_s);
/* Finals of some of them, in turns. */
void plants_finals(const char *const *impl, int n, plant_result *result);

/* What plant_honest.cpu last saw of its process (tests/data/plants/witness.kernel.c); "" when it
 * has not run since the last call. */
const char *plants_report(void);
/* Processes that plants of this program left behind and that are not gone within two seconds; they
 * are then killed. */
int plants_left(void);
/* Files of such ones in plants_dir, where temporary files go, and in the folder they ran in. */
int plants_files(void);

/* A test of one vandal: tries it, then honest candidates, which must be as good, and in a process
 * like that, as before it; the same for finals. No process and no file is left. */
void plants_harm_nobody(const char *id, double limit_s);

#endif
