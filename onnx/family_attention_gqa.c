/* SPDX-License-Identifier: Apache-2.0 */
/*
 * com.microsoft's GroupQueryAttention, as decoders are exported with it: heads of queries that
 * share keys, turned by their places, behind a cache that has room for more than it holds or grows.
 * How much each sequence's cache holds is told by a list of the batch; where that is the same for
 * all, or the batch is one, the sum of places alone says it, and nothing of it is left for a run.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { QUERY, KEY, VALUE, PAST_K, PAST_V, LAST, TOTAL, COS, SIN, PLACES, ADDED, SINK };

static const optune_dtype int64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

typedef struct cache {
    int64_t batch, rows, total; /* rows: new places; total: with those before them */
    int64_t past, present;      /* rows of what is there, and of what is given */
    value *before;              /* [B,1,1,1], how many each sequence has; NULL: total - rows */
} cache;

static int refused(ot_onnx_node *n)
{
    for (int i = SINK + 1; i < (int)n->proto->n_input; i++)
        if (ot_onnx_in(n, i))
            return ot_onnx_refuse(n, "a cache of small integers is not supported");
    if (ot_onnx_wants(n, 3))
        return ot_onnx_refuse(n, "its scores are not given, only what comes of them");
    if (!ot_onnx_in(n, KEY) != !ot_onnx_in(n, VALUE))
        return ot_onnx_refuse(n, "keys and values go together, or with the queries");
    if (!ot_onnx_in(n, PAST_K) != !ot_onnx_in(n, PAST_V))
        return ot_onnx_refuse(n, "a cache has keys and values");
    return OPTUNE_OK;
}

/* [B,H,S,D] each. */
static int sides(ot_onnx_node *n, int64_t heads, int64_t shared, value *side[3])
{
    int64_t dim[OPTUNE_MAX_RANK], at = 0;
    const int64_t all = heads + 2 * shared, part[] = {heads, shared, shared};
    for (int i = 0; i < 3; i++)
        side[i] = ot_onnx_in(n, i);
    if (!ot_onnx_need(n, QUERY))
        return n->err->status;
    if (heads < 1 || shared < 1 || heads % shared)
        return ot_onnx_refuse(n, "%lld heads of queries and %lld of keys", (long long)heads,
                              (long long)shared);
    if (!side[KEY]) {
        if (ot_onnx_rank(n, side[0]) != 3 || !ot_onnx_dims_at(n, side[0], 0x6, dim) ||
            dim[2] % all)
            return n->err->status < 0
                       ? n->err->status
                       : ot_onnx_refuse(n, "what is packed has no %lld heads", (long long)all);
        value *x = side[0];
        for (int i = 0; i < 3; at += part[i++])
            side[i] =
                ot_onnx_part(n, x, 2, at * (dim[2] / all), (at + part[i]) * (dim[2] / all));
    }
    for (int i = 0; i < 3; i++)
        side[i] = side[i] ? ot_onnx_split_heads(n, side[i], part[i], dim) : NULL;
    return n->err->status;
}

/* Whether all numbers of a constant are this one. */
static bool all_are(ot_onnx_node *n, value *list, int64_t number)
{
    ot_onnx_list got;
    if (!list->data || optune_tensor_elements(ot_onnx_type(n->m, list)) > OT_ONNX_LIST ||
        ot_onnx_list_of(n, list, "seqlens_k", &got) < 0)
        return false;
    for (int i = 0; i < got.n; i++)
        if (got.i[i] != number)
            return false;
    return true;
}

static int measure(ot_onnx_node *n, value *const side[3], cache *c)
{
    int64_t dim[OPTUNE_MAX_RANK];
    value *last = ot_onnx_need(n, LAST), *total = ot_onnx_need(n, TOTAL);
    value *past = ot_onnx_in(n, PAST_K);
    ot_onnx_list list;
    if (!last || !total || !side[KEY] || !ot_onnx_dims(n, side[KEY], dim) ||
        ot_onnx_list_of(n, total, "total_sequence_length", &list) < 0)
        return n->err->status;
    *c = (cache){.batch = dim[0], .rows = dim[2], .total = list.n == 1 ? list.i[0] : -1};
    if (past && !ot_onnx_dims(n, past, dim))
        return n->err->status;
    c->past = past ? dim[2] : 0;
    c->present = c->past > c->total ? c->past : c->total;
    if (c->total < c->rows || c->total - c->rows > c->past)
        return ot_onnx_refuse(n, "%lld places in all, of %lld new ones behind a cache of %lld",
                              (long long)c->total, (long long)c->rows, (long long)c->past);
    if (c->batch != 1 && c->total != c->rows && !all_are(n, last, c->total - 1)) {
        last =
            ot_onnx_reshape(n, ot_onnx_as(n, last, int64), 4, (const int64_t[]){-1, 1, 1, 1});
        c->before = ot_onnx_2(n, "add", last,
                              last ? ot_onnx_number(n, last, (double)(1 - c->rows)) : NULL);
    }
    return n->err->status;
}

/* What was there, the new rows behind it, and zeros up to what is given: each sequence by where its
 * own begin, as rows of one table. */
