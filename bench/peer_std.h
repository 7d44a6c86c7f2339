/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C++ standard library (and Highway's vqsort, where it was found) as peers of sort, argsort
 * and topk along the last axis. Compiled at -O3 -march=native where there is a C++ compiler.
 */
#ifndef OPTUNE_BENCH_PEER_STD_H
#define OPTUNE_BENCH_PEER_STD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_std { /* one call; values and indices are NULL where they are no output */
    const void *data;
    void *values, *indices;
    int64_t lines, n, k;
    bool is_float, ascend;
    int bits, index_bits;
    void *work; /* room for one line of pairs: 16 bytes an element */
} peer_std;

/* Names of the ways there are to do a call; NULL: no such way. `way` counts from 0. */
const char *peer_std_way(const peer_std *call, int way);
void peer_std_run(const peer_std *call, int way);

/* sort only, floats and integers of 32 and 64 bits; NULL: built without it. */
const char *peer_vqsort_way(const peer_std *call);
void peer_vqsort_run(const peer_std *call);

#ifdef __cplusplus
}
#endif
#endif
