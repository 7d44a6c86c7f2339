/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op's reference. Queries that share keys are taken some at a time, as both of their sums are
 * products of matrices.
 */
#include <stdlib.h>

#include "kernels/attention/attention.h"
#include "kernels/host/product.h"
#include "kernels/host/region_lines.h"

enum { SOME = 32 }; /* queries */

typedef struct query {
    int64_t at[3]; /* b, h, i */
    int64_t to;    /* its first element in the region */
    double sum, moment;
} query;

typedef struct queries {
    const optune_call *call;
    const void *const *in;
    attention_shape s;
    int n;
    query q[SOME];
    /* [SOME, skv]: weights, the sizes of scores, and a weight times what its error counts. */
    double *p, *size, *share;
} queries;

static int64_t keys_of(const queries *l)
{
    const attention_shape *s = &l->s;
    return l->q[0].at[0] * s->hkv + l->q[0].at[1] / (s->hq / s->hkv);
}

static void read_queries(const void *of, int64_t row, int rows, int64_t from, int n, double *to)
{
    const queries *l = of;
    const attention_shape *s = &l->s;
    const host_matrix m = {l->in[ATTENTION_Q], l->call->input[ATTENTION_Q].type.dtype, 0, s->d,
                           1};
    const host_rows all = host_rows_of(&m);
    for (int r = 0; r < rows; r++) {
        const int64_t *at = l->q[row + r].at;
        all.read(&m, (at[0] * s->hq + at[1]) * s->sq + at[2], 1, from, n,
                 to + r * HOST_PRODUCT_ROW);
    }
}

/* Whether query `at` sees key j, and what the mask adds to that score. */
static bool sees(const queries *l, const int64_t *at, int64_t j, double *more)
{
    const attention_shape *s = &l->s;
    *more = 0;
    if (s->causal && j > at[2] + s->skv - s->sq)
        return false;
    if (!s->has_mask)
        return true;
    const optune_dtype m = l->call->input[ATTENTION_MASK].type.dtype;
    const double mask = tensor_element(l->in[ATTENTION_MASK], m,
                                       at[0] * s->mask_stride[0] + at[1] * s->mask_stride[1] +
                                           at[2] * s->mask_stride[2] + j * s->mask_stride[3]);
    if (m.code == OPTUNE_DTYPE_BOOL)
        return mask != 0;
    *more = mask;
    return mask != -INFINITY;
}

/* The weights of a query, of its products with the keys and their sizes. */
static void weigh(const queries *l, query *q, double *p, double *size)
{
    const attention_shape *s = &l->s;
    double most = -INFINITY;
    for (int64_t j = 0; j < s->skv; j++) {
        double more;
        const bool seen = sees(l, q->at, j, &more);
        p[j] = seen ? p[j] * s->scale + more : -INFINITY;
        size[j] = seen ? size[j] * fabs(s->scale) + fabs(more) : 0;
        most = isnan(p[j]) || isnan(most) ? NAN : fmax(most, p[j]);
    }
    q->sum = q->moment = 0;
    for (int64_t j = 0; j < s->skv; j++) {
        if (p[j] == -INFINITY && !isnan(most) && most != INFINITY) {
            p[j] = 0;
            continue;
        }
        size[j] += fabs(p[j] - most);
        p[j] = exp(p[j] - most);
        q->sum += p[j];
        q->moment += p[j] * size[j];
    }
}

/* What is not finite at a key that has no weight says nothing: an output without such keys. */
static void sum_seen(const queries *l, int r, int64_t c, double *out, double *magnitude)
{
    const attention_shape *s = &l->s;
    const optune_dtype dtype = l->call->input[ATTENTION_V].type.dtype;
    *out = *magnitude = 0;
    for (int64_t j = 0; j < s->skv; j++) {
        if (l->p[r * s->skv + j] == 0)
            continue;
        const double v =
            tensor_element(l->in[ATTENTION_V], dtype, (keys_of(l) * s->skv + j) * s->dv + c);
        *out += l->p[r * s->skv + j] * v;
        *magnitude += fabs(l->share[r * s->skv + j] * v);
    }
}

