/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows of many operators share: the text of a type for messages, axes counted from the
 * end, and the numbers of a device with a modest machine in place of what is unknown. Host code
 * only, bodies never include it. It owns nothing and allocates nothing.
 */
#ifndef OPTUNE_KERNELS_HOST_HOST_H
#define OPTUNE_KERNELS_HOST_HOST_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/common/shares.shared.h"
#include "optune/define.h"

enum { HOST_TYPE_TEXT = 192 };

/* "f32[128,?]", for messages only. Returns `text`. */
const char *host_type_text(const optune_tensor *type, char text[HOST_TYPE_TEXT]);

/* One failed agreement, naming both arguments and both types. */
int host_conflict(optune_err *err, const char *what, const char *a_name, const optune_tensor *a,
                  const char *b_name, const optune_tensor *b);

static inline optune_attr *host_attr(optune_call *call, const char *name)
{
    return &call->attr[optune_call_attr(call, name) - call->attr];
}

/* The gradient of what is flat wherever it has a slope, or does not change with its inputs. */
int host_flat_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

/* A value of a gradient in another floating dtype; itself where it has that. */
int host_cast(optune_grad *grad, int value, optune_dtype dtype);

/* ---- sizes of dims: 0 to OPTUNE_DIM_MAX, which is as large as any ---------------------------- */
int64_t host_dim_plus(int64_t a, int64_t b); /* b may be negative: not below 0 */
int64_t host_dim_times(int64_t a, int64_t b);
/* Intersects d with [lo, hi]; false: nothing is left. A range without an end that says no more than
 * "positive" says nothing, so that an unknown dim stays as it was written. */
bool host_dim_narrow(optune_dim *d, int64_t lo, int64_t hi);

/* The attribute `axis` of a tensor `data` of known rank, as -1 for the last dim and counted
 * from the front otherwise, so that two ways of writing one question are one text. */
int host_axis_settle(optune_call *call, const optune_tensor *data, optune_err *err);

/* A tensor seen as [outer][n][inner] around an axis. */
typedef struct host_axis {
    int64_t outer, n, inner;
} host_axis;

host_axis host_around(const optune_tensor *type, int64_t axis);

/* ---- dtypes ------------------------------------------------------------------------------ */

static inline bool host_is_float(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT;
}

/* A floating type of any width. */
static inline bool host_is_real(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
}

/* float32, float64, int32, int64: what generated bodies compute in. */
static inline bool host_computes(optune_dtype dtype)
{
    return (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_INT) &&
           (dtype.bits == 32 || dtype.bits == 64) && dtype.lanes == 1;
}

/* The C name of a type in a body that includes kernels/common/cpu.kernel.h; NULL: it has none. */
const char *host_c_type(optune_dtype dtype);

/* ---- devices ----------------------------------------------------------------------------- */

static inline int64_t host_vector_bytes(const optune_task *task)
{
    return task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
}

static inline int64_t host_l2(const optune_task *task)
{
    return task->device->l2 > 0 ? task->device->l2 : 256 << 10;
}

/* More than this does not stay in the caches of one core. */
static inline int64_t host_far(const optune_task *task)
{
    return task->device->l3 > 0 ? task->device->l3 / 2 : 4 << 20;
}

static inline int64_t host_threads(const optune_task *task)
{
    return task->device->threads > 0 ? task->device->threads : 1;
}

static inline int64_t host_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t host_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t host_ceil(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- loops that threads share: each takes some tasks at once, until none is left ------------- */

enum { HOST_THREAD_TASKS = 4 }; /* of a thread at least, so that a slower core does fewer */

/* So many of a loop's; 1 where nobody shares. */
static inline int64_t host_tasks(const optune_task *task)
{
    const int64_t threads = host_threads(task);
    return threads == 1 ? 1 : HOST_THREAD_TASKS * threads;
}

/* Pieces of an axis, see even_pieces. */
static inline int64_t host_even_pieces(const optune_task *task, int64_t turns, int64_t pieces,
                                       int64_t most)
{
    return even_pieces(host_threads(task), turns, pieces, most);
}

/* What is waited at the end of a loop for a core that is slower, where the thread with most has
 * `most` to do in tasks of `each`: half of what it takes at once. */
static inline double host_wait(const optune_task *task, double most, double each)
{
    return host_threads(task) == 1 ? 0 : fmax(each, most / HOST_THREAD_TASKS) / 2;
}

/* The condition of generic rows: bodies are C for CPUs. */
static inline bool host_on_cpu(const optune_task *task, char *why)
{
    return task->device->warp == 0 ||
           optune_refuse(why, "its body is C for CPUs, %s is a GPU", task->device->name);
}

#endif
