/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/dots/dots.h declares. */
#include "kernels/convolution/dots/dots.h"

bool dots_applies(const optune_task *task, conv2d_shape *s, char *why)
{
    const optune_call *call = task->call;
    if (!conv2d_shape_of(call, s) || !optune_dim_known(&call->input[CONV2D_DATA].type.dim[0]))
        return optune_refuse(why, "needs constant shapes");
    if (s->data_block || s->out_block)
        return optune_refuse(why, "needs NCHW, in and out");
    if (!optune_dtype_equal(dots_in(task), call->input[CONV2D_WEIGHT].type.dtype))
        return optune_refuse(why, "needs data and weight of one type");
    return dot_types(dots_in(task), call->output[0].dtype, why);
}

dots_planes dots_planes_of(const conv2d_shape *s, dot_step step, int64_t taps, int64_t unit,
                           int64_t room)
{
    dots_planes p = {.channel_words = taps * dot_row_words(step, s->ci_g)};
    const int64_t columns = s->kw / taps; /* of a kernel, each a step of its own */
    p.phase_h = s->kh == 1 ? 1 : s->sh;
    p.phase_w = columns == 1 ? 1 : s->sw;
    p.rows = host_ceil((s->oh - 1) * s->sh + (s->kh - 1) * s->dh + 1, s->sh);
    p.pitch = host_ceil((s->ow - 1) * s->sw + (columns - 1) * s->dw + 1, s->sw);
    p.pixels = (s->oh - 1) * p.pitch + s->ow;
    /* The odd line keeps planes out of the same cache sets. */
    p.plane = (host_ceil(p.rows * p.pitch + room, 16) | 1) * 16;
    p.bytes = s->n * s->groups * host_ceil(p.channel_words, unit) * unit * p.phase_h *
              p.phase_w * p.plane * dot_row_copies(step) * 4;
    return p;
}

void dots_block_knobs(optune_space *space, int64_t channels, int64_t pixels)
{
    static const int64_t counts[] = {1, 2, 4, 8, 16, 32};
    matmul_up_to(space, "block_co", counts, 6, channels);
    matmul_up_to(space, "block_pixel", counts, 6, pixels);
}

void dots_define(optune_plan *plan, int module, const optune_task *task, const conv2d_shape *s,
                 dot_step step, const dots_planes *p)
{
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"CW", p->channel_words}, {"ROWS", p->rows},       {"PITCH", p->pitch},
        {"PLANE", p->plane},      {"PHASE_H", p->phase_h}, {"PHASE_W", p->phase_w},
    };
    conv2d_define_numbers(plan, module, s);
    dot_define(plan, module, step, dots_in(task), task->call->output[0].dtype, s->ci_g);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, module, number[i].name, number[i].value);
}

void dots_stages(const optune_task *task, optune_plan *plan, int module,
                 const dots_planes *planes, int64_t weight_bytes, const char *function)
{
    const optune_arg weight = optune_scratch_arg(optune_plan_scratch(
        plan, "weights", weight_bytes, task->call->input[CONV2D_WEIGHT].is_const));
    const optune_arg data =
        optune_scratch_arg(optune_plan_scratch(plan, "planes", planes->bytes, false));
    optune_plan_stage(plan, &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                            .module = module,
                                            .function = "pack_weight",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_WEIGHT), weight}});
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "lay_data",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_DATA), data}});
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = function,
                          .n_args = 3,
                          .arg = {data, weight, optune_output_arg(0)}};
    conv2d_fuse(task, plan, &stage);
    optune_plan_in_place(plan);
    optune_plan_stage(plan, &stage);
}
