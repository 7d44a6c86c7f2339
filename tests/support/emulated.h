/* SPDX-License-Identifier: Apache-2.0 */
/* The target `emulated` (tests/data/plugin_emulated.c), for tests of bodies with tensor-core
 * words. */
#ifndef OPTUNE_TESTS_EMULATED_H
#define OPTUNE_TESTS_EMULATED_H

/* Builds the plugin in `dir` and takes it into this process; its path, for workers. The test
 * fails when it cannot be done. */
char *emulated_plugin(const char *dir);

#endif
