/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/pattern.h declares. */
#include "kernels/host/pattern.h"

static bool pattern_loops_join(const pattern_loops *l, int d)
{
    for (int t = 0; t < l->tensors; t++)
        if (l->stride[t][d] != l->stride[t][d + 1] * l->extent[d + 1])
            return false;
    return true;
}

void pattern_loops_collapse(pattern_loops *l)
{
    int n = 0;
    for (int d = 0; d < l->rank; d++) {
        if (l->extent[d] == 1)
            continue;
        l->extent[n] = l->extent[d];
        for (int t = 0; t < l->tensors; t++)
            l->stride[t][n] = l->stride[t][d];
        n++;
    }
    l->rank = n;
    for (int d = l->rank - 2; d >= 0; d--) {
        if (!pattern_loops_join(l, d))
            continue;
        l->extent[d] *= l->extent[d + 1];
        for (int t = 0; t < l->tensors; t++)
            l->stride[t][d] = l->stride[t][d + 1];
        l->rank--;
        for (int e = d + 1; e < l->rank; e++) {
            l->extent[e] = l->extent[e + 1];
            for (int t = 0; t < l->tensors; t++)
                l->stride[t][e] = l->stride[t][e + 1];
        }
    }
}

const char *pattern_c_type(optune_dtype dtype)
{
    static const char *const whole[2][4] = {
        {"signed char", "short", "__INT32_TYPE__", "__INT64_TYPE__"},
        {"unsigned char", "unsigned short", "__UINT32_TYPE__", "__UINT64_TYPE__"},
    };
    const int size = dtype.bits == 8 ? 0 : dtype.bits == 16 ? 1 : dtype.bits == 32 ? 2 : 3;
    if (dtype.lanes > 1)
        return NULL;
    switch (dtype.code) {
    case OPTUNE_DTYPE_FLOAT:
        return dtype.bits == 32 ? "float" : dtype.bits == 64 ? "double" : NULL;
    case OPTUNE_DTYPE_INT:
    case OPTUNE_DTYPE_UINT:
        if (dtype.bits < 8)
            return NULL;
        return whole[dtype.code == OPTUNE_DTYPE_UINT][size];
    case OPTUNE_DTYPE_BOOL:
        return "unsigned char";
    default:
        return NULL;
    }
}

bool pattern_known(const optune_call *call, char *why)
{
    bool known = optune_tensor_known(&call->output[0]);
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    return known || optune_refuse(why, "needs constant shapes");
}

/* The most there can be. */
static double elements(const optune_tensor *type)
{
    double n = 1;
    for (int d = 0; d < type->rank; d++)
        n *= (double)type->dim[d].max;
    return n;
}

bool pattern_applies(const optune_task *task, char *why)
{
    return pattern_known(task->call, why) && pattern_computes(task, why);
}

bool pattern_computes(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (elements(&call->output[0]) < 1 || elements(&call->input[0].type) < 1)
        return optune_refuse(why, "has no elements to compute");
    bool types = pattern_c_type(call->output[0].dtype) != NULL;
    for (int i = 0; i < call->n_inputs; i++)
        types = types && pattern_c_type(call->input[i].type.dtype) != NULL;
    return types || optune_refuse(why, "has no C type for a dtype of the call");
}

int pattern_offset_term(char *text, size_t size, const char *name, int64_t inside,
                        int64_t extent, int64_t stride)
{
    int at = snprintf(text, size, "%s", name);
    if (inside > 1)
        at += snprintf(text + at, size - (size_t)at, " / %" PRId64, inside);
    if (extent > 0)
        at += snprintf(text + at, size - (size_t)at, " %% %" PRId64, extent);
    return at + snprintf(text + at, size - (size_t)at, " * %" PRId64, stride);
}

void pattern_define_extremes(optune_plan *plan, int m, optune_dtype dtype)
{
    const int bits = dtype.code == OPTUNE_DTYPE_BOOL ? 1 : dtype.bits;
    char text[64];
    if (dtype.code == OPTUNE_DTYPE_INT) {
        snprintf(text, sizeof(text), "(-%" PRIu64 "-1)", ((uint64_t)1 << (bits - 1)) - 1);
        optune_plan_define_text(plan, m, "SCALAR_LOWEST", text);
        snprintf(text, sizeof(text), "%" PRIu64, ((uint64_t)1 << (bits - 1)) - 1);
    } else {
        optune_plan_define(plan, m, "SCALAR_LOWEST", 0);
        snprintf(text, sizeof(text), "%" PRIu64 "u", UINT64_MAX >> (64 - bits));
    }
    optune_plan_define_text(plan, m, "SCALAR_HIGHEST", text);
}

