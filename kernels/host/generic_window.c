/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/generic_window.h declares. */
#include "kernels/host/generic_window.h"

void generic_define_window(optune_plan *plan, int m, const optune_call *call)
{
    static const char *const pads[] = {"PT", "PL", "PB", "PR"};
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    optune_plan_define(plan, m, "SH", stride[0]);
    optune_plan_define(plan, m, "SW", stride[1]);
    optune_plan_define(plan, m, "DH", dilation[0]);
    optune_plan_define(plan, m, "DW", dilation[1]);
    for (int i = 0; i < 4; i++)
        optune_plan_define(plan, m, pads[i], pad[i]);
}
