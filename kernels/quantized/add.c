/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/add.h declares. */
#include "kernels/quantized/add.h"

void qadd_define(optune_plan *plan, int module, const optune_call *call)
{
    static const struct {
        const char *macro, *name;
    } scale[] = {{"A_SCALE", "a_scale"}, {"B_SCALE", "b_scale"}, {"SCALE", "scale"}};
    char text[64];
    for (int i = 0; i < 3; i++) {
        const float value = (float)optune_call_attr(call, scale[i].name)->f;
        snprintf(text, sizeof text, "((float)%.9e)", (double)value);
        optune_plan_define_text(plan, module, scale[i].macro, text);
    }
    optune_plan_define(plan, module, "A_ZERO", optune_call_int(call, "a_zero"));
    optune_plan_define(plan, module, "B_ZERO", optune_call_int(call, "b_zero"));
    quantized_define(plan, module, call, "zero");
}
