/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A builder and a worker for one target, in a folder of their own: what a test needs to build,
 * run and verify implementations without a run, a search or a database.
 */
#ifndef OPTUNE_TESTS_WORKBENCH_H
#define OPTUNE_TESTS_WORKBENCH_H

#include "answer/answer.h"
#include "run/run.h"

typedef struct workbench {
    optune_target target;
    optune_device device;
    const optune_target_row *row;
    ot_builder *builder;
    ot_worker *worker;
    char text[64]; /* the target's */
    char dir[4096];
    bool emulated; /* the target is tests/data/plugin_emulated.c's */
    char *plugins[2];
    int failed; /* configs that were wrong: one_config.h */
} workbench;

/* Looks for the target's device, which may be changed before the start. False, and the reason
 * on the screen: there is none here, and nothing is to be closed. Where OPTUNE_TEST_EMULATED names
 * a target, `cuda`, its device computes what the emulation would, if it is of that architecture. */
bool workbench_find(workbench *b, const char *target);
void workbench_start(workbench *b);
/* Fails the test where a config was wrong. */
void workbench_close(workbench *b);

/* What the first argument of a contract's program names: a target, with how much of it is done. */
typedef struct workbench_contract {
    const char *word, *target;
    int configs, thin;
} workbench_contract;
/* The test that the first argument names, called with its contract as its state; the exit code of a
 * program. -1: no argument; 2: none has that name. */
int workbench_contract_run(int argc, char **argv, const workbench_contract *contracts, int n,
                           void (*test)(void **state));

/* For tests to which only correctness matters: measures as little as possible. */
extern const ot_measure_policy workbench_quick;

/* Whether OPTUNE_TEST_IMPL, when it is set, names this one, and OPTUNE_TEST_WITHOUT, names with
 * spaces between, does not. */
bool workbench_wants(const char *impl);

/* One sample in so many: `thin` times OPTUNE_TEST_THIN, twice where races are looked for, and all
 * of one implementation that OPTUNE_TEST_IMPL names. */
int workbench_thin(int thin);
/* Whether OPTUNE_TEST_THIN asks for less than everything: contracts that compute some calls alike
 * share them then, each in one. Not of one implementation that OPTUNE_TEST_IMPL names. */
bool workbench_shares(void);
/* Under OPTUNE_TEST_THIN=n, whether this is one of those of which less is asked: of the
 * implementations that a row of a pattern makes, the same bodies with an expression each, one in n
 * is asked all, another one with another OPTUNE_TEST_SEED. One that OPTUNE_TEST_IMPL names is. */
bool workbench_brief(const optune_impl *const *impl, int i);
/* The number in this variable of the environment, where there is one from 0 to 59. */
int workbench_asked(const char *name, int otherwise);
/* The seed in OPTUNE_TEST_SEED, else this one. */
uint64_t workbench_seed(uint64_t otherwise);

#endif
