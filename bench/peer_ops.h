/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN 2.x as a peer of single ops: eltwise, binary, reduction ... A peer is named by its kind
 * and algorithm, "eltwise_relu", and works in the buffers of the workload, plain layouts only.
 */
#ifndef OPTUNE_BENCH_PEER_OPS_H
#define OPTUNE_BENCH_PEER_OPS_H

#include "bench/bench.h"

/* After bench_measuring: opens the library. `text`: "oneDNN 2.6.3", or why not. */
bool peer_ops_there(bench *b, char *text, size_t size);

typedef struct peer_ops peer_ops;
/* Of the workload whose buffers are set, verified; NULL: oneDNN does not do this. */
peer_ops *peer_ops_open(bench *b, const char *name);
void peer_ops_close(peer_ops *peer);
double peer_ops_time(void *peer, int64_t count); /* an ot_timer */
const char *peer_ops_how(const peer_ops *peer);  /* "oneDNN eltwise_relu jit:avx512" */

#endif
