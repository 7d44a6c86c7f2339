/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four ways to scan, as rows of either operator: which shapes each can do, its knobs, its
 * fallback and its plan. `row` scans a contiguous axis in registers, `columns` and `sweep` have
 * neighbouring lines as lanes, `loop` is the plain one for everything. An impl_*.c takes the
 * functions of one of them; the operator's name tells which scan it is.
 */
#ifndef OPTUNE_KERNELS_SCAN_ROWS_H
#define OPTUNE_KERNELS_SCAN_ROWS_H

#include "kernels/scan/scan.h"

/* What any body asks, and what those ask that compute in the types they store. */
bool scan_fits(const optune_task *task, char *why);
bool scan_applies(const optune_task *task, char *why);

/* Bytes of what accumulates: 16-bit floats do so in float. */
static inline int64_t scan_elem(const scan_shape *s)
{
    return s->out.bits < 32 ? 4 : s->out.bits / 8;
}

/* A module with what the bodies share, which read elements of C type `in`, but OUTER, which is how
 * many lines there are in front of the axis; returns its index. */
int scan_module_of_lines(const optune_task *task, optune_plan *plan, const char *in);

/* A module with everything that those for CPUs share; returns its index. */
int scan_module(const optune_task *task, optune_plan *plan, bool stream);

/* ---- row: a contiguous axis -------------------------------------------------------------- */

bool scan_row_applies(const optune_task *task, char *why);

void scan_row_space(const optune_task *task, optune_space *space);

bool scan_row_valid(const optune_task *task, const optune_config *config, char *why);

void scan_row_fallback(const optune_task *task, const optune_space *space,
                       optune_config *config);

void scan_row_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- columns: neighbouring lines in registers -------------------------------------------- */

bool scan_columns_applies(const optune_task *task, char *why);

void scan_columns_space(const optune_task *task, optune_space *space);

bool scan_columns_valid(const optune_task *task, const optune_config *config, char *why);

void scan_columns_fallback(const optune_task *task, const optune_space *space,
                           optune_config *config);

void scan_columns_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- sweep: neighbouring lines in the first cache ---------------------------------------- */

void scan_sweep_space(const optune_task *task, optune_space *space);

bool scan_sweep_valid(const optune_task *task, const optune_config *config, char *why);

/* Whole rows, so that memory is read and written in one stream, as far as threads get work. */
void scan_sweep_fallback(const optune_task *task, const optune_space *space,
                         optune_config *config);

void scan_sweep_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- loop: one element at a time --------------------------------------------------------- */

static inline void scan_loop_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "lines", 4, (int64_t[]){1, 2, 4, 8});
}

bool scan_loop_valid(const optune_task *task, const optune_config *config, char *why);

static inline void scan_loop_fallback(const optune_task *task, const optune_space *space,
                                      optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    optune_config_choose_int(config, space, "lines", host_min(4, s.at.outer * s.at.inner));
}

void scan_loop_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* ---- strategies -------------------------------------------------------------------------- */

/* n: elements along the axis; lines: how many there are; width: those beside each other. */
bool scan_dim(const optune_call *call, const char *name, optune_dim *value);

#endif
