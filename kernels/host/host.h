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

#include "optune/define.h"

enum { HOST_TYPE_TEXT = 192 };

/* "f32[128,?]", for messages only. Returns `text`. */
static inline const char *host_type_text(const optune_tensor *type, char text[HOST_TYPE_TEXT])
{
    static const char *const prefix[] = {"?", "f", "bf", "i", "u", "bool"};
    const optune_dtype dtype = type->dtype;
    int n = snprintf(text, HOST_TYPE_TEXT, "%s", prefix[dtype.code]);
    if (dtype.code != OPTUNE_DTYPE_UNKNOWN && dtype.code != OPTUNE_DTYPE_BOOL)
        n += snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, "%d", dtype.bits);
    if (type->rank < 0)
        return text;
    text[n++] = '[';
    for (int i = 0; i < type->rank && n < HOST_TYPE_TEXT - 48; i++) {
        const optune_dim *dim = &type->dim[i];
        if (i > 0)
            text[n++] = ',';
        if (optune_dim_known(dim))
            n += snprintf(text + n, 24, "%" PRId64, dim->min);
        else if (dim->max == OPTUNE_DIM_MAX)
            n += snprintf(text + n, 24, "?%s", dim->name);
        else
            n += snprintf(text + n, 44, "?:%" PRId64 "..%" PRId64, dim->min, dim->max);
    }
    snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, "]");
    return text;
}

/* One failed agreement, naming both arguments and both types. */
static inline int host_conflict(optune_err *err, const char *what, const char *a_name,
                                const optune_tensor *a, const char *b_name,
                                const optune_tensor *b)
{
    char a_text[HOST_TYPE_TEXT], b_text[HOST_TYPE_TEXT];
    return optune_fail(err, OPTUNE_ETYPE, "%s %s does not fit %s %s: %s", a_name,
                       host_type_text(a, a_text), b_name, host_type_text(b, b_text), what);
}

static inline optune_attr *host_attr(optune_call *call, const char *name)
{
    return &call->attr[optune_call_attr(call, name) - call->attr];
}

/* The attribute `axis` of a tensor `data` of known rank, as -1 for the last dim and counted
 * from the front otherwise, so that two ways of writing one question are one text. */
static inline int host_axis_settle(optune_call *call, const optune_tensor *data,
                                   optune_err *err)
{
    char text[HOST_TYPE_TEXT];
    optune_attr *axis = host_attr(call, "axis");
    if (axis->i[0] < -data->rank || axis->i[0] >= data->rank)
        return optune_fail(err, OPTUNE_ETYPE, "data %s has no axis %" PRId64,
                           host_type_text(data, text), axis->i[0]);
    if (axis->i[0] < 0)
        axis->i[0] += data->rank;
    if (axis->i[0] == data->rank - 1)
        axis->i[0] = -1;
    return OPTUNE_OK;
}

/* A tensor seen as [outer][n][inner] around an axis. */
typedef struct host_axis {
    int64_t outer, n, inner;
} host_axis;

static inline host_axis host_around(const optune_tensor *type, int64_t axis)
{
    host_axis a = {1, 1, 1};
    if (axis < 0)
        axis += type->rank;
    for (int d = 0; d < type->rank; d++)
        *(d < axis ? &a.outer : d == axis ? &a.n : &a.inner) *= type->dim[d].min;
    return a;
}

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
static inline const char *host_c_type(optune_dtype dtype)
{
    if (dtype.lanes != 1)
        return NULL;
    switch (dtype.code) {
    case OPTUNE_DTYPE_FLOAT:
        return dtype.bits == 32 ? "float" : dtype.bits == 64 ? "double" : NULL;
    case OPTUNE_DTYPE_INT:
        return dtype.bits == 8    ? "signed char"
               : dtype.bits == 16 ? "short"
               : dtype.bits == 32 ? "i32"
               : dtype.bits == 64 ? "i64"
                                  : NULL;
    case OPTUNE_DTYPE_UINT:
        return dtype.bits == 8    ? "unsigned char"
               : dtype.bits == 16 ? "unsigned short"
               : dtype.bits == 32 ? "u32"
               : dtype.bits == 64 ? "u64"
                                  : NULL;
    case OPTUNE_DTYPE_BOOL:
        return "unsigned char";
    default:
        return NULL;
    }
}

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

/* The condition of generic rows: bodies are C for CPUs. */
static inline bool host_on_cpu(const optune_task *task, char *why)
{
    return task->device->warp == 0 ||
           optune_refuse(why, "its body is C for CPUs, %s is a GPU", task->device->name);
}

#endif
