/* SPDX-License-Identifier: Apache-2.0 */
/* topk_filter.cuda: one read of long lines, of which little passes a limit. */
#include "kernels/order/gpu/order_gpu.h"

static int64_t value_of(const optune_config *config, const char *knob)
{
    return optune_config_int(config, knob);
}

static bool applies(const optune_task *task, char *why)
{
    if (!gpu_is_cuda(task, 60, why) || !order_applies(task, why))
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
    optune_space_ints(space, "each", 3, (const int64_t[]){4, 8, 16});
    optune_space_ints(space, "room", 4, (const int64_t[]){512, 1024, 2048, 4096});
    optune_space_ints(space, "parts", 6, (const int64_t[]){1, 4, 16, 64, 256, 1024});
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
    const int64_t each = s.data.bits == 32 ? 16 : 8;
    int64_t threads = gpu_threads(task, 256), parts = 1, room = 512;
    while (threads > 64 && threads / 2 >= s.k && threads / 2 * each >= s.at.n)
        threads /= 2;
    while (parts < 1024 && order_lines(&s) * parts < 2 * gpu_cores(task) &&
           s.at.n / (4 * parts) >= host_max(threads * each, 4 * s.k))
        parts *= 4;
    while (room < 4096 && room < 8 * s.k + threads &&
           2 * room * order_item_bytes(&s) < gpu_max_shared(task))
        room *= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "each", each);
    optune_config_choose_int(config, space, "room", room);
    optune_config_choose_int(config, space, "parts", parts);
    optune_config_nearest(config, space);
}

/* Instructions of a warp and barriers of a sort of `n` items by a block. */
static void sorting(gpu_work *w, double times, double n, int64_t threads)
{
    const double deep = log2(n), steps = times * deep * (deep + 1) / 2;
    w->instructions += steps * fmax(1, n / 2 / (double)threads) * 14;
    w->barriers += steps;
}

/* Of values in random order a batch lets K and few more pass, until the limit is tighter. */
static double estimate(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = value_of(config, "threads"), each = value_of(config, "each");
    const int64_t parts = value_of(config, "parts"), room = value_of(config, "room");
    const double bytes = s.data.bits / 8, n = (double)s.at.n / (double)parts;
    const double batches = ceil(n / (double)(threads * each)), k = (double)s.k;
    const double first = k * (1 + k / (double)threads); /* that pass the first limit */
    const double cuts = floor(batches * first / (.75 * (double)room));
    const double left = fmax(k, batches * first - cuts * .75 * (double)room);
    gpu_work w = {
        .blocks = order_lines(&s) * parts,
        .threads = threads,
        .registers = 32 + each * s.data.bits / 32,
        .shared = shared(&s, config),
        .instructions = batches * ((double)each * 14 * bytes / 4 + 30) + 60,
        .bytes = n * bytes + k * (double)order_item_bytes(&s),
        .waits = batches + 1,
        .barriers = 2 * batches,
    };
    sorting(&w, 1, (double)threads, threads);
    sorting(&w, cuts, (double)room, threads);
    sorting(&w, 1, (double)gpu_power2((int64_t)left), threads);
    const double cost = gpu_cost(task, &w);
    if (parts == 1)
        return cost;
    const double rounds = ceil((double)parts * k / (double)threads);
    gpu_work merge = {
        .blocks = order_lines(&s),
        .threads = threads,
        .registers = 32,
        .shared = shared(&s, config),
        .instructions = rounds * 30 + 60,
        .bytes = (double)parts * k * (double)order_item_bytes(&s),
        .waits = rounds,
        .barriers = 2 * rounds,
    };
    sorting(&merge, 1 + floor(rounds * (double)threads / (4 * (double)room)), (double)room,
            threads);
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
    const int m = order_module_of_lines(task, plan);
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
