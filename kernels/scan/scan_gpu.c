/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/scan/scan_gpu.h declares. */
#include "kernels/scan/scan_gpu.h"

static const char *scan_stored(optune_dtype in)
{
    return gpu_is_half(in) ? gpu_stored_type(in) : host_c_type(in);
}

bool scan_gpu_applies(const optune_task *task, char *why)
{
    const optune_dtype in = task->call->input[0].type.dtype, out = task->call->output[0].dtype;
    if (!gpu_is_half(in) && !gpu_is_half(out))
        return scan_applies(task, why) && gpu_computes(in, why) && gpu_computes(out, why);
    return scan_fits(task, why) &&
           ((scan_stored(in) && gpu_stored_type(out)) ||
            optune_refuse(why, "has no C type for a dtype of the call"));
}

/* What a scan accumulates in is what its output is, or stores. */
int scan_gpu_module(const optune_task *task, optune_plan *plan)
{
    const optune_dtype in = task->call->input[0].type.dtype;
    const int m = scan_module_of_lines(task, plan, scan_stored(in));
    gpu_define_stored(plan, m, task->call);
    optune_plan_define(plan, m, "IN_ONE",
                       !gpu_is_half(in)                 ? 1
                       : in.code == OPTUNE_DTYPE_BFLOAT ? 0x3F80
                                                        : 0x3C00);
    return m;
}

/* Parts of a line that give every unit of the device something, of `least` elements each. */
static int64_t scan_parts(const optune_task *task, const scan_shape *s, int64_t blocks,
                          int64_t least)
{
    int64_t parts = 1;
    while (parts < 1024 && blocks * parts < 4 * gpu_cores(task) &&
           s->at.n / (4 * parts) >= least)
        parts *= 4;
    return parts;
}

static void scan_parts_knob(optune_space *space)
{
    optune_space_ints(space, "parts", 6, (const int64_t[]){1, 4, 16, 64, 256, 1024});
}

/* `blocks` for one part of all lines; the stages differ in the kernel and its arguments. */
static void scan_gpu_plan(const optune_task *task, const optune_config *config,
                          optune_plan *plan, int64_t blocks, int64_t threads, int64_t shared)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t parts = optune_config_int(config, "parts");
    const int m = scan_gpu_module(task, plan);
    host_lead_define(plan, m, "OUTER", task->call, 0, scan_lead(task->call), 3);
    gpu_define_index(plan, m, task->call);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "PARTS", parts);
    optune_plan_define(plan, m, "LINE_BLOCKS", blocks);
    for (int i = 0; i < config->n; i++) {
        if (strcmp(config->entity[i].name, "team") == 0)
            optune_plan_define(plan, m, "TEAM", config->entity[i].v[0]);
        if (strcmp(config->entity[i].name, "each") == 0)
            optune_plan_define(plan, m, "EACH", config->entity[i].v[0]);
    }
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "scan",
                          .n_args = 2,
                          .arg = {optune_input_arg(0), optune_output_arg(0)},
                          .grid = {blocks * parts},
                          .block = {threads},
                          .shared = shared};
    if (parts > 1) {
        const optune_arg sums = optune_scratch_arg(optune_plan_scratch(
            plan, "parts", parts * s.at.outer * s.at.inner * scan_elem(&s), false));
        optune_stage first = stage;
        first.function = "amounts";
        first.arg[1] = sums;
        optune_plan_stage(plan, &first);
        stage.arg[stage.n_args++] = sums;
    }
    optune_plan_stage(plan, &stage);
}

void scan_team_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "team", 6, (const int64_t[]){4, 16, 64, 128, 256, 512});
    optune_space_ints(space, "each", 5, (const int64_t[]){1, 2, 4, 8, 16});
    scan_parts_knob(space);
}

/* Places for a team's amounts, twice: one is read while the other is written. */
static int64_t scan_team_shared(const scan_shape *s, int64_t threads)
{
    return 2 * threads * scan_elem(s);
}

static int64_t scan_team_blocks(const scan_shape *s, const optune_config *config)
{
    return host_ceil(s->at.outer,
                     optune_config_int(config, "threads") / optune_config_int(config, "team"));
}

bool scan_team_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t each = optune_config_int(config, "each");
    const int64_t parts = optune_config_int(config, "parts");
    if (team > threads)
        return optune_refuse(why, "a team is larger than its block");
    if (team > 4 && team / 4 * each >= s.at.n)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " elements", team, s.at.n);
    if (parts > 1 && s.at.n / parts < team * each)
        return optune_refuse(why, "%" PRId64 " parts of %" PRId64 " elements are too short",
                             parts, s.at.n);
    return gpu_grid_fits(scan_team_blocks(&s, config) * parts, why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, scan_team_shared(&s, threads),
                    16 + each * scan_elem(&s) / 4, why);
}

