/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `optune emit` wrote into a folder below tuning_dir, built as a stranger would and loaded
 * into the test's own process.
 */
#ifndef OPTUNE_TESTS_EMITTED_H
#define OPTUNE_TESTS_EMITTED_H

#include <stddef.h>

typedef struct emitted {
    void *object;
    size_t (*workspace)(void);
    void (*init)(void *workspace, const void *const *input);
    void (*run)(void *workspace, const void *const *input, void *const *output);
    void (*close)(void *workspace);
} emitted;

/* Runs the build command in the comment of DIR/NAME.c, with `more` words, where nothing of ours is
 * to be found. */
void emitted_build(const char *dir, const char *name, const char *const *more);
/* DIR/NAME.so, built and opened for ever. */
void emitted_load(emitted *k, const char *dir, const char *name);

#endif
