/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenBLAS as a peer of dense and batch_matmul, opened at run time. For a constant weight the
 * faster of both orders of the weight counts (it may be transposed beforehand, as ours may pack
 * it), and for a single row gemv competes, too.
 */
#ifndef OPTUNE_BENCH_PEER_OPENBLAS_H
#define OPTUNE_BENCH_PEER_OPENBLAS_H

#include "bench/bench.h"

/* What there is ("OpenBLAS 0.3.21, core SkylakeX"); false with the reason when there is
 * none. */
bool peer_openblas_there(bench *b, char *text, size_t size);

typedef struct peer_openblas peer_openblas;
/* Of the workload whose buffers are set: reads its inputs and writes its outputs there. */
peer_openblas *peer_openblas_open(bench *b);
void peer_openblas_close(peer_openblas *peer);
double peer_openblas_time(void *peer, int64_t count); /* an ot_timer */
const char *peer_openblas_how(const peer_openblas *peer);

#endif
