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

/* What each integer of a side stands for. */
static void stands_for(const qpair *p, int side, optune_dtype t, float all[256])
{
    const int least = t.code == OPTUNE_DTYPE_INT ? -128 : 0;
    for (int i = 0; i < 256; i++)
        all[i] = (float)(least + i - p->zero[side]) * p->scale[side];
}

/* The nearest whole number in the limits; what is no number is not looked for. */
static float whole(float v, float least, float most)
{
    const float by = 12582912.0f; /* leaves no bits behind the point */
    v = v > least ? v : least;
    v = v < most ? v : most;
    v += by;
    return v - by;
}

float qpair_factor(const optune_call *call)
{
    const qpair p = qpair_of(call);
    const float nearest = 1 / p.scale[2];
    const float some[] = {nearest, nextafterf(nearest, 0), nextafterf(nearest, INFINITY)};
    const float least = (float)(p.end.least - p.end.zero),
                most = (float)(p.end.most - p.end.zero);
    float a[256], b[256];
    stands_for(&p, 0, call->input[0].type.dtype, a);
    stands_for(&p, 1, call->input[1].type.dtype, b);
    for (size_t n = 0; n < sizeof some / sizeof some[0] && !p.merged; n++) {
        int differ = !isnormal(some[n]);
        for (int i = 0; i < 256 && !differ; i++)
            for (int j = 0; j < 256; j++) {
                const float all = p.times ? a[i] * b[j] : a[i] + b[j];
                differ |= !(whole(all / p.scale[2], least, most) ==
                            whole(all * some[n], least, most));
            }
        if (!differ)
            return some[n];
    }
    return 0;
}

void qpair_define_float(optune_plan *plan, int module, const char *macro, float value)
{
    char text[64];
    snprintf(text, sizeof text, "((float)%.9e)", (double)value);
    optune_plan_define_text(plan, module, macro, text);
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
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        qpair_define_float(plan, module, number[i].macro, number[i].value);
    optune_plan_define(plan, module, "IS_PRODUCT", p.times);
    optune_plan_define(plan, module, "MERGED", p.merged);
    optune_plan_define(plan, module, "A_ZERO", p.zero[0]);
    optune_plan_define(plan, module, "B_ZERO", p.zero[1]);
    quantized_define(plan, module, call, p.end);
}
