/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/conv.h declares. */
#include "kernels/quantized/conv.h"

bool qconv_shape_of(const optune_call *call, conv2d_shape *s)
{
    const optune_tensor *data = &call->input[QCONV_DATA].type;
    const optune_tensor *weight = &call->input[QCONV_WEIGHT].type;
    const optune_tensor *out = &call->output[0];
    *s = (conv2d_shape){0};
    if (!optune_tensor_known(data) || !optune_tensor_known(weight) || !optune_tensor_known(out))
        return false;
    conv2d_sizes(call, data, out, 3, 1, weight->dim[2].min, weight->dim[3].min, s);
    s->groups = optune_call_int(call, "groups");
    s->ci_g = weight->dim[1].min;
    s->co_g = s->co / s->groups;
    return true;
}

bool qconv_applies(const optune_task *task, conv2d_shape *s, char *why)
{
    if (!qconv_shape_of(task->call, s))
        return optune_refuse(why, "needs constant shapes");
    return task->call->input[QCONV_SCALE].type.dtype.bits == 32 ||
           optune_refuse(why, "needs scales of float32");
}

void qconv_define(optune_plan *plan, int module, const optune_task *task, const conv2d_shape *s)
{
    const bool sign = qconv_signed(task->call);
    conv2d_define_numbers(plan, module, s);
    optune_plan_define(plan, module, "X_SIGNED", sign);
    optune_plan_define(plan, module, "X_ZERO", optune_call_int(task->call, "zero"));
    optune_plan_define_text(plan, module, "X_T", sign ? "signed char" : "unsigned char");
    optune_plan_define_text(plan, module, "W_T",
                            qconv_wide(task->call) ? "short" : "signed char");
    quantized_define(plan, module, task->call, quantized_end_of(task->call, "out_zero"));
}

optune_arg qconv_pack(const optune_task *task, optune_plan *plan, int module,
                      int64_t words_bytes, int64_t channels)
{
    const bool once = qconv_once(task->call);
    const optune_arg packed = optune_scratch_arg(
        optune_plan_scratch(plan, "weights", words_bytes + 8 * channels, once));
    optune_plan_stage(plan, &(optune_stage){.phase = once ? OPTUNE_PREPACK : OPTUNE_TIMED,
                                            .module = module,
                                            .function = "pack",
                                            .n_args = 4,
                                            .arg = {optune_input_arg(QCONV_WEIGHT),
                                                    optune_input_arg(QCONV_BIAS),
                                                    optune_input_arg(QCONV_SCALE), packed}});
    return packed;
}