void pattern_define_scalar_as(optune_plan *plan, int m, const optune_call *call,
                              const char *type)
{
    const optune_dtype dtype = call->input[call->n_inputs - 1].type.dtype;
    optune_plan_define_text(plan, m, "SCALAR", type);
    optune_plan_define_text(plan, m, "DTYPE", type);
    optune_plan_define(plan, m, "SCALAR_REAL", pattern_is_real(dtype));
    /* Of the type in which it is computed, which is no float of 16 bits. */
    optune_plan_define(plan, m, "SCALAR_BITS",
                       pattern_is_real(dtype) && dtype.bits < 32 ? 32 : dtype.bits);
    if (!pattern_is_real(dtype))
        pattern_define_extremes(plan, m, dtype);
}

void pattern_define_value(optune_plan *plan, int m, const optune_call *call, int i,
                          const char *own)
{
    const optune_dtype dtype = call->input[i].type.dtype;
    const bool same = dtype.code == OPTUNE_DTYPE_BOOL ||
                      optune_dtype_equal(dtype, call->input[call->n_inputs - 1].type.dtype);
    char name[24];
    snprintf(name, sizeof(name), "X%d_V", i);
    optune_plan_define_text(plan, m, name, same ? "SCALAR" : own);
}

bool pattern_number(const optune_call *call, int i, char text[PATTERN_NUMBER_TEXT])
{
    double number[OPTUNE_MAX_NUMBERS];
    if (i >= call->n_attrs || i >= OPTUNE_MAX_NUMBERS ||
        (call->attr[i].kind != OPTUNE_ATTR_INT && call->attr[i].kind != OPTUNE_ATTR_FLOAT &&
         call->attr[i].kind != OPTUNE_ATTR_BOOL))
        return false;
    optune_call_numbers(call, number);
    snprintf(text, PATTERN_NUMBER_TEXT, "%.17g",
             optune_number_in(call->input[call->n_inputs - 1].type.dtype, number[i]));
    return true;
}

/* ATTRIBUTES: AT(i,v) for each number of the call, of which scalar_cpu.kernel.h makes the
 * variables a0 ...; all of them fit in one macro. */
static void pattern_define_numbers(optune_plan *plan, int m, const optune_call *call)
{
    char number[PATTERN_NUMBER_TEXT], text[OPTUNE_MAX_NUMBERS * (PATTERN_NUMBER_TEXT + 8)];
    int n = 0;
    for (int i = 0; i < call->n_attrs; i++)
        if (pattern_number(call, i, number))
            n += snprintf(text + n, sizeof(text) - (size_t)n, "AT(%d,%s)", i, number);
    if (n)
        optune_plan_define_text(plan, m, "ATTRIBUTES", text);
}

void pattern_define_scalar(optune_plan *plan, int m, const optune_call *call)
{
    const optune_dtype dtype = call->input[call->n_inputs - 1].type.dtype;
    pattern_define_scalar_as(plan, m, call, pattern_c_type(dtype));
    pattern_define_numbers(plan, m, call);
    if (!pattern_is_real(dtype))
        optune_plan_flag(plan, m, "-fwrapv");
}

void pattern_define_output_as(optune_plan *plan, int m, const optune_call *call,
                              const char *type)
{
    const optune_dtype from = call->input[call->n_inputs - 1].type.dtype;
    const optune_dtype to = call->output[0].dtype;
    const bool small = to.bits < 32 || (to.bits == 32 && to.code == OPTUNE_DTYPE_INT);
    optune_plan_define_text(plan, m, "OUT_T", type);
    optune_plan_define_text(plan, m, "RESULT_BY",
                            to.code == OPTUNE_DTYPE_BOOL                    ? "0 !="
                            : !pattern_is_real(from) || pattern_is_real(to) ? "(SCALAR)"
                            : small                                         ? "(i32)"
                                                                            : "(i64)");
}
