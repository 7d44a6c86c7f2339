/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/chain/chain.h declares. */
#include "kernels/convolution/chain/chain.h"

#include <math.h>

static const char *const words[] = {"none", "relu", "relu6", "hard_swish", "silu"};

chain_between chain_between_of(const optune_call *call)
{
    const char *word = optune_call_word(call, "between");
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
        if (!strcmp(word, words[i]))
            return (chain_between)i;
    return CHAIN_NONE;
}

double chain_between_value(chain_between kind, double x)
{
    double gate;
    switch (kind) {
    case CHAIN_RELU:
        return x < 0 ? 0 : x;
    case CHAIN_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case CHAIN_HARD_SWISH:
        gate = x / 6 + 0.5;
        return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
    case CHAIN_SILU:
        return x / (1 + exp(-x));
    case CHAIN_NONE:
        break;
    }
    return x;
}

static bool known_image(const optune_tensor *type)
{
    for (int d = 1; d < type->rank; d++)
        if (!optune_dim_known(&type->dim[d]))
            return false;
    return type->rank > 0;
}

bool chain_shape_of(const optune_call *call, conv2d_shape *s)
{
    const optune_tensor *data = &call->input[CHAIN_DATA].type;
    const optune_tensor *weight = &call->input[CHAIN_DEPTHWISE].type;
    const optune_tensor *out = &call->output[0];
    *s = (conv2d_shape){0};
    if (!known_image(data) || !optune_tensor_known(&call->input[CHAIN_POINTWISE].type) ||
        !optune_tensor_known(weight) || !known_image(out))
        return false;
    const int block = tensor_layout_block(optune_call_word(call, "data_layout"));
    conv2d_sizes(call, data, out, 1, 2, weight->dim[2].min, weight->dim[3].min, s);
    s->n = optune_dim_known(&data->dim[0]) ? s->n : 1;
    s->ci *= block ? block : 1;
    s->co = weight->dim[0].min;
    s->data_block = block;
    s->out_block = conv2d_out_block(call);
    s->ci_g = s->ci;
    s->co_g = s->co;
    return true;
}

static bool all_constant(const optune_call *call)
{
    bool constant = true;
    for (int i = CHAIN_POINTWISE; i < call->n_inputs; i++)
        constant = constant && call->input[i].is_const;
    return constant;
}

optune_arg chain_pack(const optune_task *task, optune_plan *plan, int module, int64_t bytes)
{
    const optune_call *call = task->call;
    const bool once = all_constant(call);
    const optune_arg packed =
        optune_scratch_arg(optune_plan_scratch(plan, "weights", bytes, once));
    optune_stage stage = {
        .phase = once ? OPTUNE_PREPACK : OPTUNE_TIMED,
        .module = module,
        .function = "pack_weights",
        .n_args = 3,
        .arg = {optune_input_arg(CHAIN_POINTWISE), optune_input_arg(CHAIN_DEPTHWISE), packed}};
    if (call->n_inputs > CHAIN_BIAS)
        stage.arg[stage.n_args++] = optune_input_arg(CHAIN_BIAS);
    optune_plan_stage(plan, &stage);
    return packed;
}
