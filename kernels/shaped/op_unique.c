/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unique: the distinct elements of a row, sorted or in the order in which they come first; where
 * each comes first; for every element of the row which of them it is; and with return_counts how
 * often each is there. Relay pads its outputs and tells the number in another; here that is
 * the shape. Zeros of either sign are one element, so are all NaNs, which come last: as in NumPy.
 */
#include <stdlib.h>

#include "kernels/shaped/shaped.h"

enum { VALUES, FIRSTS, INVERSE, COUNTS };

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [n]", .description = "what is looked through"}, {0}};
static const optune_op_attr attrs[] = {
    {.name = "is_sorted",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "true",
     .description = "smallest first; else in the order of the row"},
    {.name = "return_counts",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "how often each is there, too"},
    {0}};

static int outputs(const optune_call *call)
{
    return optune_call_int(call, "return_counts") ? 4 : 3;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type;
    for (int o = 0; o < call->n_outputs; o++) {
        optune_tensor *out = &call->output[o];
        if (!optune_tensor_set_rank(data, 1) || !optune_tensor_set_rank(out, 1) ||
            !(o == VALUES ? optune_dtype_unify(&data->dtype, &out->dtype)
                          : shaped_output(out, 1, shaped_index)) ||
            !(o == INVERSE ? optune_dim_unify(&data->dim[0], &out->dim[0])
                           : shaped_bound(&out->dim[0], data->dim[0].max)))
            return optune_types_differ(err, "'data' is a row, indices and counts are i64",
                                       "data", data, call->op->output_names[o], out);
    }
    return shaped_known(call);
}

/* ---- the order --------------------------------------------------------------------------- */

typedef struct element {
    const void *data; /* the whole row */
    optune_dtype dtype;
    int64_t index;
} element;

static int compare_values(const element *a, const element *b)
{
    if (a->dtype.bits == 64 && a->dtype.code == OPTUNE_DTYPE_INT) {
        const int64_t *x = a->data;
        return (x[a->index] > x[b->index]) - (x[a->index] < x[b->index]);
    }
    if (a->dtype.bits == 64 && a->dtype.code == OPTUNE_DTYPE_UINT) {
        const uint64_t *x = a->data;
        return (x[a->index] > x[b->index]) - (x[a->index] < x[b->index]);
    }
    const double x = tensor_element(a->data, a->dtype, a->index);
    const double y = tensor_element(b->data, b->dtype, b->index);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare(const void *a, const void *b)
{
    const element *x = a, *y = b;
    const int values = compare_values(x, y);
    return values ? values : (x->index > y->index) - (x->index < y->index);
}

static int compare_indices(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef struct found {
    int64_t n;      /* distinct ones */
    int64_t *first; /* of each, in the order asked for */
    int64_t *which; /* of every element */
    int64_t *count;
} found;

static void release(found *f)
{
    free(f->first);
    free(f->which);
    free(f->count);
}

static found find(const optune_call *call, const void *data)
{
    const optune_tensor *type = &call->input[0].type;
    const int64_t n = type->dim[0].min;
    const size_t room = (size_t)n + 1;
    found f = {0, calloc(room, sizeof *f.first), calloc(room, sizeof *f.which),
               calloc(room, sizeof *f.count)};
    element *order = calloc(room, sizeof *order);
    int64_t *leader = calloc(room, sizeof *leader), *name = calloc(room, sizeof *name);
    for (int64_t i = 0; i < n; i++)
        order[i] = (element){data, type->dtype, i};
    qsort(order, (size_t)n, sizeof *order, compare);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || compare_values(&order[i - 1], &order[i]) != 0)
            f.first[f.n++] = order[i].index;
        leader[order[i].index] = f.first[f.n - 1];
    }
    if (!optune_call_int(call, "is_sorted"))
        qsort(f.first, (size_t)f.n, sizeof *f.first, compare_indices);
    for (int64_t k = 0; k < f.n; k++)
        name[f.first[k]] = k;
    for (int64_t i = 0; i < n; i++) {
        f.which[i] = name[leader[i]];
        f.count[f.which[i]]++;
    }
    free(order);
    free(leader);
    free(name);
    return f;
}

static int shape(optune_call *call, const void *const *in, optune_err *err)
{
    (void)err;
    found f = find(call, in[0]);
    for (int o = 0; o < call->n_outputs; o++)
        if (o != INVERSE)
            call->output[o].dim[0] = optune_dim_of(f.n);
    release(&f);
    return OPTUNE_OK;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    const optune_tensor *data = &call->input[0].type;
    const int64_t n = data->dim[0].min;
    found f = find(call, in[0]);
    double *value = calloc((size_t)n + 1, sizeof *value);
    const int64_t rows = out_index == INVERSE ? n : f.n;
    for (int64_t i = 0; i < rows; i++)
        value[i] = out_index == VALUES    ? tensor_element(in[0], data->dtype, f.first[i])
                   : out_index == FIRSTS  ? (double)f.first[i]
                   : out_index == INVERSE ? (double)f.which[i]
                                          : (double)f.count[i];
    shaped_region(&call->output[out_index], region, value, rows, out, magnitude);
    free(value);
    release(&f);
}

static double flops(const optune_call *call)
{
    const double n = (double)optune_tensor_elements(&call->input[0].type);
    return n * log2(n + 2);
}

/* Most elements are there more than once. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    (void)input;
    const double n = (double)optune_tensor_elements(&call->input[0].type);
    *low = 0;
    *high = call->input[0].type.dtype.code == OPTUNE_DTYPE_BOOL ? 1 : fmin(floor(n / 3), 100);
    return true;
}

OPTUNE_OP(unique) = {
    .name = "unique",
    .summary = "distinct elements of a row, and which of them each is",
    .attrs = attrs,
    .n_outputs = 4,
    .output_names = (const char *const[]){"unique", "indices", "inverse_indices", "counts",
                                          NULL},
    .outputs = outputs,
    .support_level = 10,
    .flops = flops,
    .range = range,
    .samples = (const char *const[]){"unique(f32[67])", "unique(i32[200], return_counts=true)",
                                     "unique(f16[31], is_sorted=false)",
                                     "unique(i64[13], is_sorted=false, return_counts=true)",
                                     "unique(bool[9])", NULL},
    SHAPED_OP,
};
