/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of one short real run, as material for forgeries: a test changes what they say, puts
 * them into databases of its own, and looks at what is answered.
 */
#ifndef OPTUNE_TESTS_FORGED_H
#define OPTUNE_TESTS_FORGED_H

#include "support/tuning.h"

#define FORGED_WORKLOAD "dense(f32[16,64], const f32[32,64])"

extern tuning_records forged_run; /* what is in tuning_dir/tuned, too */
int forged_setup(void **state);   /* of a group: runs it, and tuning_setup */
int forged_teardown(void **state);

/* Into tuning_dir/DB, made when absent; `device` may be NULL. */
void forged_put(const char *db, const optune_record *record, int n,
                const optune_device *device);
/* All of the run's, each changed by `forge`. */
void forged_db(const char *db, void (*forge)(optune_record *), const optune_device *device);

#endif
