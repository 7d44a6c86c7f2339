/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One config of one implementation, its knobs set by the test: computed and verified on a
 * workbench, or compiled for a CUDA device that is only assumed.
 */
#ifndef OPTUNE_TESTS_ONE_CONFIG_H
#define OPTUNE_TESTS_ONE_CONFIG_H

#include "support/workbench.h"

/* Changes a fallback config; the result is in the space. */
typedef void knobs_set(optune_config *config, const optune_space *space, const void *knobs);

typedef struct one_config {
    const char *impl;
    knobs_set *set;
    const void *knobs;
} one_config;

/* Whether it is valid for assumed.task, and why not. */
bool one_config_valid(const one_config *c, char *why);

/* The workload becomes assumed.call. Where it is wrong the workbench knows, so that all of a table
 * are asked; where it is refused the test fails at once. */
void one_config_compute(workbench *b, const char *workload, const one_config *c);

/* What ptxas says that the kernel of assumed.task is launched with. Fails the test where it warns
 * or spills. -1: there is no NVRTC here. */
int64_t one_config_registers(const one_config *c);

#endif