static value *behind_each(ot_onnx_node *n, const cache *c, value *past, value *fresh)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims(n, fresh, dim))
        return NULL;
    const int64_t own = c->past + c->rows + 1, table[] = {dim[0] * dim[1] * own, dim[3]};
    value *all =
        ot_onnx_call(n, "pad", 1, &fresh, "before=[0,0,0,0], after=[0,0,1,0], value=0");
    all = ot_onnx_reshape(n, ot_onnx_join(n, 2, 2, (value *const[]){past, all}), 2, table);
    value *place = ot_onnx_count_up(n, 4, 2, c->present, 1), *at = NULL;
    value *since = ot_onnx_2(n, "subtract", place, c->before);
    if (!all || !since)
        return NULL;
    value *zero = ot_onnx_number(n, place, (double)(own - 1));
    value *mine = ot_onnx_2(n, "add", since, ot_onnx_number(n, place, (double)c->past));
    at = ot_onnx_call(
        n, "where", 3,
        (value *const[]){ot_onnx_2(n, "less", since, ot_onnx_number(n, place, (double)c->rows)),
                         mine, zero},
        NULL);
    at = ot_onnx_call(
        n, "where", 3,
        (value *const[]){ot_onnx_2(n, "less", since, ot_onnx_number(n, place, 0)), place, at},
        NULL);
    at = at ? ot_onnx_2(n, "add", at, ot_onnx_count_up(n, 4, 0, dim[0], dim[1] * own)) : NULL;
    at = at ? ot_onnx_2(n, "add", at, ot_onnx_count_up(n, 4, 1, dim[1], own)) : NULL;
    const int64_t flat[] = {dim[0], dim[1], c->present};
    at = ot_onnx_reshape(n, at, 3, flat);
    return at ? ot_onnx_call(n, "take", 2, (value *const[]){all, at}, "axis=0") : NULL;
}

/* The keys or values that are seen; `present`: as the cache has them behind this. */
static value *grown(ot_onnx_node *n, const cache *c, int past_at, value *fresh, value **present)
{
    value *past = ot_onnx_in(n, past_at);
    const int64_t before = c->total - c->rows;
    if (!fresh || n->err->status < 0)
        return NULL;
    if (c->before) {
        *present = behind_each(n, c, past, fresh);
        return *present && c->present > c->total ? ot_onnx_part(n, *present, 2, 0, c->total)
                                                 : *present;
    }
    if (before) {
        past = before < c->past ? ot_onnx_part(n, past, 2, 0, before) : past;
        fresh = past ? ot_onnx_join(n, 2, 2, (value *const[]){past, fresh}) : NULL;
    }
    *present =
        c->present > c->total
            ? ot_onnx_call(n, "pad", 1, &fresh, "before=[0,0,0,0], after=[0,0,%lld,0], value=0",
                           (long long)(c->present - c->total))
            : fresh;
    return *present ? fresh : NULL;
}

/* Where the new rows stand: [1|B,S]. */
static value *places(ot_onnx_node *n, const cache *c)
{
    value *at = ot_onnx_in(n, PLACES), *row = at ? NULL : ot_onnx_count_up(n, 2, 1, c->rows, 1);
    if (at || !row)
        return at;
    if (!c->before)
        return ot_onnx_2(n, "add", row, ot_onnx_number(n, row, (double)(c->total - c->rows)));
    return ot_onnx_2(n, "add", row, ot_onnx_reshape(n, c->before, 2, (const int64_t[]){-1, 1}));
}

static value *sink(ot_onnx_node *n, const value *like)
{
    value *given = ot_onnx_in(n, SINK);
    if (given)
        return ot_onnx_reshape(n, given, 4, (const int64_t[]){1, -1, 1, 1});
    if (ot_onnx_int(n, "smooth_softmax", 0) != 1)
        return NULL;
    return ot_onnx_reshape(n, ot_onnx_number(n, like, 0), 4, (const int64_t[]){1, 1, 1, 1});
}

static int grouped(ot_onnx_node *n)
{
    const int64_t heads = ot_onnx_int(n, "num_heads", 0),
                  shared = ot_onnx_int(n, "kv_num_heads", 0);
    const int64_t window =
        ot_onnx_int(n, "local_window_size", -1); /* with a query's own place */
    value *side[3], *present[2] = {NULL, NULL};
    cache c;
    if (window == 0)
        return ot_onnx_refuse(n, "a window of no keys");
    if (refused(n) < 0 || sides(n, heads, shared, side) < 0 || measure(n, side, &c) < 0)
        return n->err->status;
    if (ot_onnx_int(n, "do_rotary", 0)) {
        const bool between = ot_onnx_int(n, "rotary_interleaved", 0) != 0;
        value *cos = ot_onnx_need(n, COS), *sin = cos ? ot_onnx_need(n, SIN) : NULL;
        value *at = sin ? places(n, &c) : NULL;
        for (int i = 0; i < 2; i++)
            side[i] = at ? ot_onnx_turned(n, side[i], cos, sin, at, between) : NULL;
    }
    ot_onnx_heads h = {.q = side[QUERY],
                       .k = grown(n, &c, PAST_K, side[KEY], &present[0]),
                       .v = grown(n, &c, PAST_V, side[VALUE], &present[1]),
                       .mask = ot_onnx_in(n, ADDED),
                       .scale = ot_onnx_real(n, "scale", 0),
                       .softcap = ot_onnx_real(n, "softcap", 0),
                       .view = {.causal = true,
                                .left = window > 0 ? window - 1 : -1,
                                .right = -1,
                                .past = c.total - c.rows,
                                .offset = c.before}};
    if (!h.q || !h.k || !h.v)
        return n->err->status;
    h.sink = sink(n, h.q);
    if (n->err->status < 0)
        return n->err->status;
    int given = ot_onnx_give(n, 0, ot_onnx_join_heads(n, ot_onnx_attended(n, &h)));
    for (int i = 0; i < 2 && given >= 0; i++)
        given = ot_onnx_wants(n, 1 + i) ? ot_onnx_give(n, 1 + i, present[i]) : given;
    return given;
}

static const ot_onnx_op ops[] = {
    {"com.microsoft::GroupQueryAttention", grouped, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(attention_gqa) = {ops};
