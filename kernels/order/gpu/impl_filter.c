/* SPDX-License-Identifier: Apache-2.0 */
/* topk_filter.cuda: one read of long lines, of which little passes a limit. */
#include "kernels/order/gpu/order_gpu.h"

static int64_t value_of(const optune_config *config, const char *knob)
{
    return optune_config_int(config, knob);
}

static bool applies(const optune_task *task, char *why)
{
    if (!gpu_is_cuda(task, 60, why) || !order_gpu_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    if (s.at.inner != 1)
        return optune_refuse(why, "is for a contiguous axis");
    if (s.at.n < 256)
        return optune_refuse(why, "is for lines of 256 and more");
    if (s.k > 256 || s.k > s.at.n / 4)
        return optune_refuse(why, "keeps at most 256 and a fourth of a line, not %" PRId64,
                             s.k);
    return gpu_max_threads(task) >= s.k ||
           optune_refuse(why, "a thread for each of %" PRId64 " is more than a block", s.k);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){4, 8, 16, 32});
    optune_space_ints(space, "room", 4, (const int64_t[]){512, 1024, 2048, 4096});
    optune_space_ints(space, "parts", 8, (const int64_t[]){1, 4, 8, 16, 32, 64, 256, 1024});
}

static int64_t shared(const order_shape *s, const optune_config *config)
{
    return value_of(config, "room") * order_item_bytes(s) + 16;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), each = value_of(config, "each");
    const int64_t room = value_of(config, "room"), parts = value_of(config, "parts");
    if (each < 128 / s.data.bits)
        return optune_refuse(why, "%" PRId64 " elements are less than a vector", each);
    if (s.k > threads)
        return optune_refuse(why, "%" PRId64 " threads have a best each, k is %" PRId64,
                             threads, s.k);
    if (room < s.k + threads)
        return optune_refuse(why, "no room for one item of each of %" PRId64 " threads",
                             threads);
    if (threads > 64 && threads / 2 * 4 >= s.at.n)
        return optune_refuse(why, "half of the threads have nothing of a line");
    if (parts > 1 && (s.at.n / parts < threads * each || s.at.n / parts < 4 * s.k))
        return optune_refuse(why, "%" PRId64 " parts of %" PRId64 " elements are too short",
                             parts, s.at.n);
    return gpu_grid_fits(order_lines(&s) * parts, why) &&
           order_scratch_fits(order_lines(&s) * parts * s.k * order_item_bytes(&s), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, shared(&s, config),
                    24 + each * s.data.bits / 32, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    int64_t each = s.data.bits == 64 ? 8 : 16;
    int64_t threads = gpu_threads(task, s.k <= 128 ? 128 : 256), parts = 1, room = 512;
    while (threads > 64 && threads / 2 >= s.k && threads / 2 * each >= s.at.n)
        threads /= 2;
    while (parts < 32 && order_lines(&s) * parts < 2 * gpu_cores(task) &&
           s.at.n / (4 * parts) >= host_max(threads * each, 4 * s.k))
        parts *= parts == 1 ? 4 : 2;
    while (room < 4096 && room < 4 * s.k + threads &&
           2 * room * order_item_bytes(&s) < gpu_max_shared(task))
        room *= 2;
    if (s.data.bits == 16 && parts == 1 && s.at.n >= 4 * threads * each)
        each *= 2; /* fewer batches, each with its barriers */
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "each", each);
    optune_config_choose_int(config, space, "room", room);
    optune_config_choose_int(config, space, "parts", parts);
    optune_config_nearest(config, space);
}

/* A cut of `items`: a warp compares each of its own with all of them. */
static void cutting(gpu_work *w, double times, double items, int64_t threads)
{
    w->instructions += times * (4 * items * fmin(2, items / (double)threads) + 60);
    w->barriers += 3 * times;
}

/* Values in random order: of a first batch twice K pass, of the b-th one K / b. */
static double estimate(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), each = value_of(config, "each");
    const int64_t parts = value_of(config, "parts"), warps = host_max(threads / 32, 1);
    const double bytes = s.data.bits / 8, n = (double)s.at.n / (double)parts;
    const double batches = ceil(n / (double)(threads * each)), k = (double)s.k;
    const double passed = 2 * k + k * log(batches), cuts = 1 + log(batches);
    gpu_work w = {
        .blocks = order_lines(&s) * parts,
        .threads = threads,
        .registers = 40 + each * s.data.bits / 32,
        .shared = shared(&s, config),
        .instructions = batches * ((double)each * 5 * bytes / 4 + 40) +
                        60 * passed / (double)warps + (double)each * 14 + 250,
        .bytes = n * bytes + k * (double)order_item_bytes(&s),
        .waits = batches / 2 + 2, /* the next batch is loaded meanwhile */
        .barriers = 2 * batches + 4,
    };
    cutting(&w, cuts, 3 * k, threads);
    const double cost = gpu_cost(task, &w);
    if (parts == 1)
        return cost;
    const double rounds = ceil((double)parts * k / (double)threads);
    gpu_work merge = {
        .blocks = order_lines(&s),
        .threads = threads,
        .registers = 40,
        .shared = shared(&s, config),
        .instructions = rounds * 40 + 4 * (double)host_min(parts, threads) + 100,
        .bytes = (double)parts * k * (double)order_item_bytes(&s),
        .waits = rounds + 2,
        .barriers = 2 * rounds + 2,
    };
    cutting(&merge, 2, 2 * k, threads);
    return cost + gpu_cost(task, &merge);
}

static void add_stage(const optune_task *task, optune_plan *plan, optune_stage stage)
{
    stage.arg[stage.n_args++] = optune_input_arg(0);
    for (int i = 0; i < task->call->n_outputs; i++)
        stage.arg[stage.n_args++] = optune_output_arg(i);
    host_lead_args(task->call, 0, order_lead(task->call), &stage);
    optune_plan_stage(plan, &stage);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), parts = value_of(config, "parts");
    const int m = order_gpu_lines(task, plan);
    host_lead_define_gpu(plan, m, "OUTER", "LEAD_PARAMETERS", task->call, 0,
                         order_lead(task->call));
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "EACH", value_of(config, "each"));
    optune_plan_define(plan, m, "ROOM", value_of(config, "room"));
    optune_plan_define(plan, m, "PARTS", parts);
    optune_plan_define(plan, m, "V", 128 / s.data.bits);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "filter",
                          .grid = {order_lines(&s) * parts},
                          .block = {threads},
                          .shared = shared(&s, config)};
    if (parts > 1) {
        const int64_t bytes = order_lines(&s) * parts * s.k * order_item_bytes(&s);
        stage.arg[stage.n_args++] =
            optune_scratch_arg(optune_plan_scratch(plan, "best", bytes, false));
    }
    add_stage(task, plan, stage);
    if (parts > 1) {
        stage.function = "merge";
        stage.grid[0] = order_lines(&s);
        add_stage(task, plan, stage);
    }
}

OPTUNE_IMPL(order_gpu, filter) = {
    .op = "topk",
    .name = "topk_filter.cuda",
    .summary = "one read of long lines, of which little passes a limit",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
    .symbolic = "*",
};
