/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a window that slides over planes, for rows of generic implementations. */
#ifndef OPTUNE_KERNELS_HOST_GENERIC_WINDOW_H
#define OPTUNE_KERNELS_HOST_GENERIC_WINDOW_H

#include "kernels/host/generic.h"
#include "kernels/host/tensor.h"

/* SH SW, PT PL PB PR, DH DW. */
static inline void generic_define_window(optune_plan *plan, int m, const optune_call *call)
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

/* Channels innermost in this layout, 1 for NCHW. */
static inline void generic_define_block(optune_plan *plan, int m, const char *macro,
                                        const char *layout)
{
    const int block = tensor_layout_block(layout);
    optune_plan_define(plan, m, macro, block ? block : 1);
}

#endif
