/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN 3.x as a peer of conv2d, dense and batch_matmul, in floats of 32 and 16 bits and 8-bit
 * integers. Its few declarations follow
 * oneDNN's developer guide, as no header of it is needed to build a bench. For convolutions the
 * algorithms direct, winograd and auto, for products its matmul and its sgemm, each with formats of
 * its own and with plain ones; a constant weight is reordered beforehand, as ours is packed.
 *
 * The one idea: a way is a primitive over tensors, each of which lies in the caller's format
 * outside and in the primitive's inside; what becomes of the rest is a loop over them.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/peer.h"

enum { F16 = 1, BF16, F32, S32, S8, U8 }; /* its numbers of types */
enum { TAG_ANY = 1, CPU = 1, IN_ORDER = 1, INFERENCE = 96, IMPL_INFO = 8 };
enum { QUERY_SRC = 129, QUERY_WEIGHTS = 131, QUERY_DST = 133 };
enum { ARG_SRC = 1, ARG_WEIGHTS = 33, ARG_BIAS = 41, ARG_DST = 17, ARG_FROM = 1, ARG_TO = 17 };
enum { DIRECT = 1, WINOGRAD = 2, AUTO = 3 };

typedef struct object *handle; /* engine, stream, descriptor, memory, primitive */
typedef struct argument {
    int index;
    handle memory;
} argument;

#define FUNCTIONS(X)                                                                           \
    X(engine_create, int, (handle *, int, size_t))                                             \
    X(stream_create, int, (handle *, handle, unsigned))                                        \
    X(stream_wait, int, (handle))                                                              \
    X(memory_desc_create_with_strides, int,                                                    \
      (handle *, int, const int64_t *, int, const int64_t *))                                  \
    X(memory_desc_create_with_tag, int, (handle *, int, const int64_t *, int, int))            \
    X(memory_desc_destroy, int, (handle))                                                      \
    X(memory_desc_equal, int, (handle, handle))                                                \
    X(memory_desc_get_size, size_t, (handle))                                                  \
    X(memory_create, int, (handle *, handle, handle, void *))                                  \
    X(memory_destroy, int, (handle))                                                           \
    X(convolution_forward_primitive_desc_create, int,                                          \
      (handle *, handle, int, int, handle, handle, handle, handle, const int64_t *,            \
       const int64_t *, const int64_t *, const int64_t *, handle))                             \
    X(matmul_primitive_desc_create, int,                                                       \
      (handle *, handle, handle, handle, handle, handle, handle))                              \
    X(reorder_primitive_desc_create, int, (handle *, handle, handle, handle, handle, handle))  \
    X(primitive_desc_query, int, (handle, int, int, void *))                                   \
    X(primitive_desc_query_md, handle, (handle, int, int))                                     \
    X(primitive_desc_destroy, int, (handle))                                                   \
    X(primitive_create, int, (handle *, handle))                                               \
    X(primitive_destroy, int, (handle))                                                        \
    X(primitive_execute, int, (handle, handle, int, const argument *))                         \
    X(sgemm, int,                                                                              \
      (char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,    \
       int64_t, float, float *, int64_t))

static struct {
#define MEMBER(name, result, arguments) result(*name) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
} f;
static handle engine, stream;

static bool start(bench *b, char *why, size_t size)
{
#define NAME(name, result, arguments) "dnnl_" #name,
    static const char *const names[] = {FUNCTIONS(NAME)};
#undef NAME
    void *symbol[OT_COUNT(names)];
    if (!bench_symbols(b, "dnnl", names, OT_COUNT(names), OT_COUNT(names), symbol, why, size))
        return false;
    memcpy(&f, symbol, sizeof f);
    int rc = f.engine_create(&engine, CPU, 0);
    if (!rc)
        rc = f.stream_create(&stream, engine, IN_ORDER);
    if (rc)
        snprintf(why, size,
                 "oneDNN cannot start here (%d): a build for SYCL needs an OpenCL for CPUs",
                 rc);
    return !rc;
}

/* ---- a workload in oneDNN's words -------------------------------------------------------- */

enum { DATA, WEIGHT, BIAS, OUT, TENSORS, RANK = 12 };

typedef struct shape { /* rank 0: there is none */
    int rank, type;
    int64_t dim[RANK], stride[RANK];
    void *at; /* the caller's */
} shape;

typedef struct problem {
    bool convolution, constant; /* constant: the weight may be reordered beforehand */
    shape tensor[TENSORS];
    int64_t strides[RANK], dilates[RANK], before[RANK], after[RANK];
} problem;

static shape dense_strides(shape s)
{
    int64_t step = 1;
    for (int i = s.rank - 1; i >= 0; i--) {
        s.stride[i] = step;
        step *= s.dim[i];
    }
    return s;
}

