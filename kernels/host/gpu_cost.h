/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel costs on a GPU by arithmetic: how many of its blocks a core holds, how many waves
 * of them there are, and which of instructions, memory and latency bounds each. For `estimate` of
 * rows, whose configs it compares; not a time. Host code only.
 */
#ifndef OPTUNE_KERNELS_HOST_GPU_COST_H
#define OPTUNE_KERNELS_HOST_GPU_COST_H

#include "kernels/host/gpu_limits.h"
#include "kernels/host/host.h"

/* Cycles: until memory answers, and of a barrier with what a warp needs to go on behind it. */
enum { GPU_LATENCY = 700, GPU_BARRIER = 40 };

/* One launch. What is said of a block is one block's, with all that lies outside the output. */
typedef struct gpu_work {
    int64_t blocks, threads; /* threads of a block */
    int64_t registers;       /* of a thread */
    int64_t shared;          /* bytes of a block */
    double instructions;     /* of a warp */
    double bytes;            /* that a block moves to and from memory */
    double cached;   /* and to and from the cache that all cores share, these among them */
    double waits;    /* times in a row that a warp waits for memory */
    double barriers; /* and for its block */
    double pipe;     /* cycles of a core for a block in another unit than issue that may be
                                busier: tensor cores, shared memory */
} gpu_work;

/* Bytes that really move for `count` runs of `run` bytes side by side: sectors of 32. */
double gpu_sectors(double count, int64_t run);

/* Blocks that a core holds at once, at least 1. */
int64_t gpu_resident(const optune_task *task, const gpu_work *w);

/* Cycles of the launch. NAN on what is no GPU: a CPU behind OpenCL knows no warps. */
double gpu_cost(const optune_task *task, const gpu_work *w);

/* Waits of `steps` whose loads are issued `ahead` steps before their use; a step takes `cycles`. */
double gpu_exposed(double steps, int64_t ahead, double cycles);

/* The logarithm of a power of two. */
int gpu_log2(int64_t n);

/* Bytes of a whole call that are read and written once, as a launch that streams them. */
double gpu_stream(const optune_task *task, double bytes);

#endif
