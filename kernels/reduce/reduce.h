/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations of reductions share: the input as loops that are kept and loops that are
 * reduced, and the macros of the expressions. Rows only.
 */
#ifndef OPTUNE_KERNELS_REDUCE_H
#define OPTUNE_KERNELS_REDUCE_H

#include "kernels/host/lead.h"
#include "kernels/host/pattern.h"

/* The input's loops in memory order: kept and reduced ones in turn, the innermost of stride 1. */
typedef struct reduce_loops {
    int n_kept, n_reduced;
    int64_t kept[OPTUNE_MAX_RANK], kept_stride[OPTUNE_MAX_RANK];
    int64_t reduced[OPTUNE_MAX_RANK], reduced_stride[OPTUNE_MAX_RANK];
    int64_t outputs, count; /* products of the extents, the most they can be */
    int lead;               /* leading dims, all kept, of which some are known at run time */
    int64_t inside;         /* outputs behind these */
    bool inner;             /* the innermost loop is reduced */
} reduce_loops;

reduce_loops reduce_loops_of(const optune_call *call);

/* What CPU templates of reductions ask for: pattern_applies, or leading dims that are known at run
 * time and kept. */
bool reduce_applies(const optune_task *task, char *why);

/* Whether the innermost dim is reduced, or kept, as a template needs it; else why not. */
bool reduce_innermost(const optune_task *task, bool reduced, char *why);

/* Extent of the innermost dim. */
int64_t reduce_row(const reduce_loops *r);

/* Text that turns number `name` of some loops, innermost fastest, into an offset. */
void reduce_define_offset(optune_plan *plan, int m, const char *macro, const char *name, int n,
                          const int64_t *extent, const int64_t *stride);

/* Expressions; the numbers of values and outputs; how the input is cut in parts; IN_T as `type`. */
void reduce_define_as(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                      int64_t parts, const char *type);

/* The same for CPUs, and types. */
void reduce_define(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                   int64_t parts);

/* One stage, or with parts a second one that combines what they left. */
void reduce_stages(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                   int64_t parts);

/* Collapsing fails for nobody; only what pattern_applies asks. */
static inline int64_t reduce_lanes(const optune_task *task)
{
    const int64_t bytes = task->device->vector_bytes > 0 ? task->device->vector_bytes : 16;
    return bytes / pattern_bytes(task->call->input[0].type.dtype);
}

static inline int64_t reduce_threads(const optune_task *task)
{
    return task->device->threads > 1 ? task->device->threads : 1;
}

/* Knob `parts`: of the reduced values, for threads to share when there are few outputs. */
void reduce_space_parts(const optune_task *task, const reduce_loops *r, int64_t splittable,
                        optune_space *space);

#endif
