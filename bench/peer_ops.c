/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN's primitives for single ops, through its C interface; functions by name from the library
 * that the target opens. The one idea: a kind of primitive is one function that makes its
 * descriptor from the call; everything around it (memories over the workload's buffers,
 * running, checking) is the same for all.
 */
#include "bench/peer_ops.h"

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
    X(stream_create)                                                                           \
    X(stream_wait)                                                                             \
    X(memory_desc_init_by_strides)                                                             \
    X(memory_create)                                                                           \
    X(memory_destroy)                                                                          \
    X(eltwise_forward_desc_init)                                                               \
    X(binary_desc_init)                                                                        \
    X(reduction_desc_init)                                                                     \
    X(softmax_forward_desc_init)                                                               \
    X(pooling_v2_forward_desc_init)                                                            \
    X(memory_desc_init_by_tag)                                                                 \
    X(primitive_desc_create)                                                                   \
    X(primitive_desc_destroy)                                                                  \
    X(primitive_desc_query)                                                                    \
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

bool peer_ops_there(bench *b, char *text, size_t size)
{
#define NAME(name) "dnnl_" #name,
    static const char *const names[] = {FUNCTIONS(NAME)};
#undef NAME
    void *symbol[OT_COUNT(names)];
    if (!bench_symbols(b, "dnnl", names, OT_COUNT(names), OT_COUNT(names), symbol, text, size))
        return false;
    memcpy(&f, symbol, sizeof f);
    const dnnl_version_t *v = f.version();
    snprintf(text, size, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    if (v->major == DNNL_VERSION_MAJOR &&
        f.engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
        f.stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success)
        return true;
    snprintf(text, size, "oneDNN %d.%d.%d cannot be used: this was built for %d.x", v->major,
             v->minor, v->patch, DNNL_VERSION_MAJOR);
    return false;
}

/* ---- kinds of primitives ----------------------------------------------------------------- */

typedef union operation { /* any descriptor: primitive_desc_create takes them all */
    dnnl_eltwise_desc_t eltwise;
    dnnl_binary_desc_t binary;
    dnnl_reduction_desc_t reduction;
    dnnl_softmax_desc_t softmax;
    dnnl_pooling_v2_desc_t pooling;
} operation;

typedef struct asked {
    const optune_call *call;
    dnnl_alg_kind_t algorithm;
    const dnnl_memory_desc_t *in, *out; /* in: as many as the call has */
} asked;

static bool eltwise(const asked *a, operation *op)
{
    return f.eltwise_forward_desc_init(&op->eltwise, dnnl_forward_inference, a->algorithm,
                                       &a->in[0], 0, 0) == dnnl_success;
}

static bool binary(const asked *a, operation *op)
{
    return f.binary_desc_init(&op->binary, a->algorithm, &a->in[0], &a->in[1], a->out) ==
           dnnl_success;
}

static bool reduction(const asked *a, operation *op)
{
    return f.reduction_desc_init(&op->reduction, a->algorithm, &a->in[0], a->out, 0, 0) ==
           dnnl_success;
}

static bool softmax(const asked *a, operation *op)
{
    const int64_t axis = optune_call_int(a->call, "axis");
    return f.softmax_forward_desc_init(
               &op->softmax, dnnl_forward_inference, &a->in[0],
               (int)(axis < 0 ? axis + a->call->input[0].type.rank : axis)) == dnnl_success;
}

static bool pooling(const asked *a, operation *op)
{
    const optune_tensor *data = &a->call->input[0].type, *out = &a->call->output[0];
    const bool global = strcmp(a->call->op->name, "global_avg_pool2d") == 0;
    dnnl_dims_t strides = {1, 1}, kernel = {0}, dilates = {0}, before = {0}, after = {0};
    for (int i = 0; i < 2; i++) {
        kernel[i] = data->dim[2 + i].min;
        if (global)
            continue;
        kernel[i] = optune_call_ints(a->call, "pool_size")[i];
        strides[i] = optune_call_ints(a->call, "strides")[i];
        dilates[i] = optune_call_ints(a->call, "dilation")[i] - 1;
        before[i] = optune_call_ints(a->call, "padding")[i];
        after[i] = (out->dim[2 + i].min - 1) * strides[i] + (kernel[i] - 1) * (dilates[i] + 1) +
                   1 - data->dim[2 + i].min - before[i];
    }
    return f.pooling_v2_forward_desc_init(&op->pooling, dnnl_forward_inference, a->algorithm,
                                          &a->in[0], a->out, strides, kernel, dilates, before,
                                          after) == dnnl_success;
}

typedef struct way {
    const char *name;
    bool (*describe)(const asked *a, operation *op);
    dnnl_alg_kind_t algorithm;
    bool keeps_dims; /* a reduced dim of the output is 1 to oneDNN */
} way;
static const way ways[] = {
    {"eltwise_relu", eltwise, dnnl_eltwise_relu, false},
    {"eltwise_logistic", eltwise, dnnl_eltwise_logistic, false},
    {"eltwise_tanh", eltwise, dnnl_eltwise_tanh, false},
    {"eltwise_exp", eltwise, dnnl_eltwise_exp, false},
    {"binary_add", binary, dnnl_binary_add, false},
    {"binary_mul", binary, dnnl_binary_mul, false},
    {"reduction_sum", reduction, dnnl_reduction_sum, true},
    {"reduction_max", reduction, dnnl_reduction_max, true},
    {"reduction_mean", reduction, dnnl_reduction_mean, true},
    {"softmax", softmax, 0, false},
    {"pooling_max", pooling, dnnl_pooling_max, false},
    {"pooling_avg", pooling, dnnl_pooling_avg_exclude_padding, false},
    {"pooling_avg_include_padding", pooling, dnnl_pooling_avg_include_padding, false},
};

/* ---- one primitive ----------------------------------------------------------------------- */

enum { MOST = OPTUNE_MAX_INPUTS + 1 };

struct peer_ops {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[MOST];
    int n;
    char how[OPTUNE_NAME_SIZE * 2];
};

/* Row-major, with leading dims of 1 up to `rank`; `block`: [N,C/c,H,W,c] of c = 8 or 16. */
static bool plain(const optune_tensor *type, int rank, int64_t block, dnnl_memory_desc_t *desc)
{
    dnnl_dims_t dims, strides;
    int64_t step = 1;
    if (block) {
        for (int d = 0; d < 4; d++)
            dims[d] = type->dim[d].min * (d == 1 ? block : 1);
        return f.memory_desc_init_by_tag(desc, 4, dims, dnnl_f32,
                                         block == 16 ? dnnl_nChw16c : dnnl_nChw8c) ==
               dnnl_success;
    }
    for (int d = rank - 1; d >= 0; d--) {
        const int k = d - (rank - type->rank);
        dims[d] = k < 0 ? 1 : type->dim[k].min;
        strides[d] = step;
        step *= dims[d];
    }
    return f.memory_desc_init_by_strides(desc, rank, dims, dnnl_f32, strides) == dnnl_success;
}

/* The c of a pooling in NCHW<c>c, else 0; -1: oneDNN has none such. */
static int64_t block_of(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    if (!strstr(call->op->name, "pool2d") || data->rank != 5)
        return 0;
    return data->dim[4].min == 8 || data->dim[4].min == 16 ? data->dim[4].min : -1;
}

/* The output of a reduction with its reduced dims put back as 1. */
static optune_tensor kept(const optune_call *call)
{
    optune_tensor type = call->input[0].type;
    const uint32_t axes = optune_reduce_axes(call);
    for (int d = 0; d < type.rank; d++)
        if (axes >> d & 1)
            type.dim[d] = optune_dim_of(1);
    return type;
}

static bool bind(const ot_session *s, peer_ops *peer, const dnnl_memory_desc_t *desc, int name,
                 void *buffer)
{
    dnnl_exec_arg_t *arg = &peer->arg[peer->n];
    arg->arg = name;
    if (f.memory_create(&arg->memory, desc, engine, s->row->address(s->state, buffer)) !=
        dnnl_success)
        return false;
    peer->n++;
    return true;
}

static bool make(bench *b, const way *w, peer_ops *peer)
{
    static const int names[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};
    const ot_session *s = &b->session;
    const optune_call *call = &s->call;
    const optune_tensor out_type = w->keeps_dims ? kept(call) : call->output[0];
    const int rank = out_type.rank > 0 ? out_type.rank : 1;
    const int64_t block = block_of(call);
    dnnl_memory_desc_t in[OT_COUNT(names)], out;
    dnnl_primitive_desc_t desc = NULL;
    const char *impl = "";
    operation op;
    if (call->n_inputs > OT_COUNT(names) || block < 0 || !plain(&out_type, rank, block, &out) ||
        !bind(s, peer, &out, DNNL_ARG_DST, s->out[OT_ALIGNED][0]))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (!plain(&call->input[i].type, rank, block, &in[i]) ||
            !bind(s, peer, &in[i], names[i], s->in[OT_ALIGNED][i]))
            return false;
    const asked a = {.call = call, .algorithm = w->algorithm, .in = in, .out = &out};
    if (!w->describe(&a, &op) ||
        f.primitive_desc_create(&desc, &op, NULL, engine, NULL) != dnnl_success)
        return false;
    f.primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &impl);
    snprintf(peer->how, sizeof peer->how, "%s %s", w->name, impl);
    const bool made = f.primitive_create(&peer->primitive, desc) == dnnl_success;
    f.primitive_desc_destroy(desc);
    return made;
}

