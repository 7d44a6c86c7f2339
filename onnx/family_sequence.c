/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences whose length is known while the file is read: lists of values, which are gone before
 * anything runs. Exporters split into them, pick from them, and gather what a loop gives in them.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { MOST_PARTS = 1024 };

struct ot_onnx_sequence {
    int n;
    value *part[];
};

bool ot_onnx_takes_sequences(const ot_onnx_op *op)
{
    static const char *const also[] = {"ConcatFromSequence", "Identity", "If", "Loop"};
    bool takes = !strncmp(op->name, "Sequence", 8);
    for (int i = 0; i < OT_COUNT(also); i++)
        takes = takes || !strcmp(op->name, also[i]);
    return takes;
}

/* `n` values, from `part` unless that is NULL; NULL: too many, and the node has failed. */
static value *sequence(ot_onnx_node *n, int64_t parts, value *const *part)
{
    if (parts > MOST_PARTS) {
        optune_fail(n->err, OPTUNE_ELIMIT, "a sequence of %lld, more than %d", (long long)parts,
                    (int)MOST_PARTS);
        return NULL;
    }
    ot_onnx_sequence *s = ot_arena_alloc(
        &n->m->arena, sizeof *s + (size_t)(parts > 0 ? parts : 1) * sizeof *s->part);
    s->n = (int)parts;
    for (int i = 0; i < s->n && part; i++)
        s->part[i] = part[i];
    value *all = ot_onnx_new(n->m);
    all->sequence = s;
    return all;
}

/* The node's first input. */
static const ot_onnx_sequence *given(ot_onnx_node *n)
{
    const value *first = ot_onnx_need(n, 0);
    if (first && !first->sequence)
        optune_fail(n->err, OPTUNE_ETYPE, "its input is no sequence");
    return first ? first->sequence : NULL;
}

/* Where input `i` points among `n` places; -1: nowhere, and the node has failed. */
static int place(ot_onnx_node *n, int i, int places)
{
    ot_onnx_list at;
    const value *where = ot_onnx_need(n, i);
    if (!where || ot_onnx_list_of(n, where, "position", &at) < 0)
        return -1;
    if (at.n != 1 || at.i[0] < -places || at.i[0] >= places) {
        optune_fail(n->err, OPTUNE_ETYPE, "position %lld in a sequence with %d places",
                    at.n == 1 ? (long long)at.i[0] : 0LL, places);
        return -1;
    }
    return (int)(at.i[0] < 0 ? at.i[0] + places : at.i[0]);
}

static int construct(ot_onnx_node *n)
{
    const int parts = (int)n->proto->n_input;
    value *all = sequence(n, parts, NULL);
    for (int i = 0; i < parts && all; i++)
        if (!(all->sequence->part[i] = ot_onnx_need(n, i)))
            return n->err->status;
    return ot_onnx_give(n, 0, all);
}

static int empty(ot_onnx_node *n)
{
    return ot_onnx_give(n, 0, sequence(n, 0, NULL));
}

static int at(ot_onnx_node *n)
{
    const ot_onnx_sequence *s = given(n);
    const int k = s ? place(n, 1, s->n) : -1;
    return k < 0 ? n->err->status : ot_onnx_give(n, 0, s->part[k]);
}

static int length(ot_onnx_node *n)
{
    static const optune_tensor type = {
        .dtype = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1}};
    const ot_onnx_sequence *s = given(n);
    value *number = NULL;
    if (!s || ot_onnx_room(n->m, &type, &number, n->err) < 0)
        return n->err->status;
    *(int64_t *)number->data = s->n;
    return ot_onnx_give(n, 0, number);
}

static int insert(ot_onnx_node *n)
{
    const ot_onnx_sequence *s = given(n);
    value *part = s ? ot_onnx_need(n, 1) : NULL;
    ot_onnx_list list;
    int64_t k = s ? s->n : 0; /* behind all */
    if (part && ot_onnx_in(n, 2)) {
        if (ot_onnx_list_of(n, ot_onnx_in(n, 2), "position", &list) < 0)
            return n->err->status;
        k = list.n != 1 ? -1 : list.i[0] < 0 ? list.i[0] + s->n : list.i[0];
        if (k < 0 || k > s->n)
            return optune_fail(n->err, OPTUNE_ETYPE, "its position is none of %d and the end",
                               s->n);
    }
    value *all = part ? sequence(n, (int64_t)s->n + 1, NULL) : NULL;
    for (int i = 0; all && i <= s->n; i++)
        all->sequence->part[i] = i < k ? s->part[i] : i == k ? part : s->part[i - 1];
    return all ? ot_onnx_give(n, 0, all) : n->err->status;
}

