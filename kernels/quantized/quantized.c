/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/quantized.h declares. */
#include "kernels/quantized/quantized.h"

const char *quantized_c_type(optune_dtype t)
{
    return t.code == OPTUNE_DTYPE_INT ? "signed char" : "unsigned char";
}

void quantized_define(optune_plan *plan, int module, const optune_call *call, quantized_end end)
{
    optune_plan_define_text(plan, module, "BYTE_T", quantized_c_type(call->output[0].dtype));
    optune_plan_define(plan, module, "OUT_ZERO", end.zero);
    optune_plan_define(plan, module, "OUT_LEAST", end.least);
    optune_plan_define(plan, module, "OUT_MOST", end.most);
}

int64_t quantized_share(const optune_task *task, int64_t n)
{
    enum { LINE = 64 };
    return host_max(host_ceil(host_ceil(n, host_tasks(task)), LINE), 1) * LINE;
}
