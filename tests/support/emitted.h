/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `optune emit` wrote into a folder below tuning_dir, built as a stranger would and loaded
 * into the test's own process.
 */
#ifndef OPTUNE_TESTS_EMITTED_H
#define OPTUNE_TESTS_EMITTED_H

#include <stddef.h>

#include "base/base.h"

/* Options that have AddressSanitizer look at what was emitted, behind all others. Instrumented,
 * unrolled loops take up to twelve times as long to compile with an optimizer. */
#define EMITTED_CHECKED "-Og -g -fsanitize=address"

typedef struct emitted {
    void *object;
    size_t (*workspace)(void);
    void (*init)(void *workspace, const void *const *input);
    void (*run)(void *workspace, const void *const *input, void *const *output);
    void (*close)(void *workspace);
} emitted;

/* A shell's words in tuning_dir/DIR with nothing of ours in the environment; the exit code, and
 * what they said in `said` (NULL: told where they fail). */
int emitted_command(const char *dir, const char *words, ot_text *said);
/* Runs the build command in the comment of DIR/NAME.c, with `more` words, where nothing of ours is
 * to be found. */
void emitted_build(const char *dir, const char *name, const char *const *more);
/* DIR/NAME.so, built and opened for ever. */
void emitted_load(emitted *k, const char *dir, const char *name);

#endif
