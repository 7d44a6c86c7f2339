/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_reduce: data, with updates joined to elements along an axis where the same line of
 * indices says, by a product, the smaller or the larger; sums are scatter_add's. An index may be
 * there several times. NaN stays NaN, products of integers wrap. What an index below 0 or outside
 * means: as take has it.
 */
#include <math.h>

#include "kernels/host/gradient.h"
#include "kernels/host/region_lines.h"
#include "kernels/move/take/along.h"

static const optune_op_input inputs[] = {
    {"data", "tensor [..., N, ...]", "what is joined to", false, false},
    {"indices", "tensor [..., M, ...] of i32 or i64", "where along the axis", false, false},
    {"updates", "tensor [..., M, ...]", "what is joined", false, false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {ALONG_AXIS,
                                       {.name = "mode",
                                        .kind = OPTUNE_ATTR_WORD,
                                        .words = "multiply minimum maximum",
                                        .description = "how two are joined",
                                        .shown = true},
                                       {0}};

static int types(optune_call *call, optune_err *err)
{
    return scatter_types(call, "bool is joined as u8", err);
}

/* All updates of a line may meet in one product. */
static double terms(const optune_call *call)
{
    const bool rounds = optune_call_word(call, "mode")[1] == 'u';
    return rounds ? (double)call->input[2].type.dim[take_axis(call)].min + 1 : 1;
}

/* Two values, or two words of 64 bits. */
typedef union number {
    double real;
    uint64_t word;
} number;

/* What elements are, and how two are joined: by the second letter of `mode`. */
typedef struct joining {
    char mode;
    bool whole, sign;
} joining;

static number read_number(const joining *j, const void *data, optune_dtype dtype, int64_t i)
{
    if (!j->whole)
        return (number){.real = tensor_element(data, dtype, i)};
    if (dtype.bits == 64)
        return (number){.word = ((const uint64_t *)data)[i]};
    return (number){.word = (uint64_t)(int64_t)tensor_element(data, dtype, i)};
}

static number join(const joining *j, number a, number b)
{
    if (j->mode == 'u')
        return j->whole ? (number){.word = a.word * b.word} : (number){.real = a.real * b.real};
    if (!j->whole && (isnan(a.real) || isnan(b.real)))
        return (number){.real = NAN};
    const bool less = !j->whole ? b.real < a.real
                      : j->sign ? (int64_t)b.word < (int64_t)a.word
                                : b.word < a.word;
    return (j->mode == 'i') == less ? b : a;
}

/* The output's elements in the region, in its order. */
static void each_element(const optune_call *call, const void *const *in,
                         const optune_region *region, const joining *j, number *out)
{
    const optune_tensor *data = &call->input[0].type, *updates = &call->input[2].type;
    const int axis = take_axis(call);
    const host_axis to = host_around(data, axis), each = host_around(updates, axis);
    if (optune_tensor_elements(data) == 0)
        return;
    region_lines l = region_lines_of(region, data, axis, 1);
    do {
        const int64_t lo = region->lo[axis], hi = region->hi[axis];
        for (int64_t i = lo; i < hi; i++)
            out[l.to + (i - lo) * l.step] =
                read_number(j, in[0], data->dtype, l.first + i * to.inner);
        const int64_t line =
            l.first / (to.n * to.inner) * each.n * each.inner + l.first % to.inner;
        for (int64_t i = 0; i < each.n; i++) {
            const int64_t at = line + i * each.inner;
            const int64_t row =
                take_slice(tensor_element(in[1], call->input[1].type.dtype, at), to.n);
            if (row < lo || row >= hi)
                continue;
            number *one = &out[l.to + (row - lo) * l.step];
            *one = join(j, *one, read_number(j, in[2], updates->dtype, at));
        }
    } while (region_lines_next(&l));
}

static int64_t elements_of(const optune_region *region)
{
    int64_t n = 1;
    for (int d = 0; d < region->rank; d++)
        n *= region->hi[d] - region->lo[d];
    return n;
}

static joining joining_of(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    return (joining){.mode = optune_call_word(call, "mode")[1],
                     .whole = !tensor_is_real(data),
                     .sign = data->dtype.code == OPTUNE_DTYPE_INT};
}

/* The value that the low bits of a word are. */
static double narrowed(uint64_t word, optune_dtype dtype)
{
    const int spare = 64 - dtype.bits;
    return dtype.code == OPTUNE_DTYPE_INT ? (double)((int64_t)(word << spare) >> spare)
                                          : (double)(word << spare >> spare);
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const joining j = joining_of(call);
    each_element(call, in, region, &j, (number *)out);
    for (int64_t i = 0; i < elements_of(region); i++) {
        if (j.whole)
            out[i] = narrowed(((const number *)out)[i].word, call->output[0].dtype);
        magnitude[i] = fabs(out[i]);
    }
}

static void whole(const optune_call *call, const void *const *in, int out_index,
                  const optune_region *region, uint64_t *out)
{
    (void)out_index;
    const joining j = joining_of(call);
    each_element(call, in, region, &j, (number *)out);
}

/* ---- gradients --------------------------------------------------------------------------- */

static int gathered(optune_grad *grad, int value)
{
    return optune_grad_same(grad, "gather", 2, (const int[]){value, optune_grad_input(grad, 1)},
                            NULL);
}

/* 1 where two values are equal, else 0. */
static int alike(optune_grad *grad, int value, int other)
{
    return host_choose(grad, optune_grad_binary(grad, "equal", value, other),
                       optune_grad_scalar(grad, value, 1), optune_grad_scalar(grad, value, 0));
}

/* What data and updates have in common: sums of one value for each. */
static int counted(optune_grad *grad, int of_data, int of_updates)
{
    return optune_grad_same(grad, "scatter_add", 3,
                            (const int[]){of_data, optune_grad_input(grad, 1), of_updates},
                            NULL);
}

/* dy goes to the values that the result is equal to, in equal parts. */
static void give_to_chosen(optune_grad *grad)
{
    const int y = optune_grad_output(grad, 0);
    const int data = alike(grad, optune_grad_input(grad, 0), y);
    const int updates = alike(grad, optune_grad_input(grad, 2), gathered(grad, y));
    const int share = optune_grad_binary(grad, "divide", optune_grad_adjoint(grad, 0),
                                         counted(grad, data, updates));
    optune_grad_add(grad, 0, optune_grad_binary(grad, "multiply", data, share));
    if (optune_grad_wants(grad, 2))
        optune_grad_add(grad, 2,
                        optune_grad_binary(grad, "multiply", updates, gathered(grad, share)));
}

/* The product of all factors but this one, given the product of those that are not 0 and how many
 * are. */
static int others(optune_grad *grad, int factor, int product, int zeros)
{
    const int zero = optune_grad_scalar(grad, factor, 0),
              one = optune_grad_scalar(grad, factor, 1);
    const int is_zero = optune_grad_binary(grad, "equal", factor, zero);
    const int divisor = host_choose(grad, is_zero, one, factor);
    const int lone =
        host_choose(grad, optune_grad_binary(grad, "equal", zeros, one), product, zero);
    const int rest = host_choose(grad, optune_grad_binary(grad, "equal", zeros, zero),
                                 optune_grad_binary(grad, "divide", product, divisor), zero);
    return host_choose(grad, is_zero, lone, rest);
}

static void give_products(optune_grad *grad)
{
    int factor[3], nonzero[3], zero[3];
    for (int i = 0; i < 3; i += 2) {
        factor[i] = optune_grad_input(grad, i);
        zero[i] = alike(grad, factor[i], optune_grad_scalar(grad, factor[i], 0));
        nonzero[i] =
            host_choose(grad, zero[i], optune_grad_scalar(grad, factor[i], 1), factor[i]);
    }
    const int dy = optune_grad_adjoint(grad, 0);
    const int product = optune_grad_same(
        grad, "scatter_reduce", 3,
        (const int[]){nonzero[0], optune_grad_input(grad, 1), nonzero[2]}, NULL);
    const int zeros = counted(grad, zero[0], zero[2]);
    optune_grad_add(
        grad, 0,
        optune_grad_binary(grad, "multiply", dy, others(grad, factor[0], product, zeros)));
    if (optune_grad_wants(grad, 2))
        optune_grad_add(grad, 2,
                        optune_grad_binary(grad, "multiply", gathered(grad, dy),
                                           others(grad, factor[2], gathered(grad, product),
                                                  gathered(grad, zeros))));
}

static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    if (optune_call_word(call, "mode")[1] == 'u')
        give_products(grad);
    else
        give_to_chosen(grad);
    return OPTUNE_OK;
}

static const char *const samples[] = {
    "scatter_reduce(f32[7], i32[3], f32[3], axis=0, mode=minimum)",
    "scatter_reduce(f32[19,37], i64[50,37], f32[50,37], axis=0, mode=maximum)",
    "scatter_reduce(f32[3,9,5], i32[3,7,5], f32[3,7,5], axis=1, mode=multiply)",
    "scatter_reduce(f64[2,3,33], i64[2,3,20], f64[2,3,20], axis=-1, mode=multiply)",
    "scatter_reduce(i32[1,3], i32[5,3], i32[5,3], axis=0, mode=maximum)",
    "scatter_reduce(u8[6,65], i64[6,7], u8[6,7], axis=1, mode=minimum)",
    "scatter_reduce(i16[4,9], i64[4,20], i16[4,20], axis=1, mode=multiply)",
    "scatter_reduce(u64[4,9], i64[4,20], u64[4,20], axis=1, mode=multiply)",
    "scatter_reduce(i64[9,4], i32[9,2], i64[9,2], axis=-1, mode=minimum)",
    "scatter_reduce(f16[4,30], i32[4,31], f16[4,31], axis=1, mode=maximum)",
    NULL,
};

OPTUNE_OP(scatter_reduce) = {
    .name = "scatter_reduce",
    .summary = "joins updates to elements along an axis at given indices",
    .inputs = inputs,
    .attrs = attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 3,
    .types = types,
    .flops = scatter_flops,
    .terms = terms,
    .reference = reference,
    .whole = whole,
    .samples = samples,
    .range = take_range,
    .gradient = gradient,
};
