/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_bytes.cpu: 8-bit integers in NCHW<c>c, of one block NHWC. */
#include "kernels/pool/pool.h"

enum { SHORTEST = 16 }; /* bytes of a vector */

static bool applies(const optune_task *task, char *why)
{
    const optune_dtype type = task->call->output[0].dtype;
    pool_shape s;
    if (!pool_forward_shape(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    if (type.bits != 8 || type.lanes != 1 ||
        (type.code != OPTUNE_DTYPE_INT && type.code != OPTUNE_DTYPE_UINT))
        return optune_refuse(why, "needs 8-bit integers");
    return s.block >= SHORTEST ||
           optune_refuse(why, "fewer channels in a block than the shortest vector has lanes");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    pool_shape s;
    pool_forward_shape(task->call, &s);
    const bool sign = task->call->output[0].dtype.code == OPTUNE_DTYPE_INT;
    int64_t bytes = task->device->vector_bytes;
    while (bytes > s.block)
        bytes /= 2;
    bytes = bytes > SHORTEST ? bytes : SHORTEST;
    const int m = pool_module(plan, &s, bytes / pool_elem(&s));
    optune_plan_define_text(plan, m, "BYTE_T", sign ? "signed char" : "unsigned char");
    optune_plan_define(plan, m, "LEAST", sign ? -128 : 0);
    pool_finish(task, plan,
                &(optune_stage){.phase = OPTUNE_TIMED,
                                .module = m,
                                .function = "pool",
                                .n_args = 2,
                                .arg = {optune_input_arg(0), optune_output_arg(0)}});
}

OPTUNE_IMPL(pool, bytes) = {
    .op = "max_pool2d",
    .name = "max_pool2d_bytes.cpu",
    .summary = "8-bit integers, channels innermost, vectors of channels",
    .applies = applies,
    .plan = plan,
};
