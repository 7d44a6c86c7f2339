/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention over heads, however operators name its parts: one call of ours where that has what is
 * asked for; products and a softmax between them where scores are bent, have a sink beside them or
 * are given, too. A query that no key is left for gives zeros.
 */
#include <math.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

value *ot_onnx_split_heads(ot_onnx_node *n, value *x, int64_t heads,
                           int64_t dim[OPTUNE_MAX_RANK])
{
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 0)
        return NULL;
    if (rank == 4)
        return ot_onnx_dims_at(n, x, 0xe, dim) ? x : NULL;
    if (!ot_onnx_dims_at(n, x, 0x6, dim))
        return NULL;
    if (rank != 3 || heads < 1 || dim[2] % heads) {
        ot_onnx_refuse(n, "%d dims, the last of %lld elements, for %lld heads", rank,
                       (long long)(rank == 3 ? dim[2] : 0), (long long)heads);
        return NULL;
    }
    const int64_t split[] = {dim[0], dim[1], heads, dim[2] / heads};
    x = ot_onnx_transpose(n, ot_onnx_reshape(n, x, 4, split), 4, (const int[]){0, 2, 1, 3});
    return x && ot_onnx_dims_at(n, x, 0xe, dim) ? x : NULL;
}

value *ot_onnx_join_heads(ot_onnx_node *n, value *y)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!y || !ot_onnx_dims_at(n, y, 0xe, dim))
        return NULL;
    const int64_t joined[] = {dim[0], dim[2], dim[1] * dim[3]};
    return ot_onnx_reshape(n, ot_onnx_transpose(n, y, 4, (const int[]){0, 2, 1, 3}), 3, joined);
}

/* a < b, a <= b, of integers. */
static value *below(ot_onnx_node *n, value *a, value *b, int64_t equal)
{
    if (b && equal)
        b = ot_onnx_2(n, "add", b, ot_onnx_number(n, b, 1));
    return ot_onnx_2(n, "less", a, b);
}

/* Both of two truths, or the one that is there. */
static value *both(ot_onnx_node *n, value *a, value *b)
{
    return a && b ? ot_onnx_2(n, "minimum", a, b) : a ? a : b;
}

value *ot_onnx_seen(ot_onnx_node *n, const ot_onnx_view *view, int64_t rows, int64_t columns)
{
    value *key = ot_onnx_count_up(n, 4, 3, columns, 1), *seen = NULL, *part = NULL;
    value *at = view->causal || view->left >= 0 || view->right >= 0
                    ? ot_onnx_count_up(n, 4, 2, rows, 1)
                    : NULL;
    if (at)
        at = ot_onnx_2(n, "add", at,
                       view->offset ? view->offset : ot_onnx_number(n, at, (double)view->past));
    if (view->causal)
        seen = below(n, key, at, 1);
    if (view->left >= 0 && at) {
        part = ot_onnx_2(n, "subtract", at, ot_onnx_number(n, at, (double)view->left));
        seen = both(n, seen, below(n, part, key, 1));
    }
    if (view->right >= 0 && at) {
        part = ot_onnx_2(n, "add", at, ot_onnx_number(n, at, (double)view->right));
        seen = both(n, seen, below(n, key, part, 1));
    }
    if (view->length && key)
        seen = both(n, seen, below(n, key, view->length, 0));
    return n->err->status < 0 ? NULL : seen;
}

/* With dims of 1 in front, four in all. */
static value *mask_of(ot_onnx_node *n, value *x)
{
    int64_t dim[OPTUNE_MAX_RANK], all[4] = {1, 1, 1, 1};
    const int rank = ot_onnx_rank(n, x);
    if (rank < 0 || rank == 4)
        return rank < 0 ? NULL : x;
    if (rank > 4 || rank < 1) {
        ot_onnx_refuse(n, "a mask of %d dims", rank);
        return NULL;
    }
    if (!ot_onnx_dims_at(n, x, rank == 3 ? 0x6 : (1u << rank) - 1, dim))
        return NULL;
    for (int d = 0; d < rank; d++)
        all[4 - rank + d] = dim[d];
    return ot_onnx_reshape(n, x, 4, all);
}

static bool is_truth(const ot_onnx_node *n, const value *x)
{
    return ot_onnx_type(n->m, x)->dtype.code == OPTUNE_DTYPE_BOOL;
}

/* What is added, of a mask of truths. */
static value *as_numbers(ot_onnx_node *n, value *mask, const value *like)
{
    return mask && is_truth(n, mask)
               ? ot_onnx_call(n, "where", 3,
                              (value *const[]){mask, ot_onnx_number(n, like, 0),
                                               ot_onnx_number(n, like, -INFINITY)},
                              NULL)
               : mask;
}

/* What a query may see, and what is added; either may be NULL, and so is what has failed. */
static value *masked(ot_onnx_node *n, value *mask, value *seen, const value *like)
{
    if (!mask || !seen)
        return mask ? mask : seen;
    if (is_truth(n, mask))
        return both(n, mask, seen);
    return ot_onnx_call(n, "where", 3,
                        (value *const[]){seen, mask, ot_onnx_number(n, like, -INFINITY)}, NULL);
}

/* A mask that ends before the keys do hides the others. */
static value *widened(ot_onnx_node *n, value *mask, int64_t columns, const value *like)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!mask || !ot_onnx_dims_at(n, mask, 1u << 3, dim))
        return NULL;
    if (dim[3] >= columns || dim[3] == 1)
        return mask;
    mask = ot_onnx_call(n, "pad", 1, &mask, "before=[0,0,0,0], after=[0,0,0,%lld]",
                        (long long)(columns - dim[3]));
    value *key = ot_onnx_count_up(n, 4, 3, columns, 1);
    value *there = key ? below(n, key, ot_onnx_number(n, key, (double)dim[3]), 0) : NULL;
    return mask && there ? masked(n, mask, there, like) : NULL;
}

