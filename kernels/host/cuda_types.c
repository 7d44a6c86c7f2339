/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/cuda_types.h declares. */
#include "kernels/host/cuda_types.h"

static bool cuda_library_known(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    bool known = optune_tensor_known(&call->output[0]);
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    if (!gpu_is_cuda(task, 70, why))
        return false;
    return known || optune_refuse(why, "needs constant shapes");
}

bool cuda_library_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_dtype dtype = call->output[0].dtype;
    if (!cuda_library_known(task, why))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_dtype_equal(dtype, call->input[i].type.dtype))
            return optune_refuse(why, "needs one type throughout");
    if ((dtype.code != OPTUNE_DTYPE_FLOAT && dtype.code != OPTUNE_DTYPE_BFLOAT) ||
        dtype.lanes != 1)
        return optune_refuse(why, "needs a floating type");
    return true;
}

bool cuda_library_product(const optune_task *task, int64_t k, int64_t n, char *why)
{
    const optune_dtype in = task->call->input[0].type.dtype;
    const optune_dtype out = task->call->output[0].dtype;
    const bool half =
        in.bits == 16 && (in.code == OPTUNE_DTYPE_FLOAT || in.code == OPTUNE_DTYPE_BFLOAT);
    const bool wide = out.code == OPTUNE_DTYPE_FLOAT && out.bits == 32;
    const bool whole = in.code == OPTUNE_DTYPE_INT && in.bits == 8 &&
                       out.code == OPTUNE_DTYPE_INT && out.bits == 32;
    if (!cuda_library_known(task, why))
        return false;
    if (whole && in.lanes == 1 && out.lanes == 1)
        return (k % 4 == 0 && n % 4 == 0) ||
               optune_refuse(why, "int8 needs rows of a multiple of 4");
    return (half && wide && in.lanes == 1 && out.lanes == 1) || cuda_library_applies(task, why);
}

static const char *cuda_library_type(optune_dtype dtype)
{
    if (dtype.code == OPTUNE_DTYPE_INT)
        return dtype.bits == 8 ? "CUDA_INT8" : "CUDA_INT32";
    if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        return "CUDA_BFLOAT";
    return dtype.bits == 64 ? "CUDA_DOUBLE" : dtype.bits == 16 ? "CUDA_HALF" : "CUDA_FLOAT";
}

int cuda_library_module(const optune_task *task, optune_plan *plan)
{
    const optune_dtype in = task->call->input[0].type.dtype;
    const optune_dtype out = task->call->output[0].dtype;
    const bool whole = in.code == OPTUNE_DTYPE_INT;
    const int m = optune_plan_module(plan);
    optune_plan_flag(plan, m, "-host");
    optune_plan_define(plan, m, "DOUBLES", out.bits == 64);
    optune_plan_define(plan, m, "INTEGERS", whole);
    optune_plan_define_text(plan, m, "TYPE", cuda_library_type(in));
    optune_plan_define_text(plan, m, "OUT_TYPE", cuda_library_type(out));
    optune_plan_define_text(plan, m, "COMPUTE",
                            whole                                            ? "COMPUTE_INT"
                            : out.bits == 64                                 ? "COMPUTE_DOUBLE"
                            : cuda_library_tf32(task->call) && in.bits == 32 ? "COMPUTE_TF32"
                                                                             : "COMPUTE_FLOAT");
    return m;
}