void scan_team_fallback(const optune_task *task, const optune_space *space,
                        optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = gpu_threads(task, 256), each = s.at.n >= 16 ? 4 : 1;
    int64_t team = threads;
    while (team > 4 && team / 4 * each >= s.at.n)
        team /= team == 64 || team == 16 ? 4 : 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "team", team);
    optune_config_choose_int(config, space, "each", each);
    optune_config_choose_int(
        config, space, "parts",
        scan_parts(task, &s, scan_team_blocks(&s, config), 4 * threads * each));
}

/* Both stages: the first reads what the second reads again and writes. */
static double scan_gpu_cost(const optune_task *task, gpu_work w, int64_t parts, double bytes)
{
    double cost = 0;
    w.bytes = bytes / (double)w.blocks;
    if (parts > 1)
        cost = gpu_cost(task, &w);
    w.bytes *= 2;
    w.waits += (double)parts / 4; /* what is before a part is the sum of all */
    return cost + gpu_cost(task, &w);
}

double scan_team_estimate(const optune_task *task, const optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = optune_config_int(config, "threads"), elem = scan_elem(&s);
    const int64_t team = optune_config_int(config, "team");
    const int64_t each = optune_config_int(config, "each");
    const int64_t parts = optune_config_int(config, "parts");
    const double rounds = (double)host_ceil(host_ceil(s.at.n, parts), team * each);
    const double deep = gpu_log2(team), warps = (double)host_ceil(threads, 32);
    const gpu_work w = {
        .blocks = scan_team_blocks(&s, config) * parts,
        .threads = threads,
        .registers = 24 + each * elem / 4,
        .shared = scan_team_shared(&s, threads),
        .instructions = rounds * (6 * (double)each + 8 * deep + 16) + 30,
        .waits = rounds + 1,
        .barriers = rounds * (deep + 1),
        /* Neighbours are `each` elements apart: so many lines of a cache for one instruction. */
        .pipe = rounds * warps * (double)(2 * each * host_min(each * elem / 4, 32)),
    };
    return scan_gpu_cost(task, w, parts, (double)(s.at.outer * s.at.n * s.out.bits / 8));
}

void scan_team_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    scan_gpu_plan(task, config, plan, scan_team_blocks(&s, config), threads,
                  scan_team_shared(&s, threads));
}

void scan_across_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 4, 8, 16});
    scan_parts_knob(space);
}

static int64_t scan_across_blocks(const scan_shape *s, int64_t threads)
{
    return host_ceil(s->at.outer * s->at.inner, threads);
}

bool scan_across_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    const int64_t parts = optune_config_int(config, "parts");
    if (parts > 1 && s.at.n / parts < 4)
        return optune_refuse(why, "%" PRId64 " parts of %" PRId64 " elements are too short",
                             parts, s.at.n);
    if (each > 1 && each > s.at.n)
        return optune_refuse(why, "%" PRId64 " elements in flight, a line has %" PRId64, each,
                             s.at.n);
    return gpu_grid_fits(scan_across_blocks(&s, threads) * parts, why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 16 + each * scan_elem(&s) / 4,
                    why);
}

void scan_across_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t lines = s.at.outer * s.at.inner;
    int64_t threads = gpu_threads(task, 256);
    while (threads > 64 && host_ceil(lines, threads) < 4 * gpu_cores(task))
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "each", s.at.n < 8 ? 1 : 8);
    optune_config_choose_int(config, space, "parts",
                             scan_parts(task, &s, scan_across_blocks(&s, threads), 32));
}

double scan_across_estimate(const optune_task *task, const optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = optune_config_int(config, "threads"), elem = scan_elem(&s);
    const int64_t each = optune_config_int(config, "each");
    const int64_t parts = optune_config_int(config, "parts");
    const double values = (double)host_ceil(s.at.n, parts); /* of a thread */
    const double lines = (double)s.at.outer * (double)s.at.n *
                         gpu_sectors(1, host_min(s.at.inner, threads) * s.out.bits / 8) *
                         (double)host_ceil(s.at.inner, threads);
    const gpu_work w = {
        .blocks = scan_across_blocks(&s, threads) * parts,
        .threads = threads,
        .registers = 24 + each * elem / 4,
        .instructions = values * 5 + 30,
        .waits = values / (double)each + 1,
    };
    return scan_gpu_cost(task, w, parts, lines);
}

void scan_across_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    scan_gpu_plan(task, config, plan, scan_across_blocks(&s, threads), threads, 0);
}
