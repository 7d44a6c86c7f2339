/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What softmax's rows share: the call as [outer, n, inner] with n the axis, and the macros that
 * bake it into a body.
 */
#ifndef OPTUNE_KERNELS_SOFTMAX_H
#define OPTUNE_KERNELS_SOFTMAX_H

#include "kernels/host/lead.h"
#include "kernels/host/tensor.h"

typedef struct softmax_shape {
    int64_t outer, n, inner; /* outer and n: the most, where they are known at run time */
    bool n_varies;
    bool f64;
} softmax_shape;

/* The axis counted from the front; negative when the rank is unknown or too small. */
static inline int softmax_axis(const optune_call *call)
{
    const int64_t axis = optune_call_int(call, "axis");
    const int rank = call->input[0].type.rank;
    return (int)(axis < 0 ? axis + rank : axis < rank ? axis : -1);
}

/* False while anything but the axis, where it is the last dim, and dims in front of it is unknown;
 * these may be known at run time, and count as the most they can be. */
bool softmax_shape_of(const optune_call *call, softmax_shape *s);

/* Whether its shapes, the axis a constant, are what rows compute, in any type. */
bool softmax_fits(const optune_task *task, softmax_shape *s, char *why);

bool softmax_applies(const optune_task *task, softmax_shape *s, char *why);

/* The same where the axis, the last dim, may be known at run time. */
bool softmax_rows_apply(const optune_task *task, softmax_shape *s, char *why);

static inline int64_t softmax_elem(const softmax_shape *s)
{
    return s->f64 ? 8 : 4;
}

/* Lanes of the widest vector that `most` elements fill; never less than 16 bytes. */
int64_t softmax_lanes(const optune_task *task, const softmax_shape *s, int64_t most);

static inline int softmax_registers(const optune_task *task)
{
    return task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
}

/* OUTER (where `arg` is in scope) AXIS INNER, DTYPE and VEC_BYTES. Of an axis known at run time
 * AXIS is the most, and AXIS_ARG the stage's argument (0: it is a constant). */
int softmax_module(const optune_task *task, optune_plan *plan, const softmax_shape *s,
                   int64_t lanes);

void softmax_stage(const optune_task *task, optune_plan *plan, int module);

#endif
