/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN 2.x as a peer of conv2d, through its C interface: types from its header, functions by
 * name from the library that the target opens, so that a bench runs, and says so, where it is not
 * installed. The peer is the fastest of the algorithms direct, winograd (asked for explicitly, its
 * `auto` never takes it) and auto, with the formats it prefers and with plain ones; a constant
 * weight is reordered beforehand, as ours is packed.
 *
 * The one idea: a way is an algorithm and a choice of formats, complete with its memories and
 * reorders; all ways that oneDNN implements are opened, verified by their result, measured
 * interleaved, and the fastest is the peer.
 */
#include "bench/peer.h"

#ifdef OT_ONEDNN
#include <dnnl_version.h>
#if DNNL_VERSION_MAJOR != 2
#undef OT_ONEDNN
#endif
#endif

#ifdef OT_ONEDNN

#include <dnnl.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                           \
    X(engine_create)                                                                           \
    X(engine_destroy)                                                                          \
    X(stream_create)                                                                           \
    X(stream_destroy)                                                                          \
    X(stream_wait)                                                                             \
    X(memory_desc_init_by_tag)                                                                 \
    X(memory_desc_equal)                                                                       \
    X(memory_desc_get_size)                                                                    \
    X(memory_create)                                                                           \
    X(memory_destroy)                                                                          \
    X(dilated_convolution_forward_desc_init)                                                   \
    X(reorder_primitive_desc_create)                                                           \
    X(primitive_desc_create)                                                                   \
    X(primitive_desc_destroy)                                                                  \
    X(primitive_desc_query)                                                                    \
    X(primitive_desc_query_md)                                                                 \
    X(primitive_create)                                                                        \
    X(primitive_destroy)                                                                       \
    X(primitive_execute)                                                                       \
    X(version)

static struct {
#define MEMBER(name) __typeof__(&dnnl_##name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} f;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static bool start(bench *b, char *text, size_t size)
{
#define NAME(name) "dnnl_" #name,
    static const char *const names[] = {FUNCTIONS(NAME)};
#undef NAME
    void *symbol[OT_COUNT(names)];
    if (!bench_symbols(b, "dnnl", names, OT_COUNT(names), OT_COUNT(names), symbol, text, size))
        return false;
    memcpy(&f, symbol, sizeof f);
    const dnnl_version_t *v = f.version();
    if (v->major != DNNL_VERSION_MAJOR ||
        f.engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        f.stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success) {
        snprintf(text, size, "oneDNN %d.%d.%d cannot be used: this was built for %d.x",
                 v->major, v->minor, v->patch, DNNL_VERSION_MAJOR);
        return false;
    }
    return true;
}

/* ---- tensors ----------------------------------------------------------------------------- */

typedef struct tensor { /* the caller's format outside, the primitive's inside */
    ot_cpu_buffer *buffer[2];
    dnnl_memory_t outer, inner;
    dnnl_primitive_t reorder; /* NULL: the formats are one */
} tensor;

static dnnl_memory_t make_memory(const dnnl_memory_desc_t *desc, ot_cpu_buffer **buffer)
{
    optune_err err = {0};
    dnnl_memory_t memory;
    *buffer = ot_cpu_buffer_open((int64_t)f.memory_desc_get_size(desc), false, &err);
    if (!*buffer)
        bench_die("%s", err.text);
    if (f.memory_create(&memory, desc, engine, ot_cpu_buffer_address(*buffer)) != dnnl_success)
        bench_die("oneDNN refuses a memory");
    return memory;
}

static void open_tensor(tensor *t, const dnnl_memory_desc_t *outer,
                        const dnnl_memory_desc_t *inner, bool inwards)
{
    t->outer = t->inner = make_memory(outer, &t->buffer[0]);
    if (f.memory_desc_equal(outer, inner))
        return;
    t->inner = make_memory(inner, &t->buffer[1]);
    dnnl_primitive_desc_t desc;
    if (f.reorder_primitive_desc_create(&desc, inwards ? outer : inner, engine,
                                        inwards ? inner : outer, engine,
                                        NULL) != dnnl_success ||
        f.primitive_create(&t->reorder, desc) != dnnl_success)
        bench_die("oneDNN refuses a reorder");
    f.primitive_desc_destroy(desc);
}

static void close_tensor(tensor *t)
{
    if (t->reorder)
        f.primitive_destroy(t->reorder);
    if (t->inner != t->outer)
        f.memory_destroy(t->inner);
    if (t->outer)
        f.memory_destroy(t->outer);
    for (int i = 0; i < OT_COUNT(t->buffer); i++)
        if (t->buffer[i])
            ot_cpu_buffer_close(t->buffer[i]);
}

static void reorder(const tensor *t, bool inwards)
{
    const dnnl_exec_arg_t arg[] = {{DNNL_ARG_FROM, inwards ? t->outer : t->inner},
                                   {DNNL_ARG_TO, inwards ? t->inner : t->outer}};
    if (t->reorder)
        f.primitive_execute(t->reorder, stream, OT_COUNT(arg), arg);
}

/* ---- one way ----------------------------------------------------------------------------- */

typedef struct way {
    dnnl_primitive_t convolution;
    tensor data, weight, out;
    bool timed_formats, timed_weight; /* reorders belong to the time */
    const char *impl;                 /* oneDNN's name of it */
    char how[OPTUNE_NAME_SIZE * 2];
} way;

static double time_way(void *arg, int64_t count)
{
    const way *w = arg;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, w->data.inner},
                                    {DNNL_ARG_WEIGHTS, w->weight.inner},
                                    {DNNL_ARG_DST, w->out.inner}};
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++) {
        if (w->timed_formats)
            reorder(&w->data, true);
        if (w->timed_weight)
            reorder(&w->weight, true);
        f.primitive_execute(w->convolution, stream, OT_COUNT(args), args);
        if (w->timed_formats)
            reorder(&w->out, false);
    }
    f.stream_wait(stream);
    return (double)(ot_now_ns() - start) * 1e-9;
}

