/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/pair.h declares. */
#include "kernels/quantized/pair.h"

qpair qpair_of(const optune_call *call)
{
    static const char *const scale[] = {"a_scale", "b_scale", "scale"};
    qpair p = {
        .times = strcmp(call->op->name, "quantized_multiply") == 0,
        .merged = optune_call_int(call, "merged") != 0,
        .zero = {(int)optune_call_int(call, "a_zero"), (int)optune_call_int(call, "b_zero")},
        .end = quantized_end_of(call, "zero")};
    for (int i = 0; i < 3; i++)
        p.scale[i] = (float)optune_call_attr(call, scale[i])->f;
    if (!p.merged)
        return p;
    const float zero = (float)p.end.zero;
    p.end.zero = 0;
    if (p.times) {
        const float product = p.scale[0] * p.scale[1];
        p.scale[0] = product / p.scale[2];
        p.shift = zero;
        return p;
    }
    p.scale[0] /= p.scale[2];
    p.scale[1] /= p.scale[2];
    const float of_b = p.scale[1] * (float)p.zero[1];
    p.shift = zero - fmaf(p.scale[0], (float)p.zero[0], of_b);
    return p;
}

void qpair_define(optune_plan *plan, int module, const optune_call *call)
{
    const qpair p = qpair_of(call);
    const struct {
        const char *macro;
        float value;
    } number[] = {{"A_SCALE", p.scale[0]},
                  {"B_SCALE", p.scale[1]},
                  {"SCALE", p.scale[2]},
                  {"INVERSE", 1 / p.scale[2]},
                  {"SHIFT", p.shift}};
    char text[64];
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        snprintf(text, sizeof text, "((float)%.9e)", (double)number[i].value);
        optune_plan_define_text(plan, module, number[i].macro, text);
    }
    optune_plan_define(plan, module, "IS_PRODUCT", p.times);
    optune_plan_define(plan, module, "MERGED", p.merged);
    optune_plan_define(plan, module, "A_ZERO", p.zero[0]);
    optune_plan_define(plan, module, "B_ZERO", p.zero[1]);
    quantized_define(plan, module, call, p.end);
}
