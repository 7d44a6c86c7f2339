/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small operator, `fake_mm`, with every kind of attribute, and what a task needs around a
 * call. Rows are static, so every test program has its own and adds those it wants.
 */
#ifndef OPTUNE_TESTS_FAKE_H
#define OPTUNE_TESTS_FAKE_H

#include "strategy/strategy.h"
#include "support/check.h"

static const optune_op_input fake_inputs[] = {
    {.name = "data", .type = "tensor [M,K]"},
    {.name = "weight", .type = "tensor [N,K]", .is_const = true},
    {.name = "bias", .type = "tensor [N]", .optional = true},
    {0},
};

static const optune_op_attr fake_attrs[] = {
    {.name = "padding",
     .kind = OPTUNE_ATTR_INTS,
     .value = "[0,0,0,0]",
     .length = 4,
     .max = 100,
     .shown = true},
    {.name = "axes", .kind = OPTUNE_ATTR_INTS, .value = "[]"},
    {.name = "alpha", .kind = OPTUNE_ATTR_FLOAT, .value = "1"},
    {.name = "flip", .kind = OPTUNE_ATTR_BOOL, .value = "false"},
    {.name = "mode",
     .kind = OPTUNE_ATTR_WORD,
     .value = "nearest",
     .words = "nearest linear cubic"},
    {.name = "data_layout", .kind = OPTUNE_ATTR_WORD, .value = "MK"},
    {.name = "out_layout", .kind = OPTUNE_ATTR_WORD, .value = ""},
    {.name = "out_dtype", .kind = OPTUNE_ATTR_DTYPE, .value = ""},
    {.name = "groups", .kind = OPTUNE_ATTR_INT, .value = "1", .min = 1, .max = 64},
    {0},
};

static int fake_types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *weight = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    if (!optune_tensor_set_rank(data, 2) || !optune_tensor_set_rank(weight, 2) ||
        !optune_tensor_set_rank(out, 2))
        return optune_fail(err, OPTUNE_ETYPE, "argument 1 (data) must have rank 2");
    if (!optune_dtype_unify(&data->dtype, &weight->dtype))
        return optune_fail(err, OPTUNE_ETYPE, "argument 2 (weight) has another dtype");
    optune_dtype want = optune_call_attr(call, "out_dtype")->dtype;
    if (!optune_dtype_unify(&out->dtype,
                            want.code == OPTUNE_DTYPE_UNKNOWN ? &data->dtype : &want))
        return optune_fail(err, OPTUNE_ETYPE, "the output has another dtype");
    if (!optune_dim_unify(&data->dim[1], &weight->dim[1]))
        return optune_fail(err, OPTUNE_ETYPE, "argument 2 (weight) does not fit data in k");
    if (!optune_dim_unify(&out->dim[0], &data->dim[0]) ||
        !optune_dim_unify(&out->dim[1], &weight->dim[0]))
        return optune_fail(err, OPTUNE_ETYPE, "the output has another shape");
    return optune_tensor_known(data) && optune_tensor_known(weight) && optune_tensor_known(out)
               ? OPTUNE_OK
               : 1;
}

static double fake_flops(const optune_call *call)
{
    return 2.0 * (double)optune_tensor_elements(&call->output[0]) *
           (double)call->input[0].type.dim[1].min;
}

static const optune_op fake_op = {
    .name = "fake_mm",
    .summary = "a product",
    .inputs = fake_inputs,
    .attrs = fake_attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OUT_FUSABLE,
    .types = fake_types,
    .flops = fake_flops,
};

/* What can be fused behind it: `fake_relu`, and `fake_add` with NumPy's broadcasting. */
static int fake_relu_types(optune_call *call, optune_err *err)
{
    optune_tensor *x = &call->input[0].type, *out = &call->output[0];
    bool same = optune_dtype_unify(&x->dtype, &out->dtype);
    if (x->rank < 0 && out->rank < 0)
        return 1;
    const int rank = x->rank < 0 ? out->rank : x->rank;
    same = same && optune_tensor_set_rank(x, rank) && optune_tensor_set_rank(out, rank);
    for (int d = 0; d < rank && same; d++)
        same = optune_dim_unify(&x->dim[d], &out->dim[d]);
    if (!same)
        return optune_fail(err, OPTUNE_ETYPE, "types differ");
    return optune_tensor_known(out) ? OPTUNE_OK : 1;
}

static int fake_add_types(optune_call *call, optune_err *err)
{
    optune_tensor *out = &call->output[0];
    bool known = true;
    for (int i = 0; i < call->n_inputs; i++) {
        optune_tensor *in = &call->input[i].type;
        if (!optune_dtype_unify(&in->dtype, &out->dtype))
            return optune_fail(err, OPTUNE_ETYPE, "dtypes differ");
        if (in->rank > out->rank)
            return optune_fail(err, OPTUNE_ETYPE, "an operand has more dims than the output");
        for (int d = 1; d <= in->rank; d++) {
            optune_dim *a = &in->dim[in->rank - d], *b = &out->dim[out->rank - d];
            if (!(optune_dim_known(a) && a->min == 1) && !optune_dim_unify(a, b))
                return optune_fail(err, OPTUNE_ETYPE, "an operand does not fit the output");
        }
        known = known && optune_tensor_known(in);
    }
    return known && optune_tensor_known(out) ? OPTUNE_OK : 1;
}

OPTUNE_SCALAR(fake_positive, 0, x0 > 0 ? x0 : a0 * x0);
OPTUNE_SCALAR(fake_sum, 0, x0 + x1);

static const optune_op fake_relu = {
    .name = "fake_relu",
    .summary = "the positive part",
    .inputs = (const optune_op_input[]){{.name = "data"}, {0}},
    .attrs =
        (const optune_op_attr[]){{.name = "slope", .kind = OPTUNE_ATTR_FLOAT, .value = "0"},
                                 {0}},
    .n_outputs = 1,
    .pattern = OPTUNE_ELEMWISE,
    .types = fake_relu_types,
    .scalar = &fake_positive,
};

static const optune_op fake_add = {
    .name = "fake_add",
    .summary = "a sum",
    .inputs = (const optune_op_input[]){{.name = "lhs"}, {.name = "rhs"}, {0}},
    .n_outputs = 1,
    .pattern = OPTUNE_BROADCAST,
    .types = fake_add_types,
    .scalar = &fake_sum,
};

typedef struct fake_task {
    optune_call call;
    optune_target target;
    optune_device device;
    optune_task task;
} fake_task;

static inline void fake_task_set(fake_task *f, const char *call)
{
    optune_err err = {0};
    *f = (fake_task){.target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}},
                     .device = {.key = "cpu-fake", .threads = 2, .vector_bytes = 32}};
    check_ok(ot_call_parse(call, &f->call, &err));
    f->task = (optune_task){.call = &f->call, .target = &f->target, .device = &f->device};
}

/* Where the shared data lies, or false. */
static inline bool fake_shared(const char *name, char *path, size_t size)
{
    const char *shared = getenv("OPTUNE_SHARED");
    if (shared)
        snprintf(path, size, "%s/data/%s", shared, name);
    else
        snprintf(path, size, "%s/../shared/data/%s", OT_SOURCE_DIR, name);
    return ot_exists(path);
}

#endif
