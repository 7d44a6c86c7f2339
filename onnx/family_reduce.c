/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: an attribute of old opsets, an input of new ones. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

/* What is done to each value before, and to the result behind. */
typedef struct around {
    const char *name, *before, *after;
} around;

static ot_onnx_value *apply(ot_onnx_node *n, const char *op, ot_onnx_value *x)
{
    if (!op || !x)
        return x;
    return strcmp(op, "square") ? ot_onnx_1(n, op, x) : ot_onnx_2(n, "multiply", x, x);
}

static const around *around_of(const char *name)
{
    static const around all[] = {
        {"ReduceL1", "abs", NULL},
        {"ReduceL2", "square", "sqrt"},
        {"ReduceSumSquare", "square", NULL},
        {"ReduceLogSum", NULL, "log"},
    };
    static const around none;
    for (int i = 0; i < OT_COUNT(all); i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return &none;
}

/* The axes, from the front; all of them when none is given. */
static int axes_of(ot_onnx_node *n, int rank, ot_onnx_list *list)
{
    const int status = ot_onnx_list_at(n, "axes", 1, list);
    if (status < 0)
        return status;
    if (list->n > rank)
        return ot_onnx_refuse(n, "%d axes of %d dims", list->n, rank);
    for (int i = 0; i < list->n; i++) {
        const int axis = ot_onnx_axis(n, list->i[i], rank);
        if (axis < 0)
            return n->err->status;
        list->i[i] = axis;
    }
    return OPTUNE_OK;
}

static ot_onnx_value *reduced(ot_onnx_node *n, const char *op, ot_onnx_value *x,
                              const ot_onnx_list *axes, bool keep)
{
    return ot_onnx_call(n, op, 1, &x, "axis=[%s], keepdims=%s",
                        ot_onnx_text(n->m, axes->n, axes->i), keep ? "true" : "false");
}

static int reduce(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    ot_onnx_list axes;
    const around *how = around_of(n->op->name);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 0 || axes_of(n, rank, &axes) < 0)
        return n->err->status;
    const optune_tensor *type = ot_onnx_type(n->m, x);
    if (type->dtype.code == OPTUNE_DTYPE_BOOL && optune_tensor_known(type) &&
        !optune_tensor_elements(type))
        return ot_onnx_refuse(n, "no truth values at all");
    const optune_dtype dtype = type->dtype;
    static const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    const bool mean = !strcmp(n->op->arg, "mean");
    if ((how->after || mean) && !ot_onnx_floating(n, x)) /* integers: cut off towards 0 at last */
        x = ot_onnx_as(n, x, f64);
    else if (how->after) /* what is below the root may need more room than the root */
        x = ot_onnx_wide(n, x);
    x = apply(n, how->before, x);
    if (rank > 0 && (axes.n || !ot_onnx_int(n, "noop_with_empty_axes", 0)))
        x = reduced(n, n->op->arg, x, &axes, ot_onnx_int(n, "keepdims", 1));
    x = apply(n, how->after, x);
    return ot_onnx_give(n, 0, how->after || mean ? ot_onnx_as(n, x, dtype) : x);
}

/* most + log(sum(exp(x - most))); an infinite most is taken for 0, as it is no distance. */
static int log_sum_exp(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    ot_onnx_list axes;
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 0 || axes_of(n, rank, &axes) < 0)
        return n->err->status;
    if (rank == 0 || (!axes.n && ot_onnx_int(n, "noop_with_empty_axes", 0)))
        return ot_onnx_give(n, 0, x);
    ot_onnx_value *most = reduced(n, "max", x, &axes, true);
    ot_onnx_value *size = most ? ot_onnx_1(n, "abs", most) : NULL;
    ot_onnx_value *far =
        size ? ot_onnx_2(n, "equal", size, ot_onnx_number(n, size, (double)INFINITY)) : NULL;
    most = ot_onnx_call(n, "where", 3,
                        (ot_onnx_value *const[]){far, ot_onnx_number(n, most, 0), most}, NULL);
    ot_onnx_value *power = ot_onnx_1(n, "exp", ot_onnx_2(n, "subtract", x, most));
    ot_onnx_value *sum = ot_onnx_1(n, "log", reduced(n, "sum", power, &axes, true));
    ot_onnx_value *all = ot_onnx_2(n, "add", most, sum);
    if (!ot_onnx_int(n, "keepdims", 1)) /* all that is left of the axes are dims of 1 */
        all = reduced(n, "sum", all, &axes, false);
    return ot_onnx_give(n, 0, all);
}

/* The first of the best along one axis; backwards it is the last. */
static int arg_best(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank);
    if (axis < 0)
        return n->err->status;
    int64_t dim[OPTUNE_MAX_RANK];
    const bool last = ot_onnx_int(n, "select_last_index", 0);
    if (last && !ot_onnx_dims_at(n, x, 1u << axis, dim))
        return n->err->status;
    if (last)
        x = ot_onnx_call(n, "reverse", 1, &x, "axis=%d", axis);
    ot_onnx_value *all = ot_onnx_call(n, "topk", 1, &x,
                                      "k=1, axis=%d, ret_type=indices, is_ascend=%s, dtype=i64",
                                      axis, n->op->arg);
    if (all && last)
        all = ot_onnx_2(n, "subtract", ot_onnx_number(n, all, (double)dim[axis] - 1), all);
    if (all && !ot_onnx_int(n, "keepdims", 1))
        all = ot_onnx_call(n, "squeeze", 1, &all, "axis=[%d]", axis);
    return ot_onnx_give(n, 0, all);
}

/* Sums or products of what is before. */
static int running(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0), *at = ot_onnx_need(n, 1);
    ot_onnx_list list;
    const int rank = x && at ? ot_onnx_rank(n, x) : -1;
    if (rank < 0 || ot_onnx_list_of(n, at, "axis", &list) < 0)
        return n->err->status;
    const int axis = list.n == 1 ? ot_onnx_axis(n, list.i[0], rank) : -1;
    if (axis < 0)
        return n->err->status < 0 ? n->err->status : ot_onnx_refuse(n, "its axis is no number");
    const bool back = ot_onnx_int(n, "reverse", 0);
    x = back ? ot_onnx_call(n, "reverse", 1, &x, "axis=%d", axis) : x;
    x = ot_onnx_call(n, n->op->arg, 1, &x, "axis=%d, exclusive=%s", axis,
                     ot_onnx_int(n, "exclusive", 0) ? "true" : "false");
    return ot_onnx_give(n, 0, back ? ot_onnx_call(n, "reverse", 1, &x, "axis=%d", axis) : x);
}

static const ot_onnx_op ops[] = {
    {"ReduceSum", reduce, "sum"},
    {"ReduceMean", reduce, "mean"},
    {"ReduceMax", reduce, "max"},
    {"ReduceMin", reduce, "min"},
    {"ReduceProd", reduce, "prod"},
    {"ReduceL1", reduce, "sum"},
    {"ReduceL2", reduce, "sum"},
    {"ReduceSumSquare", reduce, "sum"},
    {"ReduceLogSum", reduce, "sum"},
    {"ReduceLogSumExp", log_sum_exp, NULL},
    {"ArgMax", arg_best, "false"},
    {"ArgMin", arg_best, "true"},
    {"CumSum", running, "cumsum"},
    {"CumProd", running, "cumprod"},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(reduce) = {ops};
