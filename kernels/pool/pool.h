/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What 2-D pooling and its gradients share: attributes, the type relation, and a call as
 * numbers. Host code only; says nothing about speed.
 *
 * A window starts at o * stride - pad and has its taps `dilation` apart. Padding never takes
 * part in a result; whether it counts in a mean is count_include_pad. ceil_mode rounds the
 * number of windows up, as Relay does: the last may reach beyond the padding, or hold nothing.
 */
#ifndef OPTUNE_KERNELS_POOL_H
#define OPTUNE_KERNELS_POOL_H

#include "kernels/host/tensor.h"
#include "kernels/host/window.h"

#define POOL_PAIR(id, initial, text, always)                                                   \
    {                                                                                          \
        .name = id, .kind = OPTUNE_ATTR_INTS, .value = initial, .description = text,           \
        .length = 2, .min = 1, .max = 1 << 20, .shown = always                                 \
    }

/* The attributes of every windowed op, in Relay's order. */
#define POOL_ATTRS                                                                             \
    POOL_PAIR("pool_size", NULL, "Rows and columns of a window.", true),                       \
        POOL_PAIR("strides", "[1,1]", "Steps between windows.", true),                         \
        POOL_PAIR("dilation", "[1,1]", "Distances between a window's rows and columns.",       \
                  false),                                                                      \
        {.name = "padding",                                                                    \
         .kind = OPTUNE_ATTR_INTS,                                                             \
         .value = "[0,0,0,0]",                                                                 \
         .description = "Rows and columns around the data: top, left, bottom, right.",         \
         .length = 4,                                                                          \
         .min = 0,                                                                             \
         .max = 1 << 20,                                                                       \
         .shown = true},                                                                       \
        {.name = "layout",                                                                     \
         .kind = OPTUNE_ATTR_WORD,                                                             \
         .value = "NCHW",                                                                      \
         .description = "NCHW, or NCHW<c>c with c channels innermost."},                       \
    {                                                                                          \
        .name = "ceil_mode", .kind = OPTUNE_ATTR_BOOL, .value = "false",                       \
        .description = "Round the number of windows up instead of down."                       \
    }

#define POOL_COUNT_ATTR                                                                        \
    {                                                                                          \
        .name = "count_include_pad", .kind = OPTUNE_ATTR_BOOL, .value = "false",               \
        .description = "Whether padding counts in the number that divides a sum."              \
    }

typedef struct pool_axis { /* one spatial axis */
    int64_t in, out, kernel, stride, dilation, before, after;
} pool_axis;

typedef struct pool_shape {
    int64_t planes; /* images x channels, or images x blocks of channels */
    int64_t block;  /* channels innermost; 1 for NCHW */
    pool_axis y, x;
    bool count_pad, f64;
    /* Rows are known at run time, and `y` has the most there can be; images, too. */
    bool any_y, any_n, ceil;
} pool_shape;

/* ---- types ------------------------------------------------------------------------------- */

typedef struct pool_named { /* a tensor, and what messages call it */
    const char *name;
    optune_tensor *type;
} pool_named;

/* The relation between what is pooled and the result, all of it in both directions. */
int pool_types(optune_call *call, const char *op, pool_named data, pool_named pooled,
               optune_err *err);

/* output[...] = pool(data) */
static inline int pool_forward_types(optune_call *call, optune_err *err)
{
    return pool_types(call, call->op->name,
                      (pool_named){"argument 1 (data)", &call->input[0].type},
                      (pool_named){"output", &call->output[0]}, err);
}

/* output = what of grad, the gradient of the pooled, goes back to data. */
int pool_backward_types(optune_call *call, optune_err *err);

/* ---- numbers ----------------------------------------------------------------------------- */

/* Adds the last stage; a batch that is known at run time is repeated. */
void pool_finish(const optune_task *task, optune_plan *plan, const optune_stage *stage);

/* False while anything but the batch is unknown; a batch that is known at run time counts as 1.
 * `pooled` is the type of the op's result, or of its gradient. */
bool pool_shape_of(const optune_call *call, const optune_tensor *data,
                   const optune_tensor *pooled, pool_shape *s);

/* The same where rows may be known at run time, too, up to an end. */
bool pool_most_of(const optune_call *call, const optune_tensor *data,
                  const optune_tensor *pooled, pool_shape *s);

static inline bool pool_forward_most(const optune_call *call, pool_shape *s)
{
    return pool_most_of(call, &call->input[0].type, &call->output[0], s);
}

