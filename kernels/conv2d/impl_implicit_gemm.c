/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_implicit_gemm.gpu: a product over pixels, channels and taps whose left operand is gathered
 * as it is needed; every stride, dilation, padding and number of groups. Weights are packed by a
 * stage of their own, outside the time where they are constant. Small outputs split the depth, so
 * that the device is filled. Serves CUDA and OpenCL.
 */
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/implicit_rows.h"

static conv2d_shape shape_of(const optune_task *task)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    return s;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    return conv2d_applies(task, &s, why) && implicit_applies(&s, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    implicit_space(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const conv2d_shape s = shape_of(task);
    return implicit_valid(task, &s, config, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const conv2d_shape s = shape_of(task);
    implicit_fallback(task, &s, space, config);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const conv2d_shape s = shape_of(task);
    implicit_plan(task, &s, false, config, plan);
}

OPTUNE_IMPL(conv2d, implicit_gemm) = {
    .op = "conv2d",
    .name = "conv2d_implicit_gemm.gpu",
    .summary = "a product over pixels, patches gathered into shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
