/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for oneDNN's convolutions: right and slow, with the numbers of its formats by version.
 * Left to choose, it takes a layout of its own (the first dim is the innermost), so that tensors
 * are reordered. It aborts where the real one would be undefined: a descriptor that is none, an
 * object destroyed twice. Macros: VERSION (2, 3; others have neither's functions), NO_CPU (as a
 * build for GPUs alone), REFUSES (every descriptor), LACKS (a function that all versions have).
 *
 * Build: cc -shared -fPIC -DVERSION=3 -o libdnnl.so.3 tests/data/fake_dnnl.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))
#ifndef VERSION
#define VERSION 3
#endif

enum { OUT_OF_MEMORY = 1, INVALID = 2, UNIMPLEMENTED = 3 };
enum { F32 = 3, CPU = 1, FORWARD_INFERENCE = 96, DIRECT = 1, WINOGRAD = 2, AUTO = 3 };
enum { SRC = 1, FROM = 1, WEIGHTS = 33, DST = 17, QUERY_SRC = 129, QUERY_WEIGHTS = 131 };
enum { MOST = 5, LIVING = 0x0dd1, ROWS = -1, OWN = -2, ANY = -3 };

typedef enum kind { ENGINE = 1, STREAM, DESCRIPTOR, MEMORY, CHOICE, PRIMITIVE } kind;

typedef struct descriptor {
    int living, rank, layout; /* channels of a block, or one of the above */
    int64_t dim[MOST];
} descriptor;

typedef struct choice {
    descriptor src, weights, dst; /* of a reorder without weights */
    int64_t stride[2], dilate[2], pad[2];
} choice;

typedef struct object {
    descriptor d;
    kind kind; /* 0: destroyed */
    choice of;
    float *data, *own;
    struct object *next;
} object;

typedef struct argument {
    int index;
    object *memory;
} argument;

/* All there ever were: what is destroyed stays, so that it is known again. */
static object *all;

static object *make(kind kind)
{
    object *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->kind = kind;
    o->next = all;
    all = o;
    return o;
}

static int destroy(object *o, kind kind)
{
    if (!o)
        return INVALID;
    if (o->kind != kind)
        abort();
    o->kind = 0;
    o->d.living = 0;
    free(o->own);
    o->own = NULL;
    return 0;
}

__attribute__((destructor)) static void leave(void)
{
    for (object *next; all; all = next) {
        next = all->next;
        free(all->own);
        free(all);
    }
}

/* How many objects nobody destroyed. */
API int fake_dnnl_left(void)
{
    int n = 0;
    for (const object *o = all; o; o = o->next)
        n += o->kind != 0;
    return n;
}

typedef struct version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} version;

API const version *dnnl_version(void)
{
    static const version v = {VERSION, 91, 7, "made up", 1, 0};
    return &v;
}

/* ---- descriptors ---- */

static int64_t size_of(const descriptor *d)
{
    int64_t n = 1;
    for (int k = 0; k < d->rank; k++)
        n *= d->dim[k];
    return n;
}

static int64_t offset(const descriptor *d, const int64_t *i)
{
    int64_t at = 0;
    if (d->layout > 0) {
        const int64_t b = d->layout;
        return (((i[0] * (d->dim[1] / b) + i[1] / b) * d->dim[2] + i[2]) * d->dim[3] + i[3]) *
                   b +
               i[1] % b;
    }
    for (int k = 0; k < d->rank; k++) {
        const int dim = d->layout == OWN ? d->rank - 1 - k : k;
        at = at * d->dim[dim] + i[dim];
    }
    return at;
}

static const descriptor *look(const void *p)
{
    if (p && ((const descriptor *)p)->living != LIVING)
        abort();
    return p;
}

#if VERSION == 2 || VERSION == 3
static int describe(descriptor *d, int rank, const int64_t *dims, int type, int tag)
{
    static const struct {
        int rank, tag[2], layout;
    } tags[] = {
        {4, {5, 5}, ROWS}, {5, {7, 6}, ROWS}, {4, {75, 84}, 4},
        {4, {93, 102}, 8}, {4, {69, 78}, 16}, {4, {74, 83}, 32},
    };
#ifdef REFUSES
    return OUT_OF_MEMORY;
#endif
    int layout = tag == 1 ? ANY : 0;
    for (unsigned k = 0; k < sizeof tags / sizeof *tags; k++)
        if (tags[k].tag[VERSION - 2] == tag && tags[k].rank == rank)
            layout = tags[k].layout;
    if (!layout || type != F32 || rank > MOST)
        return INVALID;
    *d = (descriptor){.living = LIVING, .rank = rank, .layout = layout};
    for (int k = 0; k < rank; k++)
        d->dim[k] = dims[k];
    return 0;
}

