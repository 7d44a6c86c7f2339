/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any BLAS through its C interface as a peer of dense and batch_matmul, float32 and float64. For a
 * constant weight the fastest of both orders (it may be transposed beforehand, as ours may pack
 * it) and of the library's own packing counts, and for a single row gemv competes, too.
 *
 * The one idea: one struct says a product completely, so that every way to ask for it is a copy
 * with a field changed, and the fastest way is the peer.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/peer.h"

/* From the BLAS standard's C interface. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
enum { PACKED = 151, B_MATRIX = 162 }; /* of MKL */
typedef void sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                   float, float *, int);
typedef void dgemm(int, int, int, int, int, int, double, const double *, int, const double *,
                   int, double, double *, int);
typedef void sgemv(int, int, int, int, float, const float *, int, const float *, int, float,
                   float *, int);
typedef void dgemv(int, int, int, int, double, const double *, int, const double *, int, double,
                   double *, int);

typedef size_t sgemm_pack_get_size(int, int, int, int);
typedef void sgemm_pack(int, int, int, int, int, int, float, const float *, int, float *);
typedef void sgemm_compute(int, int, int, int, int, int, const float *, int, const float *, int,
                           float, float *, int);

static struct {
    sgemm *sgemm;
    dgemm *dgemm;
    sgemv *sgemv;
    dgemv *dgemv;
    sgemm_pack_get_size *pack_get_size; /* from here on: NULL where there is none */
    sgemm_pack *pack;
    sgemm_compute *compute;
} f;

/* out[i] = x[i] * y[i] (+ bias), i in 0 .. batch-1; steps are in elements. */
typedef struct product {
    bool f64, vector; /* vector: one row, through gemv */
    bool packed;      /* y, by the library */
    int batch, m, n, k;
    int x_trans, y_trans, x_row, y_row; /* row: elements between rows as stored */
    int64_t x_step, y_step;
    const char *x, *y, *bias;
    char *out;
    const char *how;
} product;

typedef struct peer {
    product way;
    char *transposed, *packed; /* the weight */
} peer;

static bool start(bench *b, char *why, size_t size)
{
    static const char *const names[] = {"cblas_sgemm",
                                        "cblas_dgemm",
                                        "cblas_sgemv",
                                        "cblas_dgemv",
                                        "cblas_sgemm_pack_get_size",
                                        "cblas_sgemm_pack",
                                        "cblas_sgemm_compute"};
    enum { NEEDED = 4 };
    void *symbol[OT_COUNT(names)];
    if (!bench_symbols(b, "cblas", names, OT_COUNT(names), NEEDED, symbol, why, size))
        return false;
    memcpy(&f, symbol, sizeof f);
    return true;
}

/* ---- running ----------------------------------------------------------------------------- */

/* beta is 1 where the output starts as the bias. */
static void multiply(const product *p, int i)
{
    const int64_t size = p->f64 ? 8 : 4, at = (int64_t)i * p->m * p->n;
    const char *x = p->x + i * p->x_step * size, *y = p->y + i * p->y_step * size;
    char *out = p->out + at * size;
    const int beta = p->bias != NULL;
    for (int row = 0; p->bias && row < p->m; row++)
        memcpy(out + row * p->n * size, p->bias, (size_t)(p->n * size));
    if (p->packed) {
        f.compute(ROW_MAJOR, p->x_trans, PACKED, p->m, p->n, p->k, (const float *)x, p->x_row,
                  (const float *)y, p->y_row, (float)beta, (float *)out, p->n);
    } else if (p->vector) {
        const int trans =
            p->y_trans == TRANS ? NO_TRANS : TRANS; /* of y as a matrix from the left */
        const int rows = p->y_trans == TRANS ? p->n : p->k, columns = p->y_row;
        if (p->f64)
            f.dgemv(ROW_MAJOR, trans, rows, columns, 1, (const double *)y, p->y_row,
                    (const double *)x, 1, beta, (double *)out, 1);
        else
            f.sgemv(ROW_MAJOR, trans, rows, columns, 1, (const float *)y, p->y_row,
                    (const float *)x, 1, (float)beta, (float *)out, 1);
    } else if (p->f64) {
        f.dgemm(ROW_MAJOR, p->x_trans, p->y_trans, p->m, p->n, p->k, 1, (const double *)x,
                p->x_row, (const double *)y, p->y_row, beta, (double *)out, p->n);
    } else {
        f.sgemm(ROW_MAJOR, p->x_trans, p->y_trans, p->m, p->n, p->k, 1, (const float *)x,
                p->x_row, (const float *)y, p->y_row, (float)beta, (float *)out, p->n);
    }
}

static double time_product(void *arg, int64_t count)
{
    const product *p = arg;
    const int64_t start = ot_now_ns();
    for (int64_t c = 0; c < count; c++)
        for (int i = 0; i < p->batch; i++)
            multiply(p, i);
    return (double)(ot_now_ns() - start) * 1e-9;
}

static double time_peer(void *arg, int64_t count)
{
    return time_product(&((peer *)arg)->way, count);
}

/* ---- what a call asks for ---------------------------------------------------------------- */

static int dim(const optune_tensor *t, int i)
{
    return (int)t->dim[i].min;
}

