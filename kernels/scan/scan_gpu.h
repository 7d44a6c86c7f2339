/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to scan on GPUs that wait for no other block, as rows of either operator: `team` for a
 * contiguous axis, `across` for neighbouring lines side by side. Where there are few lines, blocks
 * take parts of them: a first stage leaves what each part amounts to, the second begins with what
 * is before it. Those that look back are scan_lookback.h's.
 */
#ifndef OPTUNE_KERNELS_SCAN_GPU_H
#define OPTUNE_KERNELS_SCAN_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/scan/scan_rows.h"

/* 16-bit floats are read and written, too. */
bool scan_gpu_applies(const optune_task *task, char *why);

/* A module with what GPU bodies share but OUTER. */
int scan_gpu_module(const optune_task *task, optune_plan *plan);

/* ---- team: a contiguous axis -------------------------------------------------------------- */

static inline bool scan_team_applies(const optune_task *task, char *why)
{
    return scan_gpu_applies(task, why) && (scan_shape_of(task->call).at.inner == 1 ||
                                           optune_refuse(why, "is for a contiguous axis"));
}

void scan_team_space(const optune_task *task, optune_space *space);

bool scan_team_valid(const optune_task *task, const optune_config *config, char *why);

void scan_team_fallback(const optune_task *task, const optune_space *space,
                        optune_config *config);

double scan_team_estimate(const optune_task *task, const optune_config *config);

void scan_team_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- across: neighbouring lines ------------------------------------------------------------ */

void scan_across_space(const optune_task *task, optune_space *space);

bool scan_across_valid(const optune_task *task, const optune_config *config, char *why);

void scan_across_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config);

double scan_across_estimate(const optune_task *task, const optune_config *config);

void scan_across_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
