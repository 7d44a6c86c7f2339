/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a window that slides over planes, for rows of generic implementations. */
#ifndef OPTUNE_KERNELS_HOST_GENERIC_WINDOW_H
#define OPTUNE_KERNELS_HOST_GENERIC_WINDOW_H

#include "kernels/host/generic.h"
#include "kernels/host/tensor.h"

/* SH SW, PT PL PB PR, DH DW. */
void generic_define_window(optune_plan *plan, int m, const optune_call *call);

/* Channels innermost in this layout, 1 for NCHW. */
static inline void generic_define_block(optune_plan *plan, int m, const char *macro,
                                        const char *layout)
{
    const int block = tensor_layout_block(layout);
    optune_plan_define(plan, m, macro, block ? block : 1);
}

#endif
