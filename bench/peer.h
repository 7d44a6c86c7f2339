/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries as peers: which there are, under the names that they give themselves, each in a
 * process of its own, and the fastest of them in each row.
 *
 * The one idea: a process per library. Two of them in one process share what both bring (OpenMP,
 * TBB, symbols of the same name) and then neither is itself. A peer's process makes the same
 * buffers from the same seed, verifies what its library computes, and takes its turns when it is
 * told to through a pipe; nobody else runs meanwhile.
 */
#ifndef OPTUNE_BENCH_PEER_H
#define OPTUNE_BENCH_PEER_H

#include "bench/bench.h"

/* A way to call libraries of one interface. All of it runs in the peer's process. */
typedef struct bench_peer_kind {
    const char *library; /* as the target names it: cblas, dnnl */
    int major;           /* version that it calls; 0: any */
    /* Opens the library; false with the reason. */
    bool (*start)(bench *b, char *why, size_t size);
    /* Of the workload whose buffers are set: what is fastest, verified, and how it does it ("gemm,
     * packed before"). `free_layout`: formats of its own cost nothing. NULL with the reason: the
     * library does not do this. */
    void *(*open)(bench *b, bool free_layout, char *how, size_t size);
    void (*close)(void *opened);
    ot_timer time;
} bench_peer_kind;

extern const bench_peer_kind bench_peer_cblas, bench_peer_onednn2, bench_peer_onednn3;

typedef struct bench_peer {
    const bench_peer_kind *kind;
    char name[256];  /* "MKL 2026.2", "OpenBLAS 0.3.21 SkylakeX" */
    char path[4096]; /* empty: what the target finds */
    char how[256];   /* of the workload that is open */
    bool open;
    int pid, to, from;
} bench_peer;
typedef struct bench_peers {
    int n;
    bench_peer item[8];
} bench_peers;

/* What there is of these kinds (NULL-terminated), here and in the folder of scripts/peers.
 * `want`: the name of a library (openblas, mkl, onednn ...), "best" (all but the reference BLAS)
 * or a path. None: exits with 77 and says what there is instead. Before anything costs time. */
void bench_peers_find(bench_peers *peers, const bench_peer_kind *const *kind, const char *want);
/* After bench_measuring, before anything else runs in this process. */
void bench_peers_start(bench *b, bench_peers *peers);
/* Row `workload` of the bench's. At least one peer does it, or the bench ends. */
void bench_peers_open(bench *b, bench_peers *peers, int workload, bool free_layout);
/* Ours and all that are open in turn; the ratio is over the fastest of them. `how`: which that
 * is, what it does, and our speed over the others. */
bench_row bench_peers_compare(const bench *b, bench_ours *ours, bench_peers *peers, char *how,
                              size_t size);
void bench_peers_stop(bench_peers *peers);
/* Their names, for the heading. */
void bench_peers_names(const bench_peers *peers, char *to, size_t size);

#endif
