/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/quantized/gpu/conv_gpu.h declares. */
#include "kernels/quantized/gpu/conv_gpu.h"

enum { FLAT = QCONV_GPU_FLAT, CHUNK = 16, MOST_BYTES = 1 << 30, MOST_STARTS = 1 << 24 };

bool qconv_gpu_of(const optune_call *call, qconv_gpu *q)
{
    *q = (qconv_gpu){0};
    if (!qconv_shape_of(call, &q->call))
        return false;
    q->s = q->call;
    q->laid = q->call.ci_g % CHUNK != 0;
    q->passes = qconv_wide(call) ? 2 : 1;
    q->pixels = q->call.n * q->call.oh * q->call.ow;
    if (q->laid) {
        conv2d_shape *s = &q->s;
        s->h = s->oh;
        s->w = s->ow;
        s->kh = s->kw = s->sh = s->sw = s->dh = s->dw = 1;
        s->pt = s->pl = s->pb = s->pr = 0;
        s->ci_g = host_ceil(qconv_terms(&q->call), CHUNK) * CHUNK;
        s->ci = s->ci_g * s->groups;
    }
    q->depth = q->passes * q->s.kh * q->s.kw * q->s.ci_g;
    return true;
}

bool qconv_gpu_applies(const optune_task *task, qconv_gpu *q, char *why)
{
    conv2d_shape s;
    if (!qconv_applies(task, &s, why) || !qconv_gpu_of(task->call, q))
        return false;
    const int64_t most = INT32_MAX / 2;
    if (s.groups > 65535 || host_ceil(s.co_g, 16) > 65535)
        return optune_refuse(why, "more channels or groups than a grid is deep");
    if (s.h * s.w > most || q->pixels > most || q->depth > most)
        return optune_refuse(why, "too large for 32-bit offsets");
    if (conv2d_taps_apart(&q->s) > most / q->s.ci)
        return optune_refuse(why, "taps too far apart for 32-bit offsets");
    return (!q->laid || q->pixels * q->s.ci <= MOST_BYTES) ||
           optune_refuse(why, "more than 1 GiB of windows laid side by side");
}

static int64_t words_bytes(const qconv_gpu *q, const qconv_gpu_parts *parts)
{
    return q->s.groups * parts->co_pad * parts->line;
}

static int64_t part_sums(const qconv_gpu *q, const qconv_gpu_parts *parts)
{
    return q->pixels * q->s.groups * parts->co_pad;
}

/* What the last window has behind the end, in steps of `dilation`. */
static int64_t cut(int64_t beyond, int64_t dilation, int64_t taps)
{
    return beyond > 0 ? host_min(host_ceil(beyond, dilation), taps) : 0;
}

qconv_gpu_cuts qconv_gpu_cuts_of(const optune_call *call, const qconv_gpu *q)
{
    const conv2d_shape *s = &q->s;
    const int64_t last_y = (s->oh - 1) * s->sh - s->pt + (s->kh - 1) * s->dh;
    const int64_t last_x = (s->ow - 1) * s->sw - s->pl + (s->kw - 1) * s->dw;
    if (optune_call_int(call, "zero") == 0)
        return (qconv_gpu_cuts){0};
    return (qconv_gpu_cuts){
        .top = cut(s->pt, s->dh, s->kh),
        .bottom = cut(last_y - (s->h - 1), s->dh, s->kh),
        .left = cut(s->pl, s->dw, s->kw),
        .right = cut(last_x - (s->w - 1), s->dw, s->kw),
    };
}

int64_t qconv_gpu_edges(const qconv_gpu_cuts *cuts)
{
    return (cuts->top + 1) * (cuts->bottom + 1) * (cuts->left + 1) * (cuts->right + 1);
}

bool qconv_gpu_parts_fit(const qconv_gpu *q, const qconv_gpu_parts *parts, char *why)
{
    const int64_t edges = qconv_gpu_edges(&parts->cuts);
    if (edges > 1 && edges * q->s.groups * parts->co_pad > MOST_STARTS)
        return optune_refuse(why, "windows are cut by edges in too many ways");
    return parts->splits == 1 ||
           parts->splits * part_sums(q, parts) * (int64_t)sizeof(int32_t) <= MOST_BYTES ||
           optune_refuse(why, "more than 1 GiB of partial sums");
}

void qconv_gpu_define_sums(optune_plan *plan, int module, const qconv_gpu *q,
                           const qconv_gpu_parts *parts)
{
    int64_t put = CHUNK;
    while (q->s.co_g % put)
        put /= 2;
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"CO_PAD", parts->co_pad},   {"LIST_AT", words_bytes(q, parts)},
        {"PUT_MOST", put},           {"EDGES", qconv_gpu_edges(&parts->cuts)},
        {"CUT_T", parts->cuts.top},  {"CUT_B", parts->cuts.bottom},
        {"CUT_L", parts->cuts.left}, {"CUT_R", parts->cuts.right},
    };
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, module, number[i].name, number[i].value);
}

