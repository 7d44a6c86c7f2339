/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/staged_rows.h declares. */
#include "kernels/host/staged_rows.h"

enum {
    LONGEST = 1024,   /* bytes of a row */
    BLOCK = 28 << 10, /* of shared memory, for a block, where that can be chosen */
    REGISTERS = 40
};

bool staged_rows_apply(const staged_rows *r, char *why)
{
    return r->count * r->bytes <= LONGEST ||
           optune_refuse(why, "rows of %" PRId64 " bytes, at most %d", r->count * r->bytes,
                         (int)LONGEST);
}

bool staged_rows_pay(const optune_task *task, const staged_rows *r, char *why)
{
    enum { SHORTEST = 16 }; /* elements: below, lines of a thread stay in its cache */
    if (r->count < SHORTEST)
        return optune_refuse(why, "rows of %" PRId64 ", at least %d", r->count, (int)SHORTEST);
    if (r->count * r->bytes % 16 == 0)
        return optune_refuse(why, "rows are whole vectors");
    return r->rows >= 2 * 128 * gpu_cores(task) ||
           optune_refuse(why, "%" PRId64 " rows do not occupy the device", r->rows);
}

void staged_rows_space(optune_space *space)
{
    gpu_space_threads(space);
    optune_space_ints(space, "team", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
}

/* What STAGED_ROWS_ROOM says. */
static int64_t room(const staged_rows *r, int64_t threads, int64_t team)
{
    return (host_ceil(threads / team * r->count * r->bytes, 16) + 1) * 16 + threads * r->held;
}

bool staged_rows_valid(const optune_task *task, const staged_rows *r,
                       const optune_config *config, char *why)
{
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    if (team > 1 && team > r->count)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " values", team, r->count);
    return gpu_grid_fits(host_ceil(r->rows, threads / team), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, room(r, threads, team), REGISTERS,
                    why);
}

double staged_rows_cost(const optune_task *task, const staged_rows *r,
                        const optune_config *config)
{
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t rows = threads / team, run = rows * r->count * r->bytes;
    const double loads = (double)host_ceil(run, 16 * threads); /* of a thread */
    const double values = (double)host_ceil(r->count, team);
    const gpu_work w = {
        .blocks = host_ceil(r->rows, rows),
        .threads = threads,
        .registers = REGISTERS,
        .shared = room(r, threads, team),
        .instructions = 6 * loads + 4 * values + 40 + 6 * (double)gpu_log2(team),
        .bytes = (double)(run + rows * r->bytes),
        .waits = 2,
        .barriers = 1 + (double)gpu_log2(team),
    };
    return gpu_cost(task, &w);
}

void staged_rows_fallback(const optune_task *task, const staged_rows *r,
                          const optune_space *space, optune_config *config)
{
    const int64_t threads = gpu_threads(task, 128);
    const int64_t most = host_min(BLOCK, gpu_max_shared(task));
    int64_t team = 1;
    while (team < 32 && 2 * team <= r->count && room(r, threads, team) > most)
        team *= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "team", team);
    optune_config_nearest(config, space);
}

optune_stage staged_rows_stage(optune_plan *plan, int m, const staged_rows *r,
                               const optune_config *config)
{
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "ROW_TEAM", team);
    optune_plan_define(plan, m, "STAGED_V", 16 / r->bytes);
    return (optune_stage){.grid = {host_ceil(r->rows, threads / team)},
                          .block = {threads},
                          .shared = room(r, threads, team)};
}
