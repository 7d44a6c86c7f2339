/* SPDX-License-Identifier: Apache-2.0 */
/* compress's tensors around its axis. */
#ifndef OPTUNE_KERNELS_SHAPED_COMPRESS_H
#define OPTUNE_KERNELS_SHAPED_COMPRESS_H

#include "kernels/shaped/shaped.h"

/* Of known dims; without an axis all elements are along one. */
static inline host_axis compress_around(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    if (optune_call_none(call, "axis"))
        return (host_axis){.outer = 1, .n = optune_tensor_elements(data), .inner = 1};
    return host_around(data, optune_call_int(call, "axis"));
}

/* How many positions the condition decides. */
static inline int64_t compress_taken(const optune_call *call)
{
    return host_min(compress_around(call).n, call->input[1].type.dim[0].min);
}

#endif
