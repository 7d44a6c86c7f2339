/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that GPU bodies share, tested by kernels of their own: compiled as a target compiles
 * bodies, and run, a block at a time, on the target `emulated`.
 */
#ifndef OPTUNE_TESTS_WORDS_H
#define OPTUNE_TESTS_WORDS_H

#include "optune/define.h"

typedef struct words {
    const optune_target_row *row;
    optune_target target;
    optune_device device;
    void *state, *module; /* NULL: nothing is run here */
    int blocks;           /* that a run has; 0: one */
    char dir[4096];
} words;

/* An array that a kernel gets, through a tensor map when there is one. */
typedef struct words_array {
    void *data;
    size_t bytes;
    const optune_tensor_map *map;
} words_array;

/* One of these for an object of this process. */
#define WORDS_ARRAY(x)                                                                         \
    {                                                                                          \
        .data = &(x), .bytes = sizeof(x)                                                       \
    }

/* Compiles these files of the source tree, one behind the other, for an emulated architecture and
 * loads them. Where the emulation is not there (tests/races) nothing is loaded. */
void words_open(words *w, const char *arch, const char *const *files);
void words_close(words *w);
/* Compiles them with NVRTC for such a target; skips where there is none. */
void words_compile_cuda(const char *target, const char *const *files);
/* Runs the blocks of a kernel on guarded copies of these arrays and reads all of them back. Skips
 * where nothing is loaded. */
void words_run(words *w, const char *kernel, int threads, const words_array *arrays, int n);
/* The same, where a launch may fail: what it was answered with. */
int words_try(words *w, const char *kernel, int threads, const words_array *arrays, int n,
              optune_err *failure);

#endif
