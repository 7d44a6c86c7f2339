/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits_loops.generic: any types and dims. */
#include "kernels/host/generic.h"
#include "kernels/nbits/nbits.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    const int64_t bits = optune_call_int(call, "bits");
    const bool is_signed = call->input[NBITS_WEIGHT].type.dtype.code == OPTUNE_DTYPE_INT;
    optune_plan_define(plan, m, "BITS", bits);
    optune_plan_define(plan, m, "GROUP", optune_call_int(call, "group"));
    optune_plan_define(plan, m, "SIGNED", is_signed);
    optune_plan_define(plan, m, "MIDDLE", is_signed ? 0 : bits == 4 ? 8 : 128);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(nbits, loops) = GENERIC_ROW("dense_nbits", "one sum after the other", plan);