/* 0: none of them. */
static int type_of(optune_dtype t)
{
    return t.lanes != 1                                 ? 0
           : t.code == OPTUNE_DTYPE_BFLOAT              ? BF16
           : t.code == OPTUNE_DTYPE_FLOAT               ? (t.bits == 32   ? F32
                                                           : t.bits == 16 ? F16
                                                                          : 0)
           : t.code == OPTUNE_DTYPE_INT                 ? (t.bits == 32  ? S32
                                                           : t.bits == 8 ? S8
                                                                         : 0)
           : t.code == OPTUNE_DTYPE_UINT && t.bits == 8 ? U8
                                                        : 0;
}

static shape shape_of(const optune_tensor *type, void *at)
{
    shape s = {.rank = type->rank, .type = type_of(type->dtype), .at = at};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = type->dim[i].min;
    return dense_strides(s);
}

/* The last two dims the other way round, as they lie. */
static void turn(shape *s)
{
    const int a = s->rank - 2, b = s->rank - 1;
    const int64_t dim = s->dim[a], stride = s->stride[a];
    s->dim[a] = s->dim[b];
    s->stride[a] = s->stride[b];
    s->dim[b] = dim;
    s->stride[b] = stride;
}

static void describe_convolution(const optune_call *call, problem *p)
{
    const int64_t *strides = optune_call_ints(call, "strides");
    const int64_t *padding = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t groups = optune_call_int(call, "groups");
    shape *weight = &p->tensor[WEIGHT];
    if (groups > 1) {
        memmove(weight->dim + 1, weight->dim, 4 * sizeof weight->dim[0]);
        weight->rank = 5;
        weight->dim[0] = groups;
        weight->dim[1] /= groups;
        *weight = dense_strides(*weight);
    }
    for (int i = 0; i < 2; i++) {
        p->strides[i] = strides[i];
        p->dilates[i] = dilation[i] - 1;
        p->before[i] = padding[i];
        p->after[i] = padding[2 + i];
    }
}

/* False with the reason when oneDNN has no such thing. */
static bool describe(const ot_session *s, problem *p, char *why, size_t size)
{
    const optune_call *call = &s->call;
    const char *op = call->op->name;
    for (int i = 0; i < call->n_inputs; i++)
        if (!type_of(call->input[i].type.dtype) || !type_of(call->output[0].dtype)) {
            snprintf(why, size, "this peer is not asked for such types");
            return false;
        }
    *p = (problem){.convolution = strcmp(op, "conv2d") == 0,
                   .constant = call->input[1].is_const};
    for (int i = 0; i < call->n_inputs && i <= BIAS; i++)
        p->tensor[i] =
            shape_of(&call->input[i].type, s->row->address(s->state, s->in[OT_ALIGNED][i]));
    p->tensor[OUT] =
        shape_of(&call->output[0], s->row->address(s->state, s->out[OT_ALIGNED][0]));
    if (p->convolution) {
        describe_convolution(call, p);
    } else if (strcmp(op, "dense") == 0) {
        turn(&p->tensor[WEIGHT]);
        shape *bias = &p->tensor[BIAS];
        if (bias->rank) { /* one row */
            bias->rank = 2;
            bias->dim[1] = bias->dim[0];
            bias->dim[0] = 1;
            *bias = dense_strides(*bias);
        }
    } else {
        if (optune_call_int(call, "transpose_a"))
            turn(&p->tensor[DATA]);
        if (optune_call_int(call, "transpose_b"))
            turn(&p->tensor[WEIGHT]);
    }
    return true;
}

/* ---- a way ------------------------------------------------------------------------------- */

typedef struct tensor {
    handle outer, inner, reorder; /* reorder NULL: the formats are one */
    ot_cpu_buffer *buffer;        /* the inner one's */
} tensor;

typedef struct way {
    handle primitive; /* NULL: through sgemm */
    tensor tensor[TENSORS];
    bool timed[TENSORS]; /* its reorder belongs to the time */
    problem problem;
    const char *impl;
    char how[256];
} way;

static void reorder(const tensor *t, bool inwards)
{
    const argument arg[] = {{ARG_FROM, inwards ? t->outer : t->inner},
                            {ARG_TO, inwards ? t->inner : t->outer}};
    if (t->reorder)
        f.primitive_execute(t->reorder, stream, OT_COUNT(arg), arg);
}

