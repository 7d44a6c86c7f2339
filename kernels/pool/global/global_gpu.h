/* SPDX-License-Identifier: Apache-2.0 */
/* What global_avg_pool2d's GPU rows share: planes of one channel as rows. */
#ifndef OPTUNE_KERNELS_GLOBAL_GPU_H
#define OPTUNE_KERNELS_GLOBAL_GPU_H

#include "kernels/host/staged_rows.h"
#include "kernels/pool/global/global_avg_pool2d.h"

/* Of a call of known shape in NCHW. */
static inline staged_rows global_staged(const optune_task *task)
{
    global_shape s = {0};
    global_shape_of(task->call, &s);
    return (staged_rows){.rows = s.planes,
                         .count = s.pixels,
                         .bytes = pattern_bytes(task->call->input[0].type.dtype),
                         .held = s.f64 ? 8 : 4};
}

#endif
