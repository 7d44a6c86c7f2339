/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN 2.x as a peer of conv2d: the fastest of the algorithms direct, winograd (asked for
 * explicitly, its `auto` never takes it) and auto, with the formats it prefers and with plain
 * ones. A constant weight is reordered beforehand, as ours is packed.
 */
#ifndef OPTUNE_BENCH_PEER_ONEDNN_H
#define OPTUNE_BENCH_PEER_ONEDNN_H

#include "bench/bench.h"

/* Whether this bench was built with oneDNN's header; false with what to install. */
bool peer_onednn_built(char *why, size_t size);
/* After bench_measuring: opens the library. `text`: "oneDNN 2.6.3", or why not. */
bool peer_onednn_there(bench *b, char *text, size_t size);

typedef struct peer_onednn peer_onednn;
/* Of the workload whose buffers are set, in NCHW. `free_layout`: data and output may stay in
 * any format; otherwise both are NCHW, and a format of its own costs reorders inside the
 * time. */
peer_onednn *peer_onednn_open(bench *b, bool free_layout);
void peer_onednn_close(peer_onednn *peer);
double peer_onednn_time(void *peer, int64_t count); /* an ot_timer */
/* "direct jit:avx512_core any + reorders" */
const char *peer_onednn_how(const peer_onednn *peer);

#endif