static void open_tensor(tensor *t, const shape *s, handle inner, bool inwards)
{
    optune_err err = {0};
    handle outer = NULL, desc = NULL;
    if (f.memory_desc_create_with_strides(&outer, s->rank, s->dim, s->type, s->stride) ||
        f.memory_create(&t->outer, outer, engine, s->at))
        bench_die("oneDNN refuses a memory");
    t->inner = t->outer;
    if (!f.memory_desc_equal(outer, inner)) {
        t->buffer = ot_cpu_buffer_open((int64_t)f.memory_desc_get_size(inner), false, &err);
        if (!t->buffer)
            bench_die("%s", err.text);
        if (f.memory_create(&t->inner, inner, engine, ot_cpu_buffer_address(t->buffer)) ||
            f.reorder_primitive_desc_create(&desc, inwards ? outer : inner, engine,
                                            inwards ? inner : outer, engine, NULL) ||
            f.primitive_create(&t->reorder, desc))
            bench_die("oneDNN refuses a reorder");
        f.primitive_desc_destroy(desc);
    }
    f.memory_desc_destroy(outer);
    if (inwards)
        reorder(t, true);
}

static void close_way(way *w)
{
    for (int i = 0; i < TENSORS; i++) {
        tensor *t = &w->tensor[i];
        if (t->reorder)
            f.primitive_destroy(t->reorder);
        if (t->inner && t->inner != t->outer)
            f.memory_destroy(t->inner);
        if (t->outer)
            f.memory_destroy(t->outer);
        if (t->buffer)
            ot_cpu_buffer_close(t->buffer);
    }
    if (w->primitive)
        f.primitive_destroy(w->primitive);
}

/* oneDNN's sgemm: row by row as ours, two dims, no bias. */
static bool sgemm(const problem *p)
{
    const shape *x = &p->tensor[DATA], *y = &p->tensor[WEIGHT], *out = &p->tensor[OUT];
    const bool x_turned = x->stride[1] != 1, y_turned = y->stride[1] != 1;
    return f.sgemm(x_turned ? 'T' : 'N', y_turned ? 'T' : 'N', out->dim[0], out->dim[1],
                   x->dim[1], 1, x->at, x_turned ? x->stride[1] : x->stride[0], y->at,
                   y_turned ? y->stride[1] : y->stride[0], 0, out->at, out->dim[1]) == 0;
}

static double time_way(void *arg, int64_t count)
{
    const way *w = arg;
    const argument args[] = {{ARG_SRC, w->tensor[DATA].inner},
                             {ARG_WEIGHTS, w->tensor[WEIGHT].inner},
                             {ARG_DST, w->tensor[OUT].inner},
                             {ARG_BIAS, w->tensor[BIAS].inner}};
    const int n = w->tensor[BIAS].inner ? 4 : 3;
    const int64_t from = ot_now_ns();
    for (int64_t i = 0; i < count; i++) {
        if (!w->primitive) {
            sgemm(&w->problem);
            continue;
        }
        for (int k = 0; k < OUT; k++)
            if (w->timed[k])
                reorder(&w->tensor[k], true);
        f.primitive_execute(w->primitive, stream, n, args);
        if (w->timed[OUT])
            reorder(&w->tensor[OUT], false);
    }
    f.stream_wait(stream);
    return (double)(ot_now_ns() - from) * 1e-9;
}

/* What oneDNN is asked for; `own`: tensors whose format it may choose. */
static handle primitive_desc(const problem *p, int algorithm, const bool *own)
{
    handle desc[TENSORS] = {NULL}, made = NULL;
    for (int i = 0; i < TENSORS; i++) {
        const shape *s = &p->tensor[i];
        const int rc = !s->rank ? 0
                       : own[i] ? f.memory_desc_create_with_tag(&desc[i], s->rank, s->dim,
                                                                s->type, TAG_ANY)
                                : f.memory_desc_create_with_strides(&desc[i], s->rank, s->dim,
                                                                    s->type, s->stride);
        if (rc)
            bench_die("oneDNN refuses a description of %d dims", s->rank);
    }
    const int rc =
        p->convolution
            ? f.convolution_forward_primitive_desc_create(
                  &made, engine, INFERENCE, algorithm, desc[DATA], desc[WEIGHT], desc[BIAS],
                  desc[OUT], p->strides, p->dilates, p->before, p->after, NULL)
            : f.matmul_primitive_desc_create(&made, engine, desc[DATA], desc[WEIGHT],
                                             desc[BIAS], desc[OUT], NULL);
    for (int i = 0; i < TENSORS; i++)
        if (desc[i])
            f.memory_desc_destroy(desc[i]);
    return rc ? NULL : made;
}