/* Columns c0 to c1 of some queries' outputs. */
static void attend(queries *l, int64_t c0, int64_t c1, double *out, double *magnitude)
{
    const attention_shape *s = &l->s;
    const int64_t all = (int64_t)l->n * s->skv, cols = c1 - c0, kv = keys_of(l);
    const host_matrix k = {l->in[ATTENTION_K], l->call->input[ATTENTION_K].type.dtype,
                           kv * s->skv * s->d, s->d, 1};
    const host_matrix v = {l->in[ATTENTION_V], l->call->input[ATTENTION_V].type.dtype,
                           kv * s->skv * s->dv, 1, s->dv};
    const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    const host_matrix p = {l->p, f64, 0, s->skv, 1}, share = {l->share, f64, 0, s->skv, 1};
    const host_rows queries_of = {.read = read_queries, .of = l}, keys = host_rows_of(&k),
                    values = host_rows_of(&v), weights = host_rows_of(&p),
                    shares = host_rows_of(&share);
    double sum[SOME * HOST_PRODUCT_COLUMNS], size[SOME * HOST_PRODUCT_COLUMNS];
    for (int64_t i = 0; i < all; i++)
        l->p[i] = l->size[i] = 0;
    host_product(&queries_of, 0, l->n, &keys, 0, s->skv, s->d, l->p, l->size, s->skv);
    for (int r = 0; r < l->n; r++) {
        query *q = &l->q[r];
        const int64_t at = r * s->skv;
        weigh(l, q, l->p + at, l->size + at);
        for (int64_t j = 0; j < s->skv; j++)
            l->share[at + j] = l->p[at + j] == 0
                                   ? 0
                                   : l->p[at + j] * (1 + l->size[at + j] + q->moment / q->sum);
    }
    for (int64_t c = 0; c < cols; c += HOST_PRODUCT_COLUMNS) {
        const int64_t some = host_min(cols - c, HOST_PRODUCT_COLUMNS);
        memset(sum, 0, sizeof sum);
        memset(size, 0, sizeof size);
        host_product(&weights, 0, l->n, &values, c0 + c, c0 + c + some, s->skv, sum, NULL,
                     HOST_PRODUCT_COLUMNS);
        host_product(&shares, 0, l->n, &values, c0 + c, c0 + c + some, s->skv, NULL, size,
                     HOST_PRODUCT_COLUMNS);
        for (int r = 0; r < l->n; r++)
            for (int64_t i = 0; i < some; i++) {
                const query *q = &l->q[r];
                const int64_t to = q->to + c + i;
                double *one = &sum[r * HOST_PRODUCT_COLUMNS + i],
                       *of_one = &size[r * HOST_PRODUCT_COLUMNS + i];
                if (!isfinite(*one) || !isfinite(*of_one))
                    sum_seen(l, r, c0 + c + i, one, of_one);
                out[to] = s->zeros && q->sum == 0 ? 0 : *one / q->sum;
                magnitude[to] = q->sum == 0 ? 0 : *of_one / q->sum;
            }
    }
}

void attention_reference(const optune_call *call, const void *const *in, int out_index,
                         const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    queries l = {.call = call, .in = in};
    if (!attention_shape_of(call, &l.s))
        return;
    const int64_t group = l.s.hq / l.s.hkv, row = SOME * l.s.skv;
    l.p = calloc((size_t)row * 3 + 1, sizeof *l.p);
    if (!l.p)
        return;
    l.size = l.p + row;
    l.share = l.size + row;
    region_lines at = region_lines_of(region, &call->output[0], 3, 1);
    bool more = true;
    while (more) {
        query *q = &l.q[l.n++];
        memcpy(q->at, at.at, sizeof q->at);
        q->to = at.to;
        more = region_lines_next(&at);
        if (!more || l.n == SOME || at.at[0] != q->at[0] ||
            at.at[1] / group != q->at[1] / group) {
            attend(&l, region->lo[3], region->hi[3], out, magnitude);
            l.n = 0;
        }
    }
    free(l.p);
}