typedef struct problem { /* the call in oneDNN's words */
    dnnl_dims_t data, weight, out, strides, dilates, before, after;
    int weight_rank;
} problem;

static void dims_of(const optune_tensor *type, dnnl_dim_t *to)
{
    for (int i = 0; i < type->rank; i++)
        to[i] = type->dim[i].min;
}

static void describe(const optune_call *call, problem *p)
{
    const int64_t *strides = optune_call_ints(call, "strides");
    const int64_t *padding = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t groups = optune_call_int(call, "groups");
    *p = (problem){.weight_rank = groups > 1 ? 5 : 4};
    dims_of(&call->input[0].type, p->data);
    dims_of(&call->output[0], p->out);
    dims_of(&call->input[1].type, p->weight + (groups > 1));
    if (groups > 1) {
        p->weight[0] = groups;
        p->weight[1] /= groups;
    }
    for (int i = 0; i < 2; i++) {
        p->strides[i] = strides[i];
        p->dilates[i] = dilation[i] - 1;
        p->before[i] = padding[i];
        p->after[i] = padding[2 + i];
    }
}

static void plain_desc(dnnl_memory_desc_t *desc, const dnnl_dim_t *dims, int rank)
{
    f.memory_desc_init_by_tag(desc, rank, dims, dnnl_f32, rank == 5 ? dnnl_goihw : dnnl_nchw);
}

/* What oneDNN is asked for; false when it does not do this. */
static bool create(const problem *p, dnnl_alg_kind_t algorithm, bool plain,
                   dnnl_primitive_desc_t *desc)
{
    const dnnl_format_tag_t tag = plain ? dnnl_nchw : dnnl_format_tag_any;
    dnnl_memory_desc_t data, weight, out;
    dnnl_convolution_desc_t operation;
    f.memory_desc_init_by_tag(&data, 4, p->data, dnnl_f32, tag);
    f.memory_desc_init_by_tag(&out, 4, p->out, dnnl_f32, tag);
    f.memory_desc_init_by_tag(&weight, p->weight_rank, p->weight, dnnl_f32,
                              dnnl_format_tag_any);
    return f.dilated_convolution_forward_desc_init(
               &operation, dnnl_forward_inference, algorithm, &data, &weight, NULL, &out,
               p->strides, p->dilates, p->before, p->after) == dnnl_success &&
           f.primitive_desc_create(desc, &operation, NULL, engine, NULL) == dnnl_success;
}

static void fill(const ot_session *s, const tensor *t, int input)
{
    memcpy(ot_cpu_buffer_address(t->buffer[0]),
           s->row->address(s->state, s->in[OT_ALIGNED][input]), (size_t)s->in_bytes[input]);
    reorder(t, true);
}

