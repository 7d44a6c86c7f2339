/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/attention/gpu/attention_gpu.h declares. */
#include "kernels/attention/gpu/attention_gpu.h"

bool attention_gpu_applies(const optune_task *task, attention_shape *s, char *why)
{
    const int64_t most = INT32_MAX / 2;
    if (!attention_applies(task, s, why))
        return false;
    if (s->f64)
        return optune_refuse(why, "computes in float32");
    if (s->heads > 65535)
        return optune_refuse(why, "more than 65535 heads of keys");
    return (s->d <= 1024 && s->dv <= 1024 && s->skv <= most / 1024 && s->rows <= most / 1024) ||
           optune_refuse(why, "heads are wider than 1024, or longer than 2^20");
}

int64_t attention_gpu_vector(int64_t n, int64_t most)
{
    while (n % most != 0)
        most /= 2;
    return most;
}

double attention_gpu_tiles(const attention_shape *s, int64_t rows, int64_t keys)
{
    const double all = (double)host_ceil(s->skv, keys);
    /* Query r of a head sees the keys up to skv - sq + r. */
    const double seen = (double)s->skv - (double)(host_max(s->sq - rows, 0)) / 2;
    return s->causal && seen > 0 ? (double)host_ceil((int64_t)seen, keys) : all;
}

optune_stage attention_gpu_stage(const attention_shape *s, int m, const char *function,
                                 optune_arg to)
{
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = function,
                          .n_args = 4,
                          .arg = {optune_input_arg(ATTENTION_Q), optune_input_arg(ATTENTION_K),
                                  optune_input_arg(ATTENTION_V), to}};
    if (s->has_mask)
        stage.arg[stage.n_args++] = optune_input_arg(ATTENTION_MASK);
    return stage;
}
