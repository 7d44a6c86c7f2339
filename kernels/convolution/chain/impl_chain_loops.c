/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_depthwise_conv2d_loops.generic: any floating dtype, layout and dims. The value in
 * between is computed once, by a stage in front; where a range of dims may make it too large to
 * keep, each of its elements is computed again for each that needs it.
 */
#include "kernels/convolution/chain/chain.h"
#include "kernels/host/generic_window.h"

/* Of the value in between, which is kept. */
static const double MOST_BYTES = (double)(INT64_C(1) << 30);

enum { AGAIN, WRITES, READS };

static int module_of(const optune_task *task, optune_plan *plan, const optune_call *whole,
                     int part)
{
    const optune_dtype dtype = whole->input[CHAIN_DATA].type.dtype;
    const int m = generic_module(task, plan, dtype), block = conv2d_out_block(whole);
    pattern_define_scalar_as(plan, m, whole, gpu_scalar_type(dtype));
    generic_define_window(plan, m, whole);
    generic_define_block(plan, m, "IN_BLOCK", optune_call_word(whole, "data_layout"));
    optune_plan_define(plan, m, "OUT_BLOCK", block ? block : 1);
    optune_plan_define(plan, m, "BETWEEN", chain_between_of(whole));
    optune_plan_define(plan, m, "BIASED", whole->n_inputs > CHAIN_BIAS);
    optune_plan_define(plan, m, "PART", part);
    return m;
}

/* Row-major, in what sums are made in; false: it may be too large. */
static bool between_of(const optune_call *call, optune_tensor *type, int64_t *bytes)
{
    const optune_tensor *data = &call->input[CHAIN_DATA].type;
    const optune_dim *const dim[] = {&data->dim[0], &call->input[CHAIN_POINTWISE].type.dim[0],
                                     &data->dim[2], &data->dim[3]};
    double most = data->dtype.bits == 64 ? 8 : 4;
    *type = (optune_tensor){.dtype = {OPTUNE_DTYPE_FLOAT, data->dtype.bits == 64 ? 64 : 32, 1},
                            .rank = 4};
    for (int d = 0; d < 4; d++) {
        type->dim[d] = *dim[d];
        most *= (double)dim[d]->max;
    }
    *bytes = most <= MOST_BYTES ? (int64_t)most : 0;
    return most <= MOST_BYTES;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    optune_tensor between;
    int64_t bytes;
    if (!between_of(call, &between, &bytes)) {
        generic_stage(task, plan, module_of(task, plan, call, AGAIN));
        return;
    }
    const optune_arg kept =
        optune_scratch_arg(optune_plan_scratch(plan, "between", bytes, false));
    optune_arg tensor[CHAIN_BIAS + 3];
    const int n = call->n_inputs;
    for (int i = 0; i < n; i++)
        tensor[i] = optune_input_arg(i);
    optune_call part = *call;
    const optune_task own = {&part, task->target, task->device};
    part.output[0] = between;
    tensor[n] = kept;
    generic_stage_over(&own, plan, module_of(&own, plan, call, WRITES), tensor);
    part.output[0] = call->output[0];
    part.input[part.n_inputs++] = (optune_input){.type = between};
    tensor[n + 1] = optune_output_arg(0);
    generic_stage_over(&own, plan, module_of(&own, plan, call, READS), tensor);
}

OPTUNE_IMPL(convolution_chain, chain_loops) =
    GENERIC_ROW("pointwise_depthwise_conv2d",
                "one convolution behind the other, the value between kept where it fits", plan);