static bool open_way(bench *b, const problem *p, dnnl_alg_kind_t algorithm, const char *name,
                     bool plain, bool free_layout, way *w)
{
    const ot_session *s = &b->session;
    dnnl_primitive_desc_t desc;
    dnnl_memory_desc_t data, weight, out;
    *w = (way){.impl = ""};
    if (!create(p, algorithm, plain, &desc))
        return false;
    if (f.primitive_create(&w->convolution, desc) != dnnl_success)
        bench_die("oneDNN cannot make its primitive");
    f.primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &w->impl);
    plain_desc(&data, p->data, 4);
    plain_desc(&weight, p->weight, p->weight_rank);
    plain_desc(&out, p->out, 4);
    open_tensor(&w->data, &data, f.primitive_desc_query_md(desc, dnnl_query_src_md, 0), true);
    open_tensor(&w->weight, &weight, f.primitive_desc_query_md(desc, dnnl_query_weights_md, 0),
                true);
    open_tensor(&w->out, &out, f.primitive_desc_query_md(desc, dnnl_query_dst_md, 0), false);
    w->timed_formats = !free_layout;
    w->timed_weight = !s->call.input[1].is_const;
    snprintf(w->how, sizeof w->how, "%s %s, %s%s", name, w->impl, plain ? "plain" : "any",
             !free_layout && (w->data.reorder || w->out.reorder) ? " + reorders" : "");
    fill(s, &w->data, 0);
    fill(s, &w->weight, 1);
    f.primitive_desc_destroy(desc);
    return true;
}

static void close_way(way *w)
{
    close_tensor(&w->data);
    close_tensor(&w->weight);
    close_tensor(&w->out);
    f.primitive_destroy(w->convolution);
}

/* Its result, in NCHW, against the reference. */
static void check(bench *b, way *w)
{
    ot_session *s = &b->session;
    char name[sizeof w->how + 16];
    memset(ot_cpu_buffer_address(w->out.buffer[0]), 0xff, (size_t)s->out_bytes[0]);
    time_way(w, 1);
    reorder(&w->out, false);
    f.stream_wait(stream);
    s->row->write(s->state, s->out[OT_ALIGNED][0], ot_cpu_buffer_address(w->out.buffer[0]),
                  s->out_bytes[0]);
    snprintf(name, sizeof name, "oneDNN (%s)", w->how);
    bench_check(b, "conv2d_dnnl.x86", name);
}

static bool tensor_is_single(const optune_tensor *t)
{
    return t->dtype.code == OPTUNE_DTYPE_FLOAT && t->dtype.bits == 32 && t->dtype.lanes == 1;
}

static void *open_peer(bench *b, bool free_layout, char *how, size_t size)
{
    static const dnnl_alg_kind_t algorithm[] = {
        dnnl_convolution_direct, dnnl_convolution_winograd, dnnl_convolution_auto};
    static const char *const name[] = {"direct", "winograd", "auto"};
    enum { WAYS = 2 * OT_COUNT(algorithm) };
    problem p;
    if (!tensor_is_single(&b->session.call.input[0].type)) {
        snprintf(how, size, "this peer is asked for float32 only");
        return NULL;
    }
    describe(&b->session.call, &p);
    way w[WAYS];
    int n = 0;
    for (int a = 0; a < OT_COUNT(algorithm); a++)
        for (int plain = 0; plain < 2; plain++) {
            if (!open_way(b, &p, algorithm[a], name[a], plain, free_layout, &w[n]))
                continue;
            bool twice = false; /* auto is one of the others, usually */
            for (int i = 0; i < n; i++)
                twice = twice || (strcmp(w[i].impl, w[n].impl) == 0 &&
                                  strcmp(strchr(w[i].how, ','), strchr(w[n].how, ',')) == 0);
            if (twice)
                close_way(&w[n]);
            else
                check(b, &w[n++]);
        }
    if (!n) {
        snprintf(how, size, "no primitive for this convolution");
        return NULL;
    }
    void *arg[WAYS];
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

#else

static bool start(bench *b, char *text, size_t size)
{
    (void)b;
    snprintf(text, size, "built without oneDNN 2.x; install libdnnl-dev and configure again");
    return false;
}

static void *open_peer(bench *b, bool free_layout, char *how, size_t size)
{
    (void)free_layout;
    start(b, how, size);
    return NULL;
}

static void close_peer(void *peer)
{
    (void)peer;
}

static double time_way(void *peer, int64_t count)
{
    (void)peer;
    (void)count;
    return -1;
}

#endif

const bench_peer_kind bench_peer_onednn2 = {
    .library = "dnnl",
    .major = 2,
    .start = start,
    .open = open_peer,
    .close = close_peer,
    .time = time_way,
};
