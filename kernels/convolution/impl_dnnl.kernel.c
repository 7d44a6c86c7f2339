/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_dnnl.x86: a convolution primitive of oneDNN 2.x through its C interface.
 *
 * `setup` receives the library's functions, creates engine, stream, primitives and the memories
 * that oneDNN's own formats need, and keeps all in `state`; `run` executes: a constant weight
 * was reordered by setup, data and output are reordered in `run` where formats differ;
 * `teardown` destroys everything. What oneDNN does not implement (a winograd of some shape)
 * falls back to its automatic choice. The few declarations follow oneDNN's developer guide;
 * descriptors are blocks of bytes larger than the library's.
 *
 * The plan defines IN_TAG and OUT_TAG (oneDNN's format tags) and WEIGHT_CONST. Numbers are the
 * algorithm (1 direct, 2 winograd, 3 auto) and whether the primitive works in the caller's layouts.
 */
#include "kernels/common/cpu.kernel.h"
#include "kernels/common/library_failure.kernel.h"

enum { F32 = 3, TAG_ANY = 1, TAG_OIHW = 5, TAG_GOIHW = 7, CPU = 1, FORWARD_INFERENCE = 96 };
enum { AUTO = 3, QUERY_SRC = 129, QUERY_WEIGHTS = 131, QUERY_DST = 133 };
enum { ARG_FROM = 1, ARG_TO = 17, ARG_SRC = 1, ARG_WEIGHTS = 33, ARG_DST = 17 };
#define ALLOCATE ((void *)-1)

typedef struct object *handle; /* engine, stream, primitive, memory ... */
typedef struct descriptor {    /* of a memory; 696 bytes in 2.6 */
    i64 word[256];
} descriptor;
typedef struct operation { /* of a convolution; 5976 bytes in 2.6 */
    i64 word[2048];
} operation;
typedef struct argument {
    int index;
    handle memory;
} argument;

/* The library's functions, in the order of setup's arguments. */
typedef struct functions {
    int (*engine_create)(handle *, int kind, usize index);
    int (*engine_destroy)(handle);
    int (*stream_create)(handle *, handle engine, unsigned flags);
    int (*stream_destroy)(handle);
    int (*stream_wait)(handle);
    int (*memory_desc_init_by_tag)(descriptor *, int rank, const i64 *dims, int type, int tag);
    int (*memory_desc_equal)(const descriptor *, const descriptor *);
    int (*memory_create)(handle *, const descriptor *, handle engine, void *data);
    int (*memory_destroy)(handle);
    int (*memory_set_data_handle)(handle, void *);
    int (*convolution_init)(operation *, int kind, int algorithm, const descriptor *src,
                            const descriptor *weights, const descriptor *bias,
                            const descriptor *dst, const i64 *strides, const i64 *dilates,
                            const i64 *padding, const i64 *padding_right);
    int (*reorder_create)(handle *, const descriptor *from, handle from_engine,
                          const descriptor *to, handle to_engine, const void *attr);
    int (*primitive_desc_create)(handle *, const void *op, const void *attr, handle engine,
                                 handle hint);
    int (*primitive_desc_destroy)(handle);
    const descriptor *(*primitive_desc_query_md)(handle, int what, int index);
    int (*primitive_create)(handle *, handle desc);
    int (*primitive_destroy)(handle);
    int (*primitive_execute)(handle, handle stream, int n, const argument *);
} functions;

/* One tensor: the caller's memory, oneDNN's own (the same where formats agree), the way
 * between. */
typedef struct tensor {
    handle outer, inner, reorder;
} tensor;

typedef struct state {
    functions f;
    handle engine, stream, convolution;
    tensor data, weight, out;
} state;

static int describe(const functions *f, descriptor *d, const i64 *dims, int rank, int tag)
{
    return f->memory_desc_init_by_tag(d, rank, dims, F32, tag);
}

static int convolution_desc(const state *s, handle *desc, int algorithm, int plain,
                            const i64 *in, const i64 *weight, const i64 *out)
{
    const i64 strides[12] = {SH, SW}, dilates[12] = {DH - 1, DW - 1};
    const i64 before[12] = {PT, PL}, after[12] = {PB, PR};
    descriptor src, wei, dst;
    operation op;
    describe(&s->f, &src, in, 4, plain ? IN_TAG : TAG_ANY);
    describe(&s->f, &wei, weight, GROUPS > 1 ? 5 : 4, TAG_ANY);
    describe(&s->f, &dst, out, 4, plain ? OUT_TAG : TAG_ANY);
    const int rc = s->f.convolution_init(&op, FORWARD_INFERENCE, algorithm, &src, &wei, 0, &dst,
                                         strides, dilates, before, after);
    return rc ? rc : s->f.primitive_desc_create(desc, &op, 0, s->engine, 0);
}

/* `to_inner`: data flows from the caller to oneDNN. */
static void connect(state *s, tensor *t, const descriptor *outer, const descriptor *inner,
                    int to_inner)
{
    const functions *f = &s->f;
    f->memory_create(&t->outer, outer, s->engine, 0);
    t->inner = t->outer;
    if (f->memory_desc_equal(outer, inner))
        return;
    handle desc;
    f->memory_create(&t->inner, inner, s->engine, ALLOCATE);
    f->reorder_create(&desc, to_inner ? outer : inner, s->engine, to_inner ? inner : outer,
                      s->engine, 0);
    f->primitive_create(&t->reorder, desc);
    f->primitive_desc_destroy(desc);
}

static void reorder(state *s, const tensor *t, int to_inner)
{
    if (t->reorder) {
        const argument args[2] = {{ARG_FROM, to_inner ? t->outer : t->inner},
                                  {ARG_TO, to_inner ? t->inner : t->outer}};
        s->f.primitive_execute(t->reorder, s->stream, 2, args);
    }
}

/* arg: state, weight (or nothing), the algorithm, whether tensors keep their layouts, then the
 * functions. */
void setup(void *const *arg)
{
    state *s = arg[0];
    const int algorithm = (int)*(const i64 *)arg[2], plain = (int)*(const i64 *)arg[3];
    __builtin_memcpy(&s->f, arg + 4, sizeof s->f);
    const functions *f = &s->f;
    int rc = f->engine_create(&s->engine, CPU, 0);
    if (!rc)
        rc = f->stream_create(&s->stream, s->engine, 1);
    if (rc) {
        fail("dnnl_engine_create", rc, "oneDNN cannot start here",
             "its build must have a CPU engine, and memory must be left for it");
        return;
    }
    const i64 in[12] = {N, CI, H, W}, out[12] = {N, CO, OH, OW};
    const i64 oihw[12] = {CO, CI, KH, KW}, goihw[12] = {GROUPS, CO_G, CI_G, KH, KW};
    const i64 *weight = GROUPS > 1 ? goihw : oihw;
    handle desc;
    rc = convolution_desc(s, &desc, algorithm, plain, in, weight, out);
    if (rc)
        rc = convolution_desc(s, &desc, AUTO, plain, in, weight, out);
    if (rc)
        rc = convolution_desc(s, &desc, AUTO, 0, in, weight, out);
    if (!rc)
        rc = f->primitive_create(&s->convolution, desc);
    if (rc) {
        fail("dnnl_primitive_create", rc, "oneDNN has no such convolution", "");
        return;
    }
    descriptor d;
    describe(f, &d, in, 4, IN_TAG);
    connect(s, &s->data, &d, f->primitive_desc_query_md(desc, QUERY_SRC, 0), 1);
    describe(f, &d, weight, GROUPS > 1 ? 5 : 4, GROUPS > 1 ? TAG_GOIHW : TAG_OIHW);
    connect(s, &s->weight, &d, f->primitive_desc_query_md(desc, QUERY_WEIGHTS, 0), 1);
    describe(f, &d, out, 4, OUT_TAG);
    connect(s, &s->out, &d, f->primitive_desc_query_md(desc, QUERY_DST, 0), 0);
    f->primitive_desc_destroy(desc);
    if (WEIGHT_CONST) {
        f->memory_set_data_handle(s->weight.outer, arg[1]);
        reorder(s, &s->weight, 1);
        f->stream_wait(s->stream);
    }
}

/* arg: state, data, weight, output. */
void run(void *const *arg)
{
    state *s = arg[0];
    if (!s->convolution)
        return;
    const functions *f = &s->f;
    f->memory_set_data_handle(s->data.outer, arg[1]);
    f->memory_set_data_handle(s->weight.outer, arg[2]);
    f->memory_set_data_handle(s->out.outer, arg[3]);
    reorder(s, &s->data, 1);
    if (!WEIGHT_CONST)
        reorder(s, &s->weight, 1);
    const argument args[3] = {
        {ARG_SRC, s->data.inner}, {ARG_WEIGHTS, s->weight.inner}, {ARG_DST, s->out.inner}};
    const int rc = f->primitive_execute(s->convolution, s->stream, 3, args);
    if (rc)
        fail("dnnl_primitive_execute", rc, "oneDNN cannot compute it", "");
    reorder(s, &s->out, 0);
    f->stream_wait(s->stream);
}

static void disconnect(const functions *f, tensor *t)
{
    if (t->reorder)
        f->primitive_destroy(t->reorder);
    if (t->inner && t->inner != t->outer)
        f->memory_destroy(t->inner);
    if (t->outer)
        f->memory_destroy(t->outer);
}

/* arg: state. */
void teardown(void *const *arg)
{
    state *s = arg[0];
    const functions f = s->f;
    disconnect(&f, &s->data);
    disconnect(&f, &s->weight);
    disconnect(&f, &s->out);
    if (s->convolution)
        f.primitive_destroy(s->convolution);
    if (s->stream)
        f.stream_destroy(s->stream);
    if (s->engine)
        f.engine_destroy(s->engine);
    __builtin_memset(s, 0, sizeof *s);
}