static int erase(ot_onnx_node *n)
{
    const ot_onnx_sequence *s = given(n);
    const int k = !s ? -1 : ot_onnx_in(n, 1) ? place(n, 1, s->n) : s->n - 1;
    if (s && !s->n)
        return optune_fail(n->err, OPTUNE_ETYPE, "an empty sequence has nothing to erase");
    value *all = k < 0 ? NULL : sequence(n, s->n - 1, s->part);
    for (int i = k; all && i < s->n - 1; i++)
        all->sequence->part[i] = s->part[i + 1];
    return ot_onnx_give(n, 0, all);
}

/* Along an axis, or along one more. */
static int join(ot_onnx_node *n)
{
    const ot_onnx_sequence *s = given(n);
    value *part[MOST_PARTS];
    const bool more = ot_onnx_int(n, "new_axis", 0) != 0;
    if (!s)
        return n->err->status;
    if (!s->n)
        return ot_onnx_refuse(n, "an empty sequence is no tensor");
    const int rank = ot_onnx_rank(n, s->part[0]);
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank + more);
    if (axis < 0)
        return n->err->status;
    for (int i = 0; i < s->n; i++) {
        part[i] =
            more ? ot_onnx_call(n, "expand_dims", 1, &s->part[i], "axis=%d", axis) : s->part[i];
        if (!part[i])
            return n->err->status;
    }
    return ot_onnx_give(n, 0, ot_onnx_join(n, axis, s->n, part));
}

/* How long each part is: one for all but the last, a list, or 1. */
static int64_t lengths(ot_onnx_node *n, int64_t extent, int64_t *each, ot_onnx_list *list)
{
    const value *by = ot_onnx_in(n, 1);
    *each = 1;
    list->n = 0;
    if (by && ot_onnx_list_of(n, by, "split", list) < 0)
        return -1;
    if (by && ot_onnx_rank(n, by) != 0)
        return list->n;
    *each = by ? list->i[0] : 1;
    list->n = 0;
    if (*each >= 1)
        return extent / *each + (extent % *each != 0);
    optune_fail(n->err, OPTUNE_ETYPE, "parts of %lld", (long long)*each);
    return -1;
}

static int split(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank);
    int64_t dim[OPTUNE_MAX_RANK], each, begin = 0;
    ot_onnx_list list;
    if (axis < 0 || !ot_onnx_dims_at(n, x, 1u << axis, dim))
        return n->err->status;
    const int64_t parts = lengths(n, dim[axis], &each, &list);
    const bool kept = ot_onnx_in(n, 1) || ot_onnx_int(n, "keepdims", 1);
    value *all = parts < 0 ? NULL : sequence(n, parts, NULL);
    for (int i = 0; i < parts && all; i++) {
        const int64_t rest = dim[axis] - begin;
        const int64_t some = list.n ? list.i[i] : each < rest ? each : rest;
        if (some < 0 || some > rest)
            return optune_fail(n->err, OPTUNE_ETYPE, "its parts do not fit into %lld",
                               (long long)dim[axis]);
        value *part = ot_onnx_part(n, x, axis, begin, begin + some);
        part = part && !kept ? ot_onnx_call(n, "squeeze", 1, &part, "axis=[%d]", axis) : part;
        if (!part)
            return n->err->status;
        all->sequence->part[i] = part;
        begin += some;
    }
    if (all && begin != dim[axis])
        return optune_fail(n->err, OPTUNE_ETYPE, "its parts are %lld of %lld", (long long)begin,
                           (long long)dim[axis]);
    return ot_onnx_give(n, 0, all);
}

static const ot_onnx_op ops[] = {
    {"SequenceConstruct", construct, NULL},
    {"SequenceEmpty", empty, NULL},
    {"SequenceAt", at, NULL},
    {"SequenceLength", length, NULL},
    {"SequenceInsert", insert, NULL},
    {"SequenceErase", erase, NULL},
    {"ConcatFromSequence", join, NULL},
    {"SplitToSequence", split, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(sequence) = {ops};