static descriptor chosen(const descriptor *d)
{
    descriptor is = *d;
    is.layout = d->layout == ANY ? OWN : d->layout;
    return is;
}

static int choose(choice *c, int kind, int algorithm, const descriptor *src,
                  const descriptor *weights, const descriptor *dst, const int64_t *stride,
                  const int64_t *dilate, const int64_t *pad)
{
    if (kind != FORWARD_INFERENCE || !src || !weights || !dst)
        return INVALID;
    if (algorithm == WINOGRAD)
        return UNIMPLEMENTED;
    if (algorithm != DIRECT && algorithm != AUTO)
        return INVALID;
    *c = (choice){chosen(src),
                  chosen(weights),
                  chosen(dst),
                  {stride[0], stride[1]},
                  {dilate[0], dilate[1]},
                  {pad[0], pad[1]}};
    return 0;
}
#endif

#if VERSION == 2
typedef struct operation { /* of the caller's 5976 bytes */
    choice of;
} operation;

API int dnnl_memory_desc_init_by_tag(descriptor *d, int rank, const int64_t *dims, int type,
                                     int tag)
{
    return describe(d, rank, dims, type, tag);
}

API int dnnl_dilated_convolution_forward_desc_init(operation *op, int kind, int algorithm,
                                                   const void *src, const void *weights,
                                                   const void *bias, const void *dst,
                                                   const int64_t *stride, const int64_t *dilate,
                                                   const int64_t *pad, const int64_t *right)
{
    (void)bias;
    (void)right;
    return choose(&op->of, kind, algorithm, look(src), look(weights), look(dst), stride, dilate,
                  pad);
}

API int dnnl_primitive_desc_create(object **to, const operation *op, const void *attr,
                                   object *engine, object *hint)
{
    (void)attr;
    (void)engine;
    (void)hint;
    *to = make(CHOICE);
    (*to)->of = op->of;
    return 0;
}
#elif VERSION == 3
API int dnnl_memory_desc_create_with_tag(object **to, int rank, const int64_t *dims, int type,
                                         int tag)
{
    descriptor d;
    const int status = describe(&d, rank, dims, type, tag);
    if (status)
        return status;
    *to = make(DESCRIPTOR);
    (*to)->d = d;
    return 0;
}

API int dnnl_memory_desc_destroy(object *o)
{
    return destroy(o, DESCRIPTOR);
}

API int dnnl_convolution_forward_primitive_desc_create(
    object **to, object *engine, int kind, int algorithm, const void *src, const void *weights,
    const void *bias, const void *dst, const int64_t *stride, const int64_t *dilate,
    const int64_t *pad, const int64_t *right, const void *attr)
{
    choice c;
    (void)engine;
    (void)bias;
    (void)right;
    (void)attr;
    const int status =
        choose(&c, kind, algorithm, look(src), look(weights), look(dst), stride, dilate, pad);
    if (status)
        return status;
    *to = make(CHOICE);
    (*to)->of = c;
    return 0;
}
#endif

API int dnnl_memory_desc_equal(const void *a, const void *b)
{
    const descriptor *const x = look(a), *const y = look(b);
    if (!x || !y || x->rank != y->rank || x->layout != y->layout)
        return 0;
    for (int k = 0; k < x->rank; k++)
        if (x->dim[k] != y->dim[k])
            return 0;
    return 1;
}

/* ---- objects ---- */

API int dnnl_engine_create(object **to, int kind, size_t index)
{
    if (getenv("ONEDNN_VERBOSE"))
        puts("onednn_verbose,v1,info");
#ifdef NO_CPU
    return INVALID;
#endif
    if (kind != CPU || index)
        return INVALID;
    *to = make(ENGINE);
    return 0;
}

API int dnnl_engine_destroy(object *o)
{
    return destroy(o, ENGINE);
}

API int dnnl_stream_create(object **to, object *engine, unsigned flags)
{
    if (!engine || flags != 1)
        return INVALID;
    *to = make(STREAM);
    return 0;
}

