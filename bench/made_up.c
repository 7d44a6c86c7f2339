/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/made_up.h"

optune *made_up_handle(const char *db)
{
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {
        .size = sizeof options, .db = db, .target = "cpu -threads=1"};
    if (optune_open(&options, &o, &err) < 0 || ot_context_device(o, &err) < 0)
        bench_die("%s", err.text);
    return o;
}

/* A cost of as many digits as a measured one has. */
static double like_measured(double seconds)
{
    char digits[40];
    double value = seconds;
    ot_format(digits, sizeof digits, "%.9g", seconds);
    ot_read_real(digits, &value);
    return value;
}

void made_up_record(optune *o, const optune_call *call, const optune_impl *impl,
                    optune_space *space, uint64_t *rng, int i, optune_record *r, double *sample,
                    ot_arena *arena)
{
    const optune_task task = {call, &o->target, &o->device};
    ot_question question;
    char digest[33];
    ot_context_question(o, &task, &question, arena);
    ot_call_digest(&task, impl, digest);
    *r = (optune_record){.call = question.call,
                         .op = call->op->name,
                         .target = question.target,
                         .device = question.device,
                         .policy = question.policy,
                         .impl = impl->name,
                         .digest = ot_arena_copy(arena, digest),
                         .depends = ot_context_depends(o, impl, NULL, arena),
                         .n_samples = MADE_UP_SAMPLES,
                         .sample = sample,
                         .inner = 10,
                         .time = ot_unix_time() - 1e6 + i,
                         .tool = "bench",
                         .source = "bench"};
    do
        ot_space_nth(space, ot_space_random(space, rng), &r->config);
    while (!ot_space_valid(space, &r->config, NULL));
    const double cost = 1e-3 * (1 + optune_random_unit(rng));
    for (int k = 0; k < MADE_UP_SAMPLES; k++)
        sample[k] = like_measured(cost * (1 + 1e-2 * optune_random_unit(rng)));
    const ot_interval interval = ot_median_interval(sample, MADE_UP_SAMPLES);
    r->cost = interval.median;
    r->low = interval.low;
    r->high = interval.high;
}

double made_up_processor_s(clockid_t whose)
{
    struct timespec used;
    clock_gettime(whose, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}
