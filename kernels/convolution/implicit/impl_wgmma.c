/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_wgmma.cuda: the implicit product by warpgroups, pixels brought by the copy engine, on
 * devices of compute capability 9.0; types, knobs and limits are those of dense's template
 * `wgmma`. Data with all channels innermost (NCHW<c>c of c channels) is read where it lies, and
 * so is such an output written; the stage that turns NCHW over is inside the time. Packing of
 * weights is not where they are constant, and those of 1x1 need none.
 */
#include "kernels/convolution/implicit/implicit_mma_rows.h"
#include "kernels/convolution/implicit/implicit_wgmma.h"

enum { FLAT = 256 };

static conv2d_shape shape_of(const optune_call *call)
{
    conv2d_shape s;
    conv2d_shape_of(call, &s);
    return s;
}

static int64_t panels_of(const optune_call *call, const conv2d_shape *s)
{
    return implicit_wgmma_panels(s->kh * s->kw, s->ci, implicit_mma_size(call));
}

/* Columns are pixels where planes are lines of the output. */
static matmul_gpu product_of(const optune_call *call)
{
    const conv2d_shape s = shape_of(call);
    const int64_t pixels = s.n * s.oh * s.ow;
    return (matmul_gpu){
        .b = 1,
        .m = s.out_block ? pixels : s.co,
        .n = s.out_block ? s.co : pixels,
        .k = panels_of(call, &s) * MATMUL_GPU_WGMMA_ROW / implicit_mma_size(call),
        .line = s.out_block ? s.co : s.oh * s.ow,
    };
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!gpu_has_warpgroups(task, why))
        return false;
    if (!conv2d_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    if (!matmul_gpu_mma_takes(task->call, why))
        return false;
    if (s.groups != 1)
        return optune_refuse(why, "needs one group");
    if ((s.data_block && s.data_block != s.ci) || (s.out_block && s.out_block != s.co))
        return optune_refuse(why, "needs NCHW, or all channels innermost");
    const int64_t size = implicit_mma_size(task->call);
    if (s.data_block && s.ci * size % 16)
        return optune_refuse(why, "needs pixels of a multiple of 16 bytes");
    if (!s.data_block && (s.n > 65535 || s.ci > 32 * 65535 || s.h * s.w > INT32_MAX / 2))
        return optune_refuse(why, "more planes than a grid's depth, or one is too large");
    const matmul_gpu p = product_of(task->call);
    return implicit_wgmma_reaches(&s, why) && matmul_gpu_applies(&p, why) &&
           matmul_gpu_wgmma_applies(task, &p, why);
}

MATMUL_GPU_ASK(product, matmul_gpu_wgmma_space, matmul_gpu_wgmma_best,
               matmul_gpu_wgmma_estimate, product_of)

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const conv2d_shape s = shape_of(task->call);
    const matmul_gpu p = product_of(task->call);
    return implicit_wgmma_steps_fit(panels_of(task->call, &s), config, why) &&
           matmul_gpu_wgmma_valid(task, &p, config, why);
}

/* ---- the plan ---------------------------------------------------------------------------- */

typedef struct operands {
    optune_arg pixels, weights;
    int64_t channels; /* of both, padding included */
} operands;

static void define_layouts(optune_plan *plan, int m, const optune_call *call,
                           const conv2d_shape *s)
{
    const int64_t size = implicit_mma_size(call), channels = implicit_mma_channels(call, s);
    const int64_t elements = s->n * s->h * s->w * channels;
    conv2d_define(plan, m, s);
    optune_plan_define(plan, m, "LAYOUTS", 1);
    optune_plan_define(plan, m, "TURN", !s->data_block);
    optune_plan_define(plan, m, "FLAT", FLAT);
    optune_plan_define(plan, m, "CI_PAD", channels);
    optune_plan_define(plan, m, "SIZE", size);
    optune_plan_define_text(plan, m, "ELEM",
                            size == 1   ? "unsigned char"
                            : size == 2 ? "u16"
                                        : "u32");
    optune_plan_define_text(plan, m, "INDEX", elements > INT32_MAX / 2 ? "i64" : "int");
}

/* What does not lie right is laid out, in a module that all configs share. */
static operands lay_out(const optune_task *task, optune_plan *plan, const conv2d_shape *s)
{
    const optune_call *call = task->call;
    const int64_t size = implicit_mma_size(call), channels = implicit_mma_channels(call, s);
    operands o = {optune_input_arg(CONV2D_DATA), optune_input_arg(CONV2D_WEIGHT), channels};
    const bool packs = s->kh * s->kw > 1 || channels != s->ci;
    if (s->data_block && !packs)
        return o;
    const int m = optune_plan_module(plan);
    define_layouts(plan, m, call, s);
    if (packs) {
        const int64_t packed = s->co * s->kh * s->kw * channels;
        o.weights = optune_scratch_arg(optune_plan_scratch(
            plan, "weights", packed * size, call->input[CONV2D_WEIGHT].is_const));
        optune_plan_stage(plan,
                          &(optune_stage){.phase = conv2d_weight_phase(call),
                                          .module = m,
                                          .function = "pack",
                                          .n_args = 2,
                                          .arg = {optune_input_arg(CONV2D_WEIGHT), o.weights},
                                          .grid = {host_ceil(packed, FLAT)},
                                          .block = {FLAT}});
    }
    if (!s->data_block)
        o.pixels = implicit_mma_turn(call, plan, m, s);
    return o;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const conv2d_shape s = shape_of(task->call);
    const matmul_gpu p = product_of(task->call);
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const optune_dtype in = task->call->input[CONV2D_DATA].type.dtype;
    const optune_dtype to = task->call->output[0].dtype;
    const operands o = lay_out(task, plan, &s);
    const int64_t slice = w.bn / w.cluster; /* of y, for all blocks of the cluster */
    const optune_arg pixels =
        implicit_wgmma_pixels(plan, o.pixels, in, &s, o.channels, s.out_block ? w.bm : slice);
    const optune_arg weights = matmul_gpu_wgmma_panels(
        plan, o.weights, in, o.channels, s.kh * s.kw, s.co, s.out_block ? slice : w.bm);
    const int m = optune_plan_module(plan);
    optune_stage stage = matmul_gpu_wgmma_stage(task, plan, m, &p, config);
    implicit_wgmma_define(plan, m, &s, 1);
    optune_plan_define(plan, m, "LAYOUTS", 0);
    optune_plan_define(plan, m, "PIXELS_M", s.out_block > 0);
    stage.n_args = 3;
    stage.arg[0] = s.out_block ? pixels : weights;
    stage.arg[1] = s.out_block ? weights : pixels;
    stage.arg[2] = optune_output_arg(0);
    if (w.boxes && s.out_block)
        stage.arg[2] = matmul_gpu_wgmma_map(plan, stage.arg[2], to, 1, p.m, p.n, 16);
    else if (w.boxes)
        stage.arg[2] = matmul_gpu_wgmma_map(plan, stage.arg[2], to, s.n, p.m, p.line, 16);
    optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(convolution_implicit, wgmma) = {
    .op = "conv2d",
    .name = "conv2d_wgmma.cuda",
    .summary = "the product over pixels by warpgroups fed by the copy engine, for compute "
               "capability 9.0",
    .math = "ieee tf32",
    .applies = applies,
    .space = product_space,
    .fallback = product_fallback,
    .valid = valid,
    .plan = plan,
    .estimate = product_estimate,
};