static bool open_way(const problem *p, int algorithm, const char *name, const bool *own,
                     const char *formats, bool free_layout, way *w)
{
    static const int query[TENSORS] = {QUERY_SRC, QUERY_WEIGHTS, QUERY_WEIGHTS, QUERY_DST};
    *w = (way){.problem = *p, .impl = "sgemm"};
    snprintf(w->how, sizeof w->how, "%s", name);
    if (!algorithm)
        return true;
    handle desc = primitive_desc(p, algorithm, own);
    if (!desc)
        return false;
    if (f.primitive_create(&w->primitive, desc))
        bench_die("oneDNN cannot make its primitive");
    f.primitive_desc_query(desc, IMPL_INFO, 0, &w->impl);
    bool reorders = false;
    for (int i = 0; i < TENSORS; i++) {
        if (!p->tensor[i].rank)
            continue;
        open_tensor(&w->tensor[i], &p->tensor[i],
                    f.primitive_desc_query_md(desc, query[i], i == BIAS), i != OUT);
        w->timed[i] = i == WEIGHT ? !p->constant : i == BIAS ? false : !free_layout;
        reorders = reorders || (w->timed[i] && w->tensor[i].reorder);
    }
    f.stream_wait(stream);
    f.primitive_desc_destroy(desc);
    snprintf(w->how, sizeof w->how, "%s %s, %s%s", name, w->impl, formats,
             reorders ? " + reorders" : "");
    return true;
}

static void check(bench *b, way *w)
{
    char name[sizeof w->how + 16];
    if (ot_session_poison(&b->session, OT_ALIGNED, NULL) < 0)
        bench_die("the outputs cannot be written");
    time_way(w, 1);
    if (w->primitive && !w->timed[OUT])
        reorder(&w->tensor[OUT], false);
    f.stream_wait(stream);
    snprintf(name, sizeof name, "oneDNN (%s)", w->how);
    bench_check(b,
                w->problem.convolution                           ? "conv2d_dnnl.x86"
                : strcmp(b->session.call.op->name, "dense") == 0 ? "dense_cblas.x86"
                                                                 : "batch_matmul_cblas.x86",
                name);
}

static bool known(const way *w, int n, const way *one)
{
    for (int i = 0; i < n; i++)
        if (strcmp(w[i].impl, one->impl) == 0 &&
            strcmp(strchr(w[i].how, ',') ? strchr(w[i].how, ',') : "",
                   strchr(one->how, ',') ? strchr(one->how, ',') : "") == 0)
            return true; /* auto is one of the others, usually */
    return false;
}

static void *open_peer(bench *b, bool free_layout, char *how, size_t size)
{
    static const struct {
        int algorithm;
        const char *name;
    } convolutions[] = {{DIRECT, "direct"}, {WINOGRAD, "winograd"}, {AUTO, "auto"}},
      products[] = {{AUTO, "matmul"}, {0, "sgemm"}};
    problem p;
    if (!describe(&b->session, &p, how, size))
        return NULL;
    way w[2 * OT_COUNT(convolutions)];
    int n = 0;
    const int asked = p.convolution ? OT_COUNT(convolutions) : OT_COUNT(products);
    const bool flat = !p.convolution && p.tensor[OUT].rank == 2 && !p.tensor[BIAS].rank &&
                      p.tensor[DATA].type == F32;
    for (int a = 0; a < asked; a++)
        for (int plain = 0; plain < 2; plain++) {
            const bool any = !plain;
            const bool own[TENSORS] = {
                [DATA] = p.convolution && any,
                [WEIGHT] = p.convolution || (any && p.constant),
                [OUT] = p.convolution && any,
            };
            const int algorithm =
                p.convolution ? convolutions[a].algorithm : products[a].algorithm;
            if (!algorithm && (!flat || any))
                continue;
            if (!open_way(&p, algorithm,
                          p.convolution ? convolutions[a].name : products[a].name, own,
                          plain ? "plain" : "any", free_layout, &w[n]))
                continue;
            if (known(w, n, &w[n]))
                close_way(&w[n]);
            else
                check(b, &w[n++]);
        }
    if (!n) {
        snprintf(how, size, "no primitive for it");
        return NULL;
    }
    void *arg[OT_COUNT(w)];
    for (int i = 0; i < n; i++)
        arg[i] = &w[i];
    const int best = bench_fastest(time_way, arg, n);
    for (int i = 0; i < n; i++)
        if (i != best)
            close_way(&w[i]);
    way *peer = ot_alloc(sizeof *peer);
    *peer = w[best];
    snprintf(how, size, "%s", peer->how);
    return peer;
}

static void close_peer(void *peer)
{
    close_way(peer);
    free(peer);
}

const bench_peer_kind bench_peer_onednn3 = {
    .library = "dnnl",
    .major = 3,
    .start = start,
    .open = open_peer,
    .close = close_peer,
    .time = time_way,
};
