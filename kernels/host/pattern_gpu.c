/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/pattern_gpu.h declares. */
#include "kernels/host/pattern_gpu.h"

const char *gpu_c_type(optune_dtype dtype)
{
    if (pattern_c_type(dtype) == NULL)
        return NULL;
    if (dtype.code == OPTUNE_DTYPE_INT && dtype.bits >= 32)
        return dtype.bits == 32 ? "i32" : "i64";
    if (dtype.code == OPTUNE_DTYPE_UINT && dtype.bits >= 32)
        return dtype.bits == 32 ? "u32" : "u64";
    return pattern_c_type(dtype);
}

const char *gpu_scalar_of(optune_dtype dtype)
{
    return !gpu_is_half(dtype)                 ? ""
           : dtype.code == OPTUNE_DTYPE_BFLOAT ? "float_of_bfloat"
                                               : "float_of_half";
}

bool gpu_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (!pattern_known(call, why))
        return false;
    if (optune_tensor_elements(&call->output[0]) < 1 ||
        optune_tensor_elements(&call->input[0].type) < 1)
        return optune_refuse(why, "has no elements to compute");
    bool types = gpu_stored_type(call->output[0].dtype) != NULL;
    for (int i = 0; i < call->n_inputs; i++)
        types = types && gpu_stored_type(call->input[i].type.dtype) != NULL;
    return types || optune_refuse(why, "has no C type for a dtype of the call");
}

/* RESULT_BY of a 16-bit float rounds once. */
static void gpu_define_output(optune_plan *plan, int m, const optune_call *call)
{
    const optune_dtype to = call->output[0].dtype;
    if (!gpu_is_half(to)) {
        pattern_define_output_as(plan, m, call, gpu_c_type(to));
        return;
    }
    optune_plan_define_text(plan, m, "OUT_T", "u16");
    optune_plan_define_text(plan, m, "RESULT_BY",
                            to.code == OPTUNE_DTYPE_BFLOAT ? "bfloat_of_float"
                                                           : "half_of_float");
}

void gpu_define_scalar(optune_plan *plan, int m, const optune_call *call)
{
    const optune_dtype dtype = call->input[call->n_inputs - 1].type.dtype;
    pattern_define_scalar_as(plan, m, call, gpu_scalar_type(dtype));
    for (int i = 0; i < call->n_attrs; i++) {
        char name[24], number[PATTERN_NUMBER_TEXT], text[PATTERN_NUMBER_TEXT + 16];
        if (!pattern_number(call, i, number))
            continue;
        snprintf(name, sizeof(name), "a%d", i);
        snprintf(text, sizeof(text), "((SCALAR)%s)", number);
        optune_plan_define_text(plan, m, name, text);
    }
    optune_plan_define_text(plan, m, "IN_OF", gpu_scalar_of(call->input[0].type.dtype));
    gpu_define_output(plan, m, call);
}

void gpu_define_offset(optune_plan *plan, int m, const char *macro, const char *name, int n,
                       const int64_t *extent, const int64_t *stride, int64_t start)
{
    char text[640];
    int at = snprintf(text, sizeof(text), "(%" PRId64, start);
    int64_t inside = 1;
    for (int d = n - 1; d >= 0; d--) {
        if (stride[d] != 0) {
            at += snprintf(text + at, sizeof(text) - (size_t)at, " + ");
            at += pattern_offset_term(text + at, sizeof(text) - (size_t)at, name, inside,
                                      d > 0 ? extent[d] : 0, stride[d]);
        }
        inside *= extent[d];
    }
    snprintf(text + at, sizeof(text) - (size_t)at, ")");
    optune_plan_define_text(plan, m, macro, text);
}

void gpu_define_index(optune_plan *plan, int m, const optune_call *call)
{
    bool wide = optune_tensor_elements(&call->output[0]) > INT32_MAX / 2;
    for (int i = 0; i < call->n_inputs; i++)
        wide = wide || optune_tensor_elements(&call->input[i].type) > INT32_MAX / 2;
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "u32");
}

int64_t gpu_power2(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

int64_t gpu_threads(const optune_task *task, int64_t want)
{
    const int64_t most = gpu_max_threads(task);
    while (want > most && want > 64)
        want /= 2;
    return want;
}
