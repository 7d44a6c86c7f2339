/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions over axes by one expression. NaN when a value is NaN; integers wrap; of nothing: the
 * identity.
 *
 *   max, min    the largest, the smallest; of nothing minus infinity, infinity, or the extreme of
 *               the dtype
 *   sum, prod   of nothing 0 and 1; bool has no sum
 *   mean        the sum divided by how many values there are, of floating dtypes
 */
#include "kernels/elementwise/unary.h"
#include "kernels/reduce/arguments.h"

OPTUNE_SCALAR(lowest, 0, s_lowest);
OPTUNE_SCALAR(larger, 0, s_max(x0, x1));
OPTUNE_SCALAR(highest, 0, s_highest);
OPTUNE_SCALAR(smaller, 0, s_min(x0, x1));
OPTUNE_SCALAR(one, 0, 1);
OPTUNE_SCALAR(times, 0, x0 *x1);
OPTUNE_SCALAR(quotient, 2, x0 / x1);

/* Where it starts, of each value, of two, of the result; whether that rounds. */
static const optune_reduce of_max = {&lowest, &reduce_value, &larger, &reduce_value, false};
static const optune_reduce of_min = {&highest, &reduce_value, &smaller, &reduce_value, false};
static const optune_reduce of_sum = {&reduce_zero, &reduce_value, &reduce_plus, &reduce_value,
                                     true};
static const optune_reduce of_prod = {&one, &reduce_value, &times, &reduce_value, true};
static const optune_reduce of_mean = {&reduce_zero, &reduce_value, &reduce_plus, &quotient,
                                      true};

/* Of many words half are even, and their product is 0 modulo 2^64: it says nothing. */
static bool prod_range(const optune_call *call, int input, double *low, double *high)
{
    const optune_tensor *type = &call->input[input].type;
    const bool is_signed = type->dtype.code == OPTUNE_DTYPE_INT;
    if ((!is_signed && type->dtype.code != OPTUNE_DTYPE_UINT) || type->dtype.bits < 64)
        return false;
    if (optune_tensor_known(type) && optune_tensor_elements(type) <= 50)
        return false;
    *low = is_signed ? -1 : 1;
    *high = 1;
    return true;
}

static int sum_types(optune_call *call, optune_err *err)
{
    return reduce_roomy(call, optune_reduce_types(call, err), err);
}

static int mean_types(optune_call *call, optune_err *err)
{
    const int status = optune_reduce_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

/* dy goes to the values chosen, in equal parts */
static int chosen_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    reduce_give_to_chosen(grad, call);
    return OPTUNE_OK;
}

/* d data = dy, broadcast over what was summed */
static int sum_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    optune_grad_add(grad, 0, reduce_spread(grad, call, optune_grad_adjoint(grad, 0)));
    return OPTUNE_OK;
}

/* d data = dy / n, broadcast over what was averaged */
static int mean_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    const double n = (double)optune_tensor_elements(&call->input[0].type) /
                     (double)optune_tensor_elements(&call->output[0]);
    const int share = optune_grad_binary(grad, "divide", dy, optune_grad_scalar(grad, dy, n));
    optune_grad_add(grad, 0, reduce_spread(grad, call, share));
    return OPTUNE_OK;
}

/* d data = dy times the product of all others: of those before and of those behind, with no
 * division, so that zeros among them are as good as any */
static int prod_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    const optune_tensor *in = &call->input[0].type;
    if (!optune_tensor_known(in))
        return optune_fail(err, OPTUNE_ETYPE, "this gradient needs constant dims");
    const reduce_turn turn = reduce_turn_of(call);
    const optune_tensor kept = {.rank = 2, .dim = {turn.lines.dim[0], optune_dim_of(1)}};
    const int x = reduce_turned(grad, &turn, optune_grad_input(grad, 0));
    const int dy = optune_grad_reshape(grad, optune_grad_adjoint(grad, 0), &kept);
    const char *const products = "axis=1, exclusive=true";
    const int before = optune_grad_call(grad, "cumprod", 1, &x, "%s", products);
    const int back = optune_grad_call(grad, "reverse", 1, &x, "axis=1");
    const int those = optune_grad_call(grad, "cumprod", 1, &back, "%s", products);
    const int behind = optune_grad_call(grad, "reverse", 1, &those, "axis=1");
    const int others = optune_grad_binary(grad, "multiply", before, behind);
    optune_grad_add(
        grad, 0,
        reduce_turned_back(grad, &turn, optune_grad_binary(grad, "multiply", others, dy)));
    return OPTUNE_OK;
}

