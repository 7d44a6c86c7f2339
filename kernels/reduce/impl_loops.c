/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loops.generic: any reduction over any dtype and dims. */
#include "kernels/host/generic.h"

/* The dims of data that are kept, 1 in place of others: by axes, or as another input has them. */
static void define_kept(optune_plan *plan, int m, const optune_call *call)
{
    optune_tensor kept = call->input[0].type;
    const optune_tensor *like = call->n_inputs > 1 ? &call->input[1].type : NULL;
    const uint32_t axes = like ? 0 : optune_reduce_axes(call);
    for (int d = 0; d < kept.rank; d++) {
        const int k = like ? d - (kept.rank - like->rank) : 0;
        if (axes >> d & 1 || k < 0)
            kept.dim[d] = optune_dim_of(1);
        else if (like)
            kept.dim[d] = like->dim[k];
    }
    generic_define_dims(plan, m, call, "KEPT_DIMS", &kept);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_reduce *op = call->op->reduce;
    const int m = generic_module(task, plan, call->output[0].dtype);
    generic_define_scalar(plan, m, call);
    define_kept(plan, m, call);
    optune_plan_define_text(plan, m, "IDENTITY", op->identity->text);
    optune_plan_define_text(plan, m, "MAP", op->map->text);
    optune_plan_define_text(plan, m, "COMBINE", op->combine->text);
    optune_plan_define_text(plan, m, "FINISH", op->finish->text);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(reduce, loops) = {
    .name = "loops.generic",
    .pattern = OPTUNE_REDUCTION,
    .summary = "one result after the other: any dtype, dims known at run time",
    .applies = generic_applies,
    .plan = plan,
    .symbolic = "*",
    .generic = true,
};