API int dnnl_stream_destroy(object *o)
{
    return destroy(o, STREAM);
}

#ifndef LACKS
API int dnnl_stream_wait(object *o)
{
    return o && o->kind == STREAM ? 0 : INVALID;
}
#endif

API int dnnl_memory_create(object **to, const void *desc, object *engine, void *data)
{
    const descriptor *const d = look(desc);
    if (!d || !engine || d->layout == ANY)
        return INVALID;
    object *o = make(MEMORY);
    o->d = *d;
    o->own = data == (void *)-1 ? calloc((size_t)size_of(d), sizeof(float)) : NULL;
    o->data = o->own ? o->own : data;
    *to = o;
    return 0;
}

API int dnnl_memory_destroy(object *o)
{
    return destroy(o, MEMORY);
}

API int dnnl_memory_set_data_handle(object *o, void *data)
{
    o->data = data;
    return 0;
}

API int dnnl_reorder_primitive_desc_create(object **to, const void *from, object *from_engine,
                                           const void *into, object *to_engine,
                                           const void *attr)
{
    const descriptor *const a = look(from), *const b = look(into);
    (void)attr;
    if (!a || !b || !from_engine || !to_engine || a->rank != b->rank)
        return INVALID;
    *to = make(CHOICE);
    (*to)->of = (choice){.src = *a, .dst = *b};
    return 0;
}

API int dnnl_primitive_desc_destroy(object *o)
{
    return destroy(o, CHOICE);
}

API const void *dnnl_primitive_desc_query_md(object *o, int what, int index)
{
    (void)index;
    return what == QUERY_SRC ? &o->of.src : what == QUERY_WEIGHTS ? &o->of.weights : &o->of.dst;
}

API int dnnl_primitive_create(object **to, object *desc)
{
    *to = make(PRIMITIVE);
    (*to)->of = desc->of;
    return 0;
}

API int dnnl_primitive_destroy(object *o)
{
    return destroy(o, PRIMITIVE);
}

/* ---- computing ---- */

/* The next index in row-major order; 0: there is none. */
static int step(const descriptor *d, int64_t *i)
{
    for (int k = d->rank - 1; k >= 0; k--) {
        if (++i[k] < d->dim[k])
            return 1;
        i[k] = 0;
    }
    return 0;
}

static float sum_at(const choice *c, const float *src, const float *weights, const int64_t *o)
{
    const descriptor *const w = &c->weights;
    const int grouped = w->rank == 5;
    const int64_t co = w->dim[grouped], ci = w->dim[1 + grouped];
    const int64_t kh = w->dim[2 + grouped], kw = w->dim[3 + grouped];
    float sum = 0;
    for (int64_t k = 0; k < ci * kh * kw; k++) {
        const int64_t channel = k / (kh * kw), y = k / kw % kh, x = k % kw;
        const int64_t in[] = {o[0], o[1] / co * ci + channel,
                              o[2] * c->stride[0] - c->pad[0] + y * (c->dilate[0] + 1),
                              o[3] * c->stride[1] - c->pad[1] + x * (c->dilate[1] + 1)};
        const int64_t group[] = {o[1] / co, o[1] % co, channel, y, x};
        if (in[2] >= 0 && in[2] < c->src.dim[2] && in[3] >= 0 && in[3] < c->src.dim[3])
            sum += src[offset(&c->src, in)] * weights[offset(w, grouped ? group : group + 1)];
    }
    return sum;
}

API int dnnl_primitive_execute(object *o, object *stream, int n, const argument *arg)
{
    const choice *c = &o->of;
    object *src = NULL, *weights = NULL, *dst = NULL;
    if (!stream)
        return INVALID;
    for (int k = 0; k < n; k++)
        *(arg[k].index == SRC       ? &src
          : arg[k].index == WEIGHTS ? &weights
                                    : &dst) = arg[k].memory;
    if (!src || !dst || !dnnl_memory_desc_equal(&src->d, &c->src) ||
        !dnnl_memory_desc_equal(&dst->d, &c->dst) ||
        (c->weights.rank && !(weights && dnnl_memory_desc_equal(&weights->d, &c->weights))))
        return INVALID;
    int64_t i[MOST] = {0};
    do
        dst->data[offset(&c->dst, i)] = c->weights.rank ? sum_at(c, src->data, weights->data, i)
                                                        : src->data[offset(&c->src, i)];
    while (step(&c->dst, i));
    return 0;
}