static int module(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                  const qconv_gpu_parts *parts, bool lays)
{
    const conv2d_shape *s = lays ? &q->call : &q->s;
    const int m = optune_plan_module(plan);
    int64_t most = s->n * s->h * s->w * s->ci;
    most = host_max(most, host_max(words_bytes(q, parts), q->pixels * q->s.ci));
    most = host_max(most, host_max(parts->splits * part_sums(q, parts), q->pixels * s->co));
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"LAYS", lays},
        {"TERMS", qconv_terms(&q->call)},
        {"W_TAPS", q->call.kh * q->call.kw},
        {"W_CI", q->call.ci_g},
        {"CI_PAD", q->s.ci_g},
        {"LINE", parts->line},
        {"PASSES", q->passes},
        {"SPLITS", parts->splits},
        {"FLAT", FLAT},
    };
    qconv_define(plan, m, task, s);
    qconv_gpu_define_sums(plan, m, q, parts);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, m, number[i].name, number[i].value);
    optune_plan_define_text(plan, m, "INDEX", most > INT32_MAX / 2 ? "i64" : "int");
    return m;
}

int qconv_gpu_module(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                     const qconv_gpu_parts *parts)
{
    return module(task, plan, q, parts, false);
}

static optune_stage flat(int phase, int m, const char *function, int64_t threads)
{
    return (optune_stage){.phase = phase,
                          .module = m,
                          .function = function,
                          .grid = {host_ceil(threads, FLAT)},
                          .block = {FLAT}};
}

optune_arg qconv_gpu_weights(const optune_task *task, optune_plan *plan, int m,
                             int64_t words_bytes, int64_t channels, int64_t edges)
{
    const bool once = qconv_once(task->call);
    const int phase = once ? OPTUNE_PREPACK : OPTUNE_TIMED;
    const optune_arg packed = optune_scratch_arg(optune_plan_scratch(
        plan, "weights", words_bytes + 4 * (edges + 1) * channels + CHUNK, once));
    optune_stage pack = flat(phase, m, "pack", (words_bytes + CHUNK) / 4);
    pack.arg[pack.n_args++] = optune_input_arg(QCONV_WEIGHT);
    pack.arg[pack.n_args++] = packed;
    optune_plan_stage(plan, &pack);
    optune_stage lists = flat(phase, m, "lists", edges * channels);
    lists.arg[lists.n_args++] = optune_input_arg(QCONV_WEIGHT);
    lists.arg[lists.n_args++] = optune_input_arg(QCONV_BIAS);
    lists.arg[lists.n_args++] = optune_input_arg(QCONV_SCALE);
    lists.arg[lists.n_args++] = packed;
    optune_plan_stage(plan, &lists);
    return packed;
}

optune_arg qconv_gpu_pixels(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                            const qconv_gpu_parts *parts)
{
    if (!q->laid)
        return optune_input_arg(QCONV_DATA);
    const int64_t bytes = q->pixels * q->s.ci;
    const optune_arg laid =
        optune_scratch_arg(optune_plan_scratch(plan, "windows", bytes, false));
    optune_stage lay =
        flat(OPTUNE_TIMED, module(task, plan, q, parts, true), "lay", bytes / CHUNK);
    lay.arg[lay.n_args++] = optune_input_arg(QCONV_DATA);
    lay.arg[lay.n_args++] = laid;
    optune_plan_stage(plan, &lay);
    return laid;
}

void qconv_gpu_stages(const optune_task *task, optune_plan *plan, const qconv_gpu *q,
                      const qconv_gpu_parts *parts, optune_stage convolve)
{
    const int m = convolve.module;
    const optune_arg packed =
        qconv_gpu_weights(task, plan, m, words_bytes(q, parts), q->s.groups * parts->co_pad,
                          qconv_gpu_edges(&parts->cuts));
    optune_arg sums = optune_output_arg(0);
    if (parts->splits > 1)
        sums = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", parts->splits * part_sums(q, parts) * 4, false));
    convolve.phase = OPTUNE_TIMED;
    convolve.function = "convolve";
    convolve.arg[convolve.n_args++] = qconv_gpu_pixels(task, plan, q, parts);
    convolve.arg[convolve.n_args++] = packed;
    convolve.arg[convolve.n_args++] = sums;
    optune_plan_stage(plan, &convolve);
    if (parts->splits > 1) {
        optune_stage finish = flat(OPTUNE_TIMED, m, "finish", part_sums(q, parts) / 4);
        finish.arg[finish.n_args++] = sums;
        finish.arg[finish.n_args++] = packed;
        finish.arg[finish.n_args++] = optune_output_arg(0);
        optune_plan_stage(plan, &finish);
    }
}
