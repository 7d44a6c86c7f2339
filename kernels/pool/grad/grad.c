/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/grad/grad.h declares. */
#include "kernels/pool/grad/grad.h"

double pool_grad_flops(const optune_call *call)
{
    const int64_t *size = optune_call_ints(call, "pool_size");
    const optune_tensor *grad = &call->input[POOL_GRAD].type;
    return optune_tensor_known(grad)
               ? (double)optune_tensor_elements(grad) * (double)(size[0] * size[1])
               : 0;
}

double pool_grad_terms(const optune_call *call)
{
    const int64_t *size = optune_call_ints(call, "pool_size");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    double terms = 1;
    for (int a = 0; a < 2; a++)
        terms *= (double)(dilation[a] > 1 ? size[a] : (size[a] + stride[a] - 1) / stride[a]);
    return terms;
}

/* The window whose tap `tap` is at position `at`; negative: none. */
static int64_t pool_holder(const pool_axis *a, int64_t at, int64_t tap)
{
    const int64_t start = at + a->before - tap * a->dilation;
    return start < 0 || start % a->stride || start / a->stride >= a->out ? -1
                                                                         : start / a->stride;
}

/* Element k of the region is the sum of what all windows give to it. */
static void pool_grad_sum(const pool_walk *w, int64_t plane, int64_t lane, int64_t y, int64_t x,
                          int64_t k)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < w->s.y.kernel; i++) {
        const int64_t oy = pool_holder(&w->s.y, y, i);
        for (int64_t j = 0; oy >= 0 && j < w->s.x.kernel; j++) {
            const int64_t ox = pool_holder(&w->s.x, x, j);
            const double g = ox < 0 ? 0 : w->share(w, plane, lane, oy, ox, y, x);
            sum += g;
            size += fabs(g);
        }
    }
    w->out[k] = sum;
    w->magnitude[k] = size;
}

void pool_grad_reference(const optune_call *call, const void *const *in,
                         const optune_region *region, double *out, double *magnitude,
                         pool_share share)
{
    pool_walk w = {.in = in, .out = out, .magnitude = magnitude, .share = share};
    if (pool_backward_shape(call, &w.s))
        pool_reference(call, w, region, pool_grad_sum);
}

optune_stage pool_grad_stage(const optune_task *task, const pool_shape *s, optune_plan *plan,
                             int module, int64_t per_task)
{
    const int64_t each = (per_task + 15) / 16 * 16;
    optune_plan_define(plan, module, "LINE", each);
    const int lines =
        optune_plan_scratch(plan, "lines", pool_threads(task) * each * pool_elem(s), false);
    return (optune_stage){.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "pool_grad",
                          .n_args = 4,
                          .arg = {optune_input_arg(POOL_GRAD), optune_input_arg(POOL_DATA),
                                  optune_output_arg(0), optune_scratch_arg(lines)}};
}
