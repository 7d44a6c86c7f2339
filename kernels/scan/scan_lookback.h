/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans that read their input once, by decoupled look-back (kernels/scan/lookback.kernel.h), as
 * rows of either operator: `lookback` for a contiguous axis, `lookback_across` for a strided one.
 * Blocks wait for those of earlier turns, which CUDA alone lets them do.
 */
#ifndef OPTUNE_KERNELS_SCAN_LOOKBACK_ROWS_H
#define OPTUNE_KERNELS_SCAN_LOOKBACK_ROWS_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/scan/scan_gpu.h"

/* ---- a contiguous axis -------------------------------------------------------------------- */

bool scan_lookback_applies(const optune_task *task, char *why);

void scan_lookback_space(const optune_task *task, optune_space *space);

bool scan_lookback_valid(const optune_task *task, const optune_config *config, char *why);

void scan_lookback_fallback(const optune_task *task, const optune_space *space,
                            optune_config *config);

double scan_lookback_estimate(const optune_task *task, const optune_config *config);

void scan_lookback_plan(const optune_task *task, const optune_config *config,
                        optune_plan *plan);

/* ---- a strided one ------------------------------------------------------------------------- */

bool scan_lookback_across_applies(const optune_task *task, char *why);

void scan_lookback_across_space(const optune_task *task, optune_space *space);

bool scan_lookback_across_valid(const optune_task *task, const optune_config *config,
                                char *why);

void scan_lookback_across_fallback(const optune_task *task, const optune_space *space,
                                   optune_config *config);

double scan_lookback_across_estimate(const optune_task *task, const optune_config *config);

void scan_lookback_across_plan(const optune_task *task, const optune_config *config,
                               optune_plan *plan);

#endif
