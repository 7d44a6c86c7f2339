/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_split.cpu: few queries over many keys, as one token has over a cache. Keys are cut in
 * `splits` parts that threads share; what parts leave is merged in a fixed order. Nothing is
 * packed.
 */
#include "kernels/attention/attention.h"

enum { ROWS = 64, STACK = 512 << 10 };

static int64_t up(int64_t n, int64_t lanes)
{
    return host_ceil(n, lanes) * lanes;
}

static bool applies(const optune_task *task, char *why)
{
    attention_shape s;
    if (!attention_applies(task, &s, why))
        return false;
    const int64_t lanes = attention_lanes(task, &s);
    if (s.rows > ROWS)
        return optune_refuse(why, "is for at most %d queries a key head", (int)ROWS);
    return (s.d < 1 << 16 && s.dv < 1 << 16 &&
            (s.rows * up(s.d, lanes) + s.rows * 64 + up(s.d, lanes) + up(s.dv, lanes)) *
                    attention_elem(&s) <=
                STACK &&
            s.heads * s.rows * 64 * (s.dv + 66) * attention_elem(&s) < (int64_t)1 << 30) ||
           optune_refuse(why, "heads are too wide for its buffers");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "splits", 7, (const int64_t[]){1, 2, 4, 8, 16, 32, 64});
    optune_space_ints(space, "keys", 4, (const int64_t[]){16, 64, 128, 256});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const int64_t splits = optune_config_int(config, "splits");
    const int64_t keys = optune_config_int(config, "keys");
    if (splits > s.skv)
        return optune_refuse(why, "%ld parts of %ld keys", (long)splits, (long)s.skv);
    if (keys % attention_lanes(task, &s))
        return optune_refuse(why, "%ld keys are no vectors", (long)keys);
    return keys <= 64 || s.rows * keys * attention_elem(&s) <= 64 << 10 ||
           optune_refuse(why, "scores of %ld keys take more than 64 KiB", (long)keys);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    int64_t splits = 1; /* parts for all threads, none shorter than a block of keys */
    while (s.heads * splits < 2 * host_threads(task) && splits < 64 && s.skv / splits > 128)
        splits *= 2;
    optune_config_choose_int(config, space, "splits", s.heads % host_threads(task) ? splits : 1);
    optune_config_choose_int(config, space, "keys", 64);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const int64_t splits = optune_config_int(config, "splits");
    const int64_t left = up(s.dv, attention_lanes(task, &s)) + 2;
    const int m = optune_plan_module(plan);
    attention_define(plan, m, task, &s);
    optune_plan_define(plan, m, "SPLITS", splits);
    optune_plan_define(plan, m, "KB", optune_config_int(config, "keys"));
    const optune_arg scratch = optune_scratch_arg(optune_plan_scratch(
        plan, "parts", s.heads * splits * s.rows * left * attention_elem(&s), false));
    optune_stage parts = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "parts",
                          .n_args = 4,
                          .arg = {optune_input_arg(ATTENTION_Q), optune_input_arg(ATTENTION_K),
                                  optune_input_arg(ATTENTION_V), scratch}};
    if (s.has_mask)
        parts.arg[parts.n_args++] = optune_input_arg(ATTENTION_MASK);
    optune_plan_stage(plan, &parts);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "merge",
                                            .n_args = 2,
                                            .arg = {scratch, optune_output_arg(0)}});
}

OPTUNE_IMPL(attention, split) = {
    .op = "attention",
    .name = "attention_split.cpu",
    .summary = "few queries, the keys split among threads",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