/* Rows of the heads that share keys, one behind the other. */
static value *shared(ot_onnx_node *n, value *q, const int64_t *dim, int64_t heads)
{
    const int64_t rows[] = {dim[0], heads, dim[1] / heads * dim[2], dim[3]};
    return dim[1] == heads ? q : ot_onnx_reshape(n, q, 4, rows);
}

/* The weights, and a column beside them for the sink, which is left out again. */
static value *weights(ot_onnx_node *n, const ot_onnx_heads *h, value *scores,
                      const int64_t dim[4])
{
    if (h->sink) {
        value *sink = ot_onnx_call(n, "broadcast_to", 1, &h->sink, "shape=[%lld,%lld,%lld,1]",
                                   (long long)dim[0], (long long)dim[1], (long long)dim[2]);
        scores = sink ? ot_onnx_join(n, 3, 2, (value *const[]){scores, sink}) : NULL;
    }
    value *p = ot_onnx_call(n, "softmax", 1, &scores, "axis=3");
    return h->sink ? ot_onnx_part(n, p, 3, 0, dim[3]) : p;
}

static value *spelled(ot_onnx_node *n, const ot_onnx_heads *h, value *mask)
{
    int64_t q[OPTUNE_MAX_RANK], k[OPTUNE_MAX_RANK], v[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims(n, h->q, q) || !ot_onnx_dims(n, h->k, k) || !ot_onnx_dims(n, h->v, v))
        return NULL;
    if (k[1] < 1 || q[1] % k[1] || v[1] != k[1]) {
        ot_onnx_refuse(n, "%lld heads of queries, %lld of keys and %lld of values",
                       (long long)q[1], (long long)k[1], (long long)v[1]);
        return NULL;
    }
    const int64_t all[] = {q[0], q[1], q[2], k[2]}, out[] = {q[0], q[1], q[2], v[3]};
    const double scale = h->scale != 0 ? h->scale : 1 / sqrt((double)q[3]);
    value *scores = ot_onnx_2(n, "multiply", h->q, ot_onnx_number(n, h->q, scale));
    scores = ot_onnx_product(n, shared(n, scores, q, k[1]),
                             ot_onnx_transpose(n, h->k, 4, (const int[]){0, 1, 3, 2}));
    scores = ot_onnx_reshape(n, scores, 4, all);
    if (h->stage == OT_ONNX_SCORES && scores)
        *h->given = scores;
    if (h->softcap != 0 && scores) {
        value *cap = ot_onnx_number(n, h->q, h->softcap);
        scores = ot_onnx_2(n, "multiply",
                           ot_onnx_1(n, "tanh", ot_onnx_2(n, "divide", scores, cap)), cap);
    }
    if (h->stage == OT_ONNX_CAPPED && scores)
        *h->given = scores;
    mask = as_numbers(n, mask, h->q);
    if (mask && scores)
        scores = ot_onnx_2(n, "add", scores, mask);
    if (h->stage == OT_ONNX_MASKED && scores)
        *h->given = scores;
    value *p = scores ? weights(n, h, scores, all) : NULL;
    if (mask && p) {
        value *most = ot_onnx_call(n, "max", 1, &mask, "axis=[3], keepdims=true");
        value *none = ot_onnx_2(n, "equal", most, ot_onnx_number(n, most, -INFINITY));
        p = none ? ot_onnx_call(n, "where", 3,
                                (value *const[]){none, ot_onnx_number(n, p, 0), p}, NULL)
                 : NULL;
    }
    if (h->stage == OT_ONNX_WEIGHTS && p)
        *h->given = p;
    const int64_t rows[] = {q[0], k[1], q[1] / k[1] * q[2], k[2]};
    p = p && q[1] != k[1] ? ot_onnx_reshape(n, p, 4, rows) : p;
    return p ? ot_onnx_reshape(n, ot_onnx_product(n, p, h->v), 4, out) : NULL;
}

value *ot_onnx_attended(ot_onnx_node *n, const ot_onnx_heads *h)
{
    int64_t q[OPTUNE_MAX_RANK], k[OPTUNE_MAX_RANK];
    if (!h->q || !h->k || !h->v || !ot_onnx_dims_at(n, h->q, 1u << 2, q) ||
        !ot_onnx_dims_at(n, h->k, 1u << 2, k))
        return NULL;
    ot_onnx_view view = h->view;
    const bool bent = h->softcap != 0 || h->sink || h->stage != OT_ONNX_NOTHING;
    const bool to_the_end = view.causal && !view.offset && view.past == k[2] - q[2] && !bent;
    value *mask = h->mask ? widened(n, mask_of(n, h->mask), k[2], h->q) : NULL;
    if (h->mask && !mask)
        return NULL;
    if (to_the_end)
        view.causal = false;
    if (view.causal || view.left >= 0 || view.right >= 0 || view.length) {
        value *seen = ot_onnx_seen(n, &view, q[2], k[2]);
        mask = seen ? masked(n, mask, seen, h->q) : NULL;
        if (!mask)
            return NULL;
    }
    if (bent)
        return spelled(n, h, mask);
    return ot_onnx_call(n, "attention", mask ? 4 : 3, (value *const[]){h->q, h->k, h->v, mask},
                        "causal=%s, scale=%.17g", to_the_end ? "true" : "false", h->scale);
}
