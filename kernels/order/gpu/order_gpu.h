/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ways in which sort, argsort and topk are computed on GPUs, as rows of any of them:
 * `bitonic` sorts lines that fit in shared memory, `runs` sorts pieces of longer ones there and
 * merges them pass by pass, `rounds` (topk) keeps the best of every piece until one piece is
 * left. Everything works on the bits of keys, so float64 needs nothing of the device.
 */
#ifndef OPTUNE_KERNELS_ORDER_GPU_H
#define OPTUNE_KERNELS_ORDER_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/order/order_rows.h"

enum { ORDER_PIECE_LEAST = 256, ORDER_PIECE_MOST = 4096, ORDER_MOST_PASSES = 14 };

/* 16-bit floats are ordered as the upper halves of keys of 32 bits. */
bool order_gpu_applies(const optune_task *task, char *why);

/* A module with what GPU bodies share but OUTER. */
int order_gpu_lines(const optune_task *task, optune_plan *plan);

static inline void order_pieces_knob(optune_space *space)
{
    optune_space_ints(space, "piece", 5, (const int64_t[]){256, 512, 1024, 2048, 4096});
}

void order_piece_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config, int64_t least);

bool order_bitonic_applies(const optune_task *task, char *why);

static inline void order_bitonic_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "threads", 6, (const int64_t[]){32, 64, 128, 256, 512, 1024});
}

bool order_bitonic_valid(const optune_task *task, const optune_config *config, char *why);

void order_bitonic_fallback(const optune_task *task, const optune_space *space,
                            optune_config *config);

void order_bitonic_plan(const optune_task *task, const optune_config *config,
                        optune_plan *plan);

double order_bitonic_estimate(const optune_task *task, const optune_config *config);

/* ---- runs: pieces, then merges ------------------------------------------------------------- */

bool order_runs_applies(const optune_task *task, char *why);

static inline void order_runs_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    order_pieces_knob(space);
}

bool order_runs_valid(const optune_task *task, const optune_config *config, char *why);

static inline void order_runs_fallback(const optune_task *task, const optune_space *space,
                                       optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    order_piece_fallback(task, space, config, gpu_power2(s.at.n) >> ORDER_MOST_PASSES);
}

double order_runs_estimate(const optune_task *task, const optune_config *config);

void order_runs_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- rounds: the best of every piece ------------------------------------------------------- */

bool order_rounds_applies(const optune_task *task, char *why);

bool order_rounds_valid(const optune_task *task, const optune_config *config, char *why);

static inline void order_rounds_fallback(const optune_task *task, const optune_space *space,
                                         optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    order_piece_fallback(task, space, config, gpu_power2(4 * s.k));
}

double order_rounds_estimate(const optune_task *task, const optune_config *config);

void order_rounds_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
