/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedules of pooling as rows see them: for each of plain, direct, rows, flat and block
 * whether it applies, its knobs, its fallback and its plan. The body of a schedule walks over
 * what kernels/pool/compute.kernel.h computes; another pooling's body includes its own compute
 * in front of it.
 */
#ifndef OPTUNE_KERNELS_POOL_SCHEDULES_H
#define OPTUNE_KERNELS_POOL_SCHEDULES_H

#include "kernels/pool/pool.h"

#define POOL_ROW(op_, name_, schedule, text) POOL_ROW_OF(op_, name_, schedule, text, "data.0")

/* The same of a schedule that takes these dims at run time. */
#define POOL_ROW_OF(op_, name_, schedule, text, dims)                                          \
    {                                                                                          \
        .op = op_, .name = name_, .summary = text, .applies = schedule##_applies,              \
        .space = schedule##_space, .fallback = schedule##_fallback, .valid = schedule##_valid, \
        .plan = schedule##_plan, .symbolic = dims                                              \
    }

/* A row for each operator whose compute is kernels/pool/compute.kernel.h. */
#define POOL_ROWS(suffix, schedule, text) POOL_ROWS_OF(suffix, schedule, text, "data.0")

#define POOL_ROWS_OF(suffix, schedule, text, dims)                                             \
    {                                                                                          \
        POOL_ROW_OF("max_pool2d", "max_pool2d" suffix, schedule, text, dims),                  \
            POOL_ROW_OF("avg_pool2d", "avg_pool2d" suffix, schedule, text, dims),              \
        {                                                                                      \
            .op = NULL                                                                         \
        }                                                                                      \
    }

static const int64_t pool_tiles[] = {1, 2, 4};

/* ---- plain ------------------------------------------------------------------------------- */

static inline bool pool_plain_applies(const optune_task *task, char *why)
{
    pool_shape s;
    pool_forward_most(task->call, &s);
    return pool_applies(task, &s, why);
}

void pool_plain_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#define pool_plain_space NULL
#define pool_plain_fallback NULL
#define pool_plain_valid NULL

/* ---- direct ------------------------------------------------------------------------------ */

bool pool_direct_applies(const optune_task *task, char *why);

void pool_direct_space(const optune_task *task, optune_space *space);

void pool_direct_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config);

bool pool_direct_valid(const optune_task *task, const optune_config *config, char *why);

void pool_direct_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- rows -------------------------------------------------------------------------------- */

bool pool_rows_applies(const optune_task *task, char *why);

void pool_rows_space(const optune_task *task, optune_space *space);

void pool_rows_fallback(const optune_task *task, const optune_space *space,
                        optune_config *config);

bool pool_rows_valid(const optune_task *task, const optune_config *config, char *why);

void pool_rows_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

bool pool_flat_applies(const optune_task *task, char *why);

void pool_flat_space(const optune_task *task, optune_space *space);

void pool_flat_fallback(const optune_task *task, const optune_space *space,
                        optune_config *config);

bool pool_flat_valid(const optune_task *task, const optune_config *config, char *why);

void pool_flat_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

bool pool_block_applies(const optune_task *task, char *why);

static inline void pool_block_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "tile_oh", 3, pool_tiles);
    optune_space_ints(space, "tile_ow", 7, (const int64_t[]){1, 2, 3, 4, 6, 8, 12});
}

void pool_block_fallback(const optune_task *task, const optune_space *space,
                         optune_config *config);

bool pool_block_valid(const optune_task *task, const optune_config *config, char *why);

void pool_block_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