static inline bool pool_forward_shape(const optune_call *call, pool_shape *s)
{
    return pool_shape_of(call, &call->input[0].type, &call->output[0], s);
}

static inline bool pool_backward_shape(const optune_call *call, pool_shape *s)
{
    return pool_shape_of(call, &call->input[1].type, &call->input[0].type, s);
}

/* Taps [first, last) of window `o` that lie inside the data; first <= last. */
typedef struct pool_span {
    int64_t first, last;
} pool_span;

static inline pool_span pool_taps(const pool_axis *a, int64_t o)
{
    const int64_t start = o * a->stride - a->before, d = a->dilation;
    int64_t first = start < 0 ? (-start + d - 1) / d : 0;
    int64_t last = a->in > start ? (a->in - start + d - 1) / d : 0;
    last = last < a->kernel ? last : a->kernel;
    return (pool_span){first < last ? first : last, last};
}

/* Positions of window `o` that a mean counts: those inside the data, or inside data and
 * padding. */
static inline int64_t pool_count(const pool_axis *a, int64_t o, bool count_pad)
{
    const pool_span span = pool_taps(a, o);
    if (!count_pad)
        return span.last - span.first;
    const int64_t room = a->in + a->after - (o * a->stride - a->before);
    const int64_t n = room > 0 ? (room + a->dilation - 1) / a->dilation : 0;
    return n < a->kernel ? n : a->kernel;
}

/* ---- references -------------------------------------------------------------------------- */

/* Where tap `tap` of window `o` lies on an axis. */
static inline int64_t pool_position(const pool_axis *a, int64_t o, int64_t tap)
{
    return o * a->stride - a->before + tap * a->dilation;
}

/* Offset of an element of what is pooled, or of the result. */
static inline int64_t pool_in_at(const pool_shape *s, int64_t plane, int64_t y, int64_t x,
                                 int64_t lane)
{
    return ((plane * s->y.in + y) * s->x.in + x) * s->block + lane;
}

static inline int64_t pool_out_at(const pool_shape *s, int64_t plane, int64_t y, int64_t x,
                                  int64_t lane)
{
    return ((plane * s->y.out + y) * s->x.out + x) * s->block + lane;
}

typedef struct pool_walk pool_walk;

/* What window (oy, ox) gives to the element at (y, x) that it holds. */
typedef double (*pool_share)(const pool_walk *w, int64_t plane, int64_t lane, int64_t oy,
                             int64_t ox, int64_t y, int64_t x);

struct pool_walk {
    pool_shape s;
    optune_dtype dtype;
    const void *const *in;
    double *out, *magnitude;
    pool_share share; /* of a gradient */
};

/* Element k of the region. */
typedef void (*pool_visit)(const pool_walk *w, int64_t plane, int64_t lane, int64_t y,
                           int64_t x, int64_t k);

/* Calls `each` for every element of a region of the output, in its order. */
void pool_reference(const optune_call *call, pool_walk w, const optune_region *r,
                    pool_visit each);

/* Whether windows give means: only then is there a question of what they count. */
bool pool_is_mean(const optune_call *call);

/* ---- what implementations ask ------------------------------------------------------------- */

/* The same in any type. */
bool pool_fits(const pool_shape *s, char *why);

bool pool_applies(const optune_task *task, const pool_shape *s, char *why);

static inline int64_t pool_elem(const pool_shape *s)
{
    return s->f64 ? 8 : 4;
}

/* Elements of the widest vector register of a device; never less than 16 bytes' worth. */
static inline int64_t pool_lanes(const optune_task *task, const pool_shape *s)
{
    const int bytes = task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
    return bytes / pool_elem(s);
}

static inline int pool_registers(const optune_task *task)
{
    return task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
}

static inline int64_t pool_threads(const optune_task *task)
{
    return task->device->threads > 1 ? task->device->threads : 1;
}

/* Output columns [first, last) all of whose taps are inside: what vectors along the width may
 * compute without a test. */
pool_span pool_inside(const pool_axis *a);

/* A module with the call as macros: PLANES BLOCK H W OH OW KH KW SH SW DH DW PT PL PB PR
 * X0 X1 (columns inside), COUNT_PAD, UNIFORM, DTYPE, and VEC_BYTES for `lanes` elements. What is
 * known at run time is arg[2] and the following, as pool_finish adds them; a body uses it where
 * `arg` is in scope. */
int pool_module(optune_plan *plan, const pool_shape *s, int64_t lanes);

/* The table of kernels/pool/shares.kernel.h: its scratch, filled once. */
int pool_shares(optune_plan *plan, int module, const pool_shape *s, int64_t lanes);

#endif
