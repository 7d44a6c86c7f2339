/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses that a model exported for training ends in: how unlikely, by logarithms of probabilities
 * [N,C,...] or by scores, the classes [N,...] are. Classes that are ignored count for nothing.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype int64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

/* Where classes are ignored, and the classes with 0 in their place; *ignored NULL: none are. */
static value *classes(ot_onnx_node *n, value *at, value **ignored)
{
    *ignored = NULL;
    at = at ? ot_onnx_as(n, at, int64) : NULL;
    if (!at || !ot_onnx_attr_of(n, "ignore_index"))
        return at;
    const double which = (double)ot_onnx_int(n, "ignore_index", 0);
    *ignored = ot_onnx_2(n, "equal", at, ot_onnx_number(n, at, which));
    value *const in[] = {*ignored, ot_onnx_number(n, at, 0), at};
    return ot_onnx_call(n, "where", 3, in, NULL);
}

/* `x`, 0 where a class is ignored. */
static value *counted(ot_onnx_node *n, value *x, value *ignored)
{
    return ignored && x
               ? ot_onnx_call(n, "where", 3,
                              (value *const[]){ignored, ot_onnx_number(n, x, 0), x}, NULL)
               : x;
}

/* All of them as the node says; `share` [N,...]: what each counts for in a mean, or NULL: 1. */
static value *reduced(ot_onnx_node *n, value *loss, value *share)
{
    const char *how = ot_onnx_word(n, "reduction", "mean");
    if (!strcmp(how, "none") || !loss)
        return loss;
    if (!strcmp(how, "sum"))
        return ot_onnx_1(n, "sum", loss);
    if (strcmp(how, "mean") != 0) {
        ot_onnx_refuse(n, "reduction '%.40s' is not supported", how);
        return NULL;
    }
    return share ? ot_onnx_2(n, "divide", ot_onnx_1(n, "sum", loss), ot_onnx_1(n, "sum", share))
                 : ot_onnx_1(n, "mean", loss);
}

/* Of logarithms of probabilities. */
static value *unlikely(ot_onnx_node *n, value *log)
{
    value *ignored, *at = classes(n, ot_onnx_need(n, 1), &ignored), *weight = ot_onnx_in(n, 2);
    const int rank = log && at ? ot_onnx_rank(n, log) : -1;
    if (rank < 0)
        return NULL;
    if (rank < 2 || ot_onnx_rank(n, at) != rank - 1) {
        ot_onnx_refuse(n, "classes of %d dims for %d", ot_onnx_rank(n, at), rank);
        return NULL;
    }
    value *place = ot_onnx_call(n, "expand_dims", 1, &at, "axis=1");
    value *own = ot_onnx_call(n, "gather", 2, (value *const[]){log, place}, "axis=1");
    own = ot_onnx_call(n, "squeeze", 1, &own, "axis=[1]");
    value *loss = ot_onnx_1(n, "negative", own), *share = NULL;
    if (weight)
        share = ot_onnx_call(n, "take", 2, (value *const[]){weight, at}, "axis=0");
    else if (ignored && loss)
        share = ot_onnx_1(n, "ones_like", loss);
    share = counted(n, share, ignored);
    if (weight)
        loss = ot_onnx_2(n, "multiply", loss, share);
    return n->err->status < 0 ? NULL : reduced(n, counted(n, loss, ignored), share);
}

static int negative_log_likelihood(ot_onnx_node *n)
{
    value *log = ot_onnx_need(n, 0);
    return log ? ot_onnx_give(n, 0, unlikely(n, log)) : n->err->status;
}

static int cross_entropy(ot_onnx_node *n)
{
    value *scores = ot_onnx_need(n, 0);
    const int rank = scores ? ot_onnx_rank(n, scores) : -1;
    if (rank < 0)
        return n->err->status;
    if (rank < 2)
        return ot_onnx_refuse(n, "scores of %d dims", rank);
    value *log = ot_onnx_log_softmax(n, scores, "1");
    const int status = ot_onnx_give(n, 0, log ? unlikely(n, log) : NULL);
    return status >= 0 && ot_onnx_wants(n, 1) ? ot_onnx_give(n, 1, log) : status;
}

static const ot_onnx_op ops[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood, NULL},
    {"SoftmaxCrossEntropyLoss", cross_entropy, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(loss) = {ops};