/* ---- rows -------------------------------------------------------------------------------- */

#define FLOAT_SAMPLES(op, ...) /* and others */                                                \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7])", op "(f32[33,70], axis=[1])", op "(f32[33,70], axis=[0])",               \
            op "(f32[3,5,17], axis=[0,2], keepdims=true)",                                     \
            op "(f32[3,5,17], axis=[1], exclude=true)", op "(f32[2,3,4,37], axis=[1,3])",      \
            op "(f32[5,6,1,9], axis=[0,2])", op "(f64[2,1001], axis=[-1])",                    \
            op "(f32[3,5,17], axis=[1])", op "(f64[129,5], axis=[0], keepdims=true)",          \
            ##__VA_ARGS__, NULL                                                                \
    }

/* Of ops that integers have, too. */
#define SAMPLES(op)                                                                            \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[7])", op "(f32[33,70], axis=[1])", op "(f32[33,70], axis=[0])",               \
            op "(f32[3,5,17], axis=[0,2], keepdims=true)",                                     \
            op "(f32[3,5,17], axis=[1], exclude=true)", op "(f32[2,3,4,37], axis=[1,3])",      \
            op "(f32[5,6,1,9], axis=[0,2])", op "(f64[2,1001], axis=[-1])",                    \
            op "(f32[3,5,17], axis=[1])", op "(f64[129,5], axis=[0], keepdims=true)",          \
            op "(i32[9,70], axis=[0])", op "(i32[9,70], axis=[1])", NULL                       \
    }

#define RESNET50(op)                                                                           \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[1,2048,7,7], axis=[2,3])", op "(f32[32,2048,7,7], axis=[2,3])",               \
            op "(f32[32,64,56,56], axis=[0,2,3])", NULL                                        \
    }

#define BERT(op)                                                                               \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[128,768], axis=[-1], keepdims=true)",                                         \
            op "(f32[12,128,128], axis=[-1], keepdims=true)", op "(f32[128,3072], axis=[0])",  \
            NULL                                                                               \
    }

#define LARGE(op)                                                                              \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[16384,8192], axis=[1])", op "(f32[16384,8192], axis=[0])", NULL               \
    }

#define PRESETS(op)                                                                            \
    (const optune_preset[])                                                                    \
    {                                                                                          \
        {"resnet50", "global pooling and channel statistics of ResNet-50", RESNET50(op)},      \
            {"bert-base", "rows of a BERT base layer, sequence 128, and a bias gradient",      \
             BERT(op)},                                                                        \
            {"large", "512 MB, over either dim: limited by memory", LARGE(op)},                \
        {                                                                                      \
            .name = NULL                                                                       \
        }                                                                                      \
    }

#define FOLD(op, text)                                                                         \
    .name = #op, .summary = text, .inputs = reduce_inputs, .attrs = reduce_attrs,              \
    .support_level = 4

OPTUNE_OPS(folds) = {
    {FOLD(max, "largest value over axes"), .gradient = chosen_gradient,
     .samples = SAMPLES("max"), .presets = PRESETS("max"), OPTUNE_REDUCTION_OP(of_max)},
    {FOLD(min, "smallest value over axes"), .gradient = chosen_gradient,
     .samples = SAMPLES("min"), OPTUNE_REDUCTION_OP(of_min)},
    {FOLD(sum, "sum over axes"), .gradient = sum_gradient, .samples = SAMPLES("sum"),
     .presets = PRESETS("sum"), .pattern = OPTUNE_REDUCTION, .n_outputs = 1, .reduce = &of_sum,
     .types = sum_types, .flops = optune_pattern_flops, .terms = optune_pattern_terms,
     .reference = optune_pattern_reference},
    {FOLD(prod, "product over axes"), .range = prod_range, .gradient = prod_gradient,
     .samples = FLOAT_SAMPLES("prod", "prod(i64[13,1], axis=[0])"),
     OPTUNE_REDUCTION_OP(of_prod)},
    {FOLD(mean, "mean over axes"), .gradient = mean_gradient, .samples = FLOAT_SAMPLES("mean"),
     .presets = PRESETS("mean"), .pattern = OPTUNE_REDUCTION, .n_outputs = 1,
     .reduce = &of_mean, .types = mean_types, .flops = optune_pattern_flops,
     .terms = optune_pattern_terms, .reference = optune_pattern_reference},
    {0},
};