double peer_ops_time(void *arg, int64_t count)
{
    const peer_ops *peer = arg;
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++)
        f.primitive_execute(peer->primitive, stream, peer->n, peer->arg);
    f.stream_wait(stream);
    return (double)(ot_now_ns() - start) * 1e-9;
}

peer_ops *peer_ops_open(bench *b, const char *name)
{
    const ot_session *s = &b->session;
    for (int i = 0; i < OT_COUNT(ways); i++) {
        if (strcmp(ways[i].name, name) != 0)
            continue;
        peer_ops *peer = ot_alloc(sizeof *peer);
        *peer = (peer_ops){.n = 0};
        if (!make(b, &ways[i], peer)) {
            peer_ops_close(peer);
            return NULL;
        }
        memset(s->row->address(s->state, s->out[OT_ALIGNED][0]), 0xff, (size_t)s->out_bytes[0]);
        peer_ops_time(peer, 1);
        return peer;
    }
    bench_die("no such peer: '%s'", name);
}

void peer_ops_close(peer_ops *peer)
{
    for (int i = 0; i < peer->n; i++)
        f.memory_destroy(peer->arg[i].memory);
    if (peer->primitive)
        f.primitive_destroy(peer->primitive);
    free(peer);
}

const char *peer_ops_how(const peer_ops *peer)
{
    return peer->how;
}

#else

bool peer_ops_there(bench *b, char *text, size_t size)
{
    (void)b;
    snprintf(text, size, "built without oneDNN 2.x; install libdnnl-dev and configure again");
    return false;
}

peer_ops *peer_ops_open(bench *b, const char *name)
{
    (void)b;
    (void)name;
    return NULL;
}

void peer_ops_close(peer_ops *peer)
{
    (void)peer;
}

double peer_ops_time(void *peer, int64_t count)
{
    (void)peer;
    (void)count;
    return -1;
}

const char *peer_ops_how(const peer_ops *peer)
{
    (void)peer;
    return "";
}

#endif
