/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_dnnl.x86: a convolution primitive of oneDNN 2.x or 3.x through its C interface.
 *
 * `setup` receives the library's functions, creates engine, stream, primitives and the memories
 * that oneDNN's own formats need, and keeps all in `state`; `run` executes: a constant weight
 * was reordered by setup, data and output are reordered in `run` where formats differ;
 * `teardown` destroys everything. What oneDNN does not implement (a winograd of some shape)
 * falls back to its automatic choice. The few declarations follow oneDNN's developer guide.
 *
 * The two versions differ in descriptors alone, and in the numbers of formats: in 2.x one is a
 * block of bytes of the caller (here larger than the library's), in 3.x an object of the library.
 * Either is passed by address.
 *
 * The plan defines IN_BLOCK and OUT_BLOCK (channels of a block; 0: NCHW) and WEIGHT_CONST. Numbers
 * are the algorithm (1 direct, 2 winograd, 3 auto) and whether the primitive works in the caller's
 * layouts.
 */
#include "kernels/common/cpu.kernel.h"
#include "kernels/common/library_failure.kernel.h"

enum { F32 = 3, CPU = 1, FORWARD_INFERENCE = 96 };
enum { AUTO = 3, QUERY_SRC = 129, QUERY_WEIGHTS = 131, QUERY_DST = 133 };
enum { ARG_FROM = 1, ARG_TO = 17, ARG_SRC = 1, ARG_WEIGHTS = 33, ARG_DST = 17 };
#define ALLOCATE ((void *)-1)

typedef struct object *handle; /* engine, stream, primitive, memory ... */
typedef struct descriptor {    /* of a memory */
    handle object;             /* of 3.x */
    i64 word[256];             /* of 2.x; 696 bytes in 2.6 */
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
    int (*memory_desc_equal)(const void *, const void *);
    int (*memory_create)(handle *, const void *desc, handle engine, void *data);
    int (*memory_destroy)(handle);
    int (*memory_set_data_handle)(handle, void *);
    int (*reorder_create)(handle *, const void *from, handle from_engine, const void *to,
                          handle to_engine, const void *attr);
    int (*primitive_desc_destroy)(handle);
    const void *(*primitive_desc_query_md)(handle, int what, int index);
    int (*primitive_create)(handle *, handle desc);
    int (*primitive_destroy)(handle);
    int (*primitive_execute)(handle, handle stream, int n, const argument *);
    /* 2.x */
    int (*memory_desc_init_by_tag)(i64 *, int rank, const i64 *dims, int type, int tag);
    int (*convolution_init)(operation *, int kind, int algorithm, const void *src,
                            const void *weights, const void *bias, const void *dst,
                            const i64 *strides, const i64 *dilates, const i64 *padding,
                            const i64 *padding_right);
    int (*primitive_desc_create)(handle *, const void *op, const void *attr, handle engine,
                                 handle hint);
    /* 3.x */
    int (*memory_desc_create_with_tag)(handle *, int rank, const i64 *dims, int type, int tag);
    int (*memory_desc_destroy)(handle);
    int (*convolution_create)(handle *, handle engine, int kind, int algorithm, const void *src,
                              const void *weights, const void *bias, const void *dst,
                              const i64 *strides, const i64 *dilates, const i64 *padding,
                              const i64 *padding_right, const void *attr);
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
    int ready; /* all of them are there */
} state;

/* ---- what the versions do differently ---- */

typedef enum format { ANY, OIHW, GOIHW, NCHW, NCHW4C, NCHW8C, NCHW16C, NCHW32C } format;

static format format_of(int block)
{
    return block == 4    ? NCHW4C
           : block == 8  ? NCHW8C
           : block == 16 ? NCHW16C
           : block == 32 ? NCHW32C
                         : NCHW;
}

/* Of dims of rank 5 for GOIHW, else 4. What it is about is in `d` until forget(). */
static int describe(const functions *f, descriptor *d, const i64 *dims, format format)
{
    static const int of_2[] = {1, 5, 7, 5, 75, 93, 69, 74};
    static const int of_3[] = {1, 5, 6, 5, 84, 102, 78, 83};
    const int rank = dims[4] ? 5 : 4;
    d->object = 0;
    return f->memory_desc_create_with_tag
               ? f->memory_desc_create_with_tag(&d->object, rank, dims, F32, of_3[format])
               : f->memory_desc_init_by_tag(d->word, rank, dims, F32, of_2[format]);
}

static const void *address_of(const functions *f, const descriptor *d)
{
    return f->memory_desc_create_with_tag ? (const void *)d->object : d->word;
}

static void forget(const functions *f, descriptor *d)
{
    if (d->object)
        f->memory_desc_destroy(d->object);
}

static int convolution_desc(const state *s, handle *desc, int algorithm, int plain,
                            const i64 *in, const i64 *weight, const i64 *out)
{
    const functions *f = &s->f;
    const i64 strides[12] = {SH, SW}, dilates[12] = {DH - 1, DW - 1};
    const i64 before[12] = {PT, PL}, after[12] = {PB, PR};
    descriptor src, wei, dst;
    operation op;
    src.object = wei.object = dst.object = 0;
    int status = describe(f, &src, in, plain ? format_of(IN_BLOCK) : ANY);
    if (!status)
        status = describe(f, &wei, weight, ANY);
    if (!status)
        status = describe(f, &dst, out, plain ? format_of(OUT_BLOCK) : ANY);
    if (!status && f->convolution_create) {
        status = f->convolution_create(desc, s->engine, FORWARD_INFERENCE, algorithm,
                                       address_of(f, &src), address_of(f, &wei), 0,
                                       address_of(f, &dst), strides, dilates, before, after, 0);
    } else if (!status) {
        status = f->convolution_init(&op, FORWARD_INFERENCE, algorithm, address_of(f, &src),
                                     address_of(f, &wei), 0, address_of(f, &dst), strides,
                                     dilates, before, after);
        if (!status)
            status = f->primitive_desc_create(desc, &op, 0, s->engine, 0);
    }
    forget(f, &src);
    forget(f, &wei);
    forget(f, &dst);
    return status;
}

/* ---- both ---- */

/* `to_inner`: data flows from the caller, in this format, to oneDNN. The library's status. */
static int connect(state *s, tensor *t, const i64 *dims, format format, const void *inner,
                   int to_inner)
{
    const functions *f = &s->f;
    descriptor d;
    handle desc = 0;
    int status = describe(f, &d, dims, format);
    const void *const outer = address_of(f, &d);
    if (!status)
        status = f->memory_create(&t->outer, outer, s->engine, 0);
    t->inner = t->outer;
    if (!status && !f->memory_desc_equal(outer, inner)) {
        status = f->memory_create(&t->inner, inner, s->engine, ALLOCATE);
        if (!status)
            status = f->reorder_create(&desc, to_inner ? outer : inner, s->engine,
                                       to_inner ? inner : outer, s->engine, 0);
        if (!status)
            status = f->primitive_create(&t->reorder, desc);
        if (desc)
            f->primitive_desc_destroy(desc);
    }
    forget(f, &d);
    return status;
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
    if (!(f->convolution_create && f->memory_desc_create_with_tag && f->memory_desc_destroy) &&
        !(f->convolution_init && f->memory_desc_init_by_tag && f->primitive_desc_create)) {
        fail("dnnl_version", 0, "this oneDNN is neither of version 2 nor of version 3",
             "install libdnnl-dev, or name one in OPTUNE_DNNL");
        return;
    }
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
    handle desc = 0;
    rc = convolution_desc(s, &desc, algorithm, plain, in, weight, out);
    if (rc)
        rc = convolution_desc(s, &desc, AUTO, plain, in, weight, out);
    if (rc)
        rc = convolution_desc(s, &desc, AUTO, 0, in, weight, out);
    if (!rc)
        rc = f->primitive_create(&s->convolution, desc);
    if (rc) {
        fail("dnnl_primitive_create", rc, "oneDNN has no such convolution", "");
    } else {
        rc = connect(s, &s->data, in, format_of(IN_BLOCK),
                     f->primitive_desc_query_md(desc, QUERY_SRC, 0), 1);
        if (!rc)
            rc = connect(s, &s->weight, weight, GROUPS > 1 ? GOIHW : OIHW,
                         f->primitive_desc_query_md(desc, QUERY_WEIGHTS, 0), 1);
        if (!rc)
            rc = connect(s, &s->out, out, format_of(OUT_BLOCK),
                         f->primitive_desc_query_md(desc, QUERY_DST, 0), 0);
        if (rc)
            fail("dnnl_memory_create", rc, "oneDNN cannot take the tensors",
                 "memory must be left for it");
    }
    if (desc)
        f->primitive_desc_destroy(desc);
    s->ready = !rc;
    if (s->ready && WEIGHT_CONST) {
        f->memory_set_data_handle(s->weight.outer, arg[1]);
        reorder(s, &s->weight, 1);
        f->stream_wait(s->stream);
    }
}

/* arg: state, data, weight, output. */
void run(void *const *arg)
{
    state *s = arg[0];
    if (!s->ready)
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