static product dense(const optune_call *call)
{
    const optune_tensor *x = &call->input[0].type, *y = &call->input[1].type;
    return (product){
        .batch = 1,
        .m = dim(x, 0),
        .n = dim(y, 0),
        .k = dim(x, 1),
        .x_trans = NO_TRANS,
        .y_trans = TRANS,
        .x_row = dim(x, 1),
        .y_row = dim(x, 1),
        .how = "gemm",
    };
}

static product batch_matmul(const optune_call *call)
{
    const optune_tensor *x = &call->input[0].type, *y = &call->input[1].type;
    const optune_tensor *out = &call->output[0];
    const bool x_trans = optune_call_int(call, "transpose_a");
    const bool y_trans = optune_call_int(call, "transpose_b");
    return (product){
        .batch = dim(out, 0),
        .m = dim(out, 1),
        .n = dim(out, 2),
        .k = dim(x, x_trans ? 1 : 2),
        .x_trans = x_trans ? TRANS : NO_TRANS,
        .y_trans = y_trans ? TRANS : NO_TRANS,
        .x_row = dim(x, 2),
        .y_row = dim(y, 2),
        .x_step = dim(x, 0) > 1 ? (int64_t)dim(x, 1) * dim(x, 2) : 0,
        .y_step = dim(y, 0) > 1 ? (int64_t)dim(y, 1) * dim(y, 2) : 0,
        .how = "gemm",
    };
}

static char *aligned(size_t bytes)
{
    char *to = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!to)
        bench_die("no memory for a weight");
    return to;
}

/* The weight [n,k] as [k,n]. */
static char *transpose(const product *p)
{
    const size_t size = p->f64 ? 8 : 4;
    char *to = aligned((size_t)p->n * (size_t)p->k * size);
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < p->k; i++)
            memcpy(to + ((size_t)i * (size_t)p->n + (size_t)j) * size,
                   p->y + ((size_t)j * (size_t)p->k + (size_t)i) * size, size);
    return to;
}

static char *pack(const product *p)
{
    char *to = aligned(f.pack_get_size(B_MATRIX, p->m, p->n, p->k));
    f.pack(ROW_MAJOR, B_MATRIX, p->y_trans, p->m, p->n, p->k, 1, (const float *)p->y, p->y_row,
           (float *)to);
    return to;
}

static void close_peer(void *arg)
{
    peer *one = arg;
    free(one->transposed);
    free(one->packed);
    free(one);
}

static void *open_peer(bench *b, bool free_layout, char *how, size_t size)
{
    (void)free_layout;
    const ot_session *s = &b->session;
    const optune_call *call = &s->call;
    const bool is_dense = strcmp(call->op->name, "dense") == 0;
    const optune_dtype dtype = call->output[0].dtype;
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_dtype_equal(call->input[i].type.dtype, dtype) ||
            dtype.code != OPTUNE_DTYPE_FLOAT || dtype.bits < 32 || dtype.lanes != 1) {
            snprintf(how, size, "BLAS multiplies f32 and f64 only");
            return NULL;
        }
    product p = is_dense ? dense(call) : batch_matmul(call);
    p.f64 = dtype.bits == 64;
    p.x = s->row->address(s->state, s->in[OT_ALIGNED][0]);
    p.y = s->row->address(s->state, s->in[OT_ALIGNED][1]);
    p.out = s->row->address(s->state, s->out[OT_ALIGNED][0]);
    if (is_dense && call->n_inputs > 2)
        p.bias = s->row->address(s->state, s->in[OT_ALIGNED][2]);

    const bool constant = is_dense && call->input[1].is_const;
    peer *one = ot_alloc(sizeof *one);
    product way[5] = {p};
    int n = 1;
    if (constant) {
        one->transposed = transpose(&p);
        way[n] = p;
        way[n].y = one->transposed;
        way[n].y_trans = NO_TRANS;
        way[n].y_row = p.n;
        way[n++].how = "gemm, weight transposed before";
    }
    for (int i = 0, all = n; p.m == 1 && p.x_trans == NO_TRANS && i < all; i++) {
        way[n] = way[i];
        way[n].vector = true;
        way[n++].how = i ? "gemv, weight transposed before" : "gemv";
    }
    if (constant && !p.f64 && f.pack_get_size && f.pack && f.compute) {
        one->packed = pack(&p);
        way[n] = p;
        way[n].packed = true;
        way[n].y = one->packed;
        way[n++].how = "gemm, weight packed before";
    }
    void *arg[OT_COUNT(way)];
    for (int i = 0; i < n; i++)
        arg[i] = &way[i];
    one->way = way[bench_fastest(time_product, arg, n)];
    if (ot_session_poison(&b->session, OT_ALIGNED, NULL) < 0)
        bench_die("the outputs cannot be written");
    time_product(&one->way, 1);
    bench_check(b, is_dense ? "dense_cblas.x86" : "batch_matmul_cblas.x86", "BLAS");
    snprintf(how, size, "%s", one->way.how);
    return one;
}

const bench_peer_kind bench_peer_cblas = {
    .library = "cblas",
    .start = start,
    .open = open_peer,
    .close = close_peer,
    .time = time_peer,
};
