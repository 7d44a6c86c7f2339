/* SPDX-License-Identifier: Apache-2.0 */
/* gather_lines.gpu: vectors of neighbouring outputs, lines or slabs of columns in shared memory
 * where one is looked up in often. CUDA and OpenCL. */
#include "kernels/host/gpu_cost.h"
#include "kernels/host/pattern_gpu.h"
#include "kernels/move/moves_gpu.h"
#include "kernels/move/take/take.h"

enum { SECTOR = 32 }; /* bytes that memory moves at least */

/* The output as [outer][rows][columns]: of an innermost axis rows are lines, n elements of the data
 * apart, else they are places along the axis. */
typedef struct lines {
    int64_t outer, rows, columns, n, bytes; /* of an element */
    int64_t vector;                         /* outputs that are stored at once */
    bool innermost;
} lines;

static lines lines_of(const optune_call *call)
{
    const optune_dtype indices = call->input[1].type.dtype;
    const host_axis data = host_around(&call->input[0].type, take_axis(call));
    const host_axis each = host_around(&call->input[1].type, take_axis(call));
    const bool innermost = data.inner == 1;
    lines l = {.outer = innermost ? 1 : data.outer,
               .rows = innermost ? data.outer : each.n,
               .columns = innermost ? each.n : data.inner,
               .n = data.n,
               .bytes = host_max(call->output[0].dtype.bits, 8) / 8,
               .innermost = innermost};
    l.vector = 16 / host_max(l.bytes, indices.bits / 8);
    while (l.columns % l.vector)
        l.vector /= 2;
    return l;
}

/* What a config makes of them: threads beside each other, how often, outputs beside each other and
 * in how many blocks, which share what is held, or rows. */
typedef struct shares {
    int64_t threads, lanes, each, teams, round, parts, slabs;
    bool shared;
} shares;

static shares shares_of(const optune_task *task, const lines *l, const optune_config *config)
{
    shares s = {.threads = optune_config_int(config, "threads"),
                .lanes = optune_config_int(config, "lanes"),
                .each = optune_config_int(config, "each"),
                .shared = optune_config_int(config, "shared")};
    s.teams = host_max(s.threads / s.lanes, 1);
    const bool whole = s.shared && l->innermost;
    s.round = s.lanes * l->vector * (whole ? s.each : 1);
    s.slabs = host_ceil(l->columns, s.round);
    /* What is held is shared by few blocks: as many as give every core some. */
    const int64_t holders = whole ? host_ceil(l->rows, s.teams) : l->outer * s.slabs;
    const int64_t rows = host_ceil(l->rows, s.teams * s.each), most = whole ? s.slabs : rows;
    s.parts = s.shared ? host_max(host_min(4 * gpu_cores(task) / host_max(holders, 1), most), 1)
                       : rows;
    return s;
}

static int64_t blocks_of(const lines *l, const shares *s)
{
    return s->shared && l->innermost ? host_ceil(l->rows, s->teams) * s->parts
                                     : l->outer * s->slabs * s->parts;
}

static int64_t shared_of(const lines *l, const shares *s)
{
    return s->shared ? host_ceil((l->innermost ? s->teams : s->round) * l->n * l->bytes, 16) * 16
                     : 0;
}

static bool applies(const optune_task *task, char *why)
{
    if (!take_moves_known(task->call, why))
        return false;
    const lines l = lines_of(task->call);
    return (l.columns <= INT32_MAX / 2 && l.rows <= INT32_MAX / 2) ||
           optune_refuse(why, "lines of 2^30 elements");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "lanes", 10,
                      (const int64_t[]){1, 2, 4, 8, 16, 32, 64, 128, 256, 1024});
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "shared", 2, (const int64_t[]){0, 1});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const lines l = lines_of(task->call);
    const shares s = shares_of(task, &l, config);
    if (s.lanes > s.threads)
        return optune_refuse(why, "more threads for a line than in a block");
    if (s.round > l.vector && s.round / 2 >= l.columns)
        return optune_refuse(why, "half of what is moved at once lies outside a line");
    if (s.threads > 64 && s.teams / 2 >= l.rows)
        return optune_refuse(why, "half of the threads have no line");
    if (!(s.shared && l.innermost) && s.each > 1 && s.each / 2 >= l.rows)
        return optune_refuse(why, "half of a thread's lines are none");
    return gpu_grid_fits(blocks_of(&l, &s), why) &&
           gpu_fits(task, (const int64_t[]){s.threads, 1, 1}, shared_of(&l, &s),
                    20 + s.each * l.vector, why);
}

/* A look-up in memory moves a sector, and those of a line find each other's in the cache. Slabs of
 * which fewer than three fit a core are not read while another is looked up in; narrow ones leave
 * a part of each sector. */
static double estimate(const optune_task *task, const optune_config *config)
{
    const lines l = lines_of(task->call);
    const shares s = shares_of(task, &l, config);
    const double index = task->call->input[1].type.dtype.bits / 8;
    const int64_t blocks = host_max(blocks_of(&l, &s), 1);
    const double outputs =
        (double)l.outer * (double)l.rows * (double)l.columns / (double)blocks;
    const double walked = (double)l.outer * (l.innermost ? (double)l.rows : (double)l.columns);
    const double data = walked * (double)l.n * (double)l.bytes / (double)blocks;
    const double sectors = outputs * SECTOR, held = s.shared ? data * (double)s.parts : 0;
    /* Of a narrow slab a part of each sector that is moved is another block's. */
    const double part = l.innermost ? 1 : SECTOR / (double)host_min(s.round * l.bytes, SECTOR);
    const double warps = (double)s.threads / 32, moved = outputs * (index + (double)l.bytes);
    const gpu_work w = {
        .blocks = blocks,
        .threads = s.threads,
        .registers = 20 + s.each * l.vector,
        .shared = shared_of(&l, &s),
        .instructions = 60 + outputs / (double)s.threads * (8 + 16. / (double)l.vector) +
                        held / 16 / (double)s.threads * 6,
        .bytes = moved + (s.shared ? held : host_min(data, sectors)),
        .cached = moved + (s.shared ? held * part : sectors),
        .waits = 2,
        .barriers = s.shared ? 1 : 0,
        .pipe = s.shared ? outputs / 32 * 4 : warps * s.each * l.vector * 24,
    };
    const bool poor = s.shared && !l.innermost &&
                      (3 * w.shared > gpu_max_shared(task) || s.round * l.bytes < SECTOR);
    return gpu_cost(task, &w) * (poor ? 4 : 1);
}

/* Threads beside each other for a slab of two sectors a row, or of one, of which three fit a core:
 * while one is read another is looked up in. 0 where they do not: a block with a core of its own
 * takes twice what look-ups in the cache do. */
static int64_t slab_lanes(const optune_task *task, const lines *l)
{
    const int64_t most = gpu_max_shared(task) / 3, thread = l->vector * l->bytes;
    int64_t lanes = host_max(2 * SECTOR / thread, 1);
    while (lanes > 1 && lanes * thread > SECTOR && l->n * lanes * thread > most)
        lanes /= 2;
    return l->n * lanes * thread <= most ? lanes : 0;
}

/* What is held is read whole: where at least every other of its sectors would be. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const lines l = lines_of(task->call);
    const int64_t slab = l.innermost ? 0 : slab_lanes(task, &l), line = l.n * l.bytes;
    const int64_t most = gpu_max_shared(task) / 4;
    const bool shared = l.innermost ? line <= most && l.columns * SECTOR >= line
                                    : slab && l.rows * SECTOR >= line;
    int64_t threads = gpu_threads(task, 256), each = 4;
    int64_t lanes = !shared ? 32 : l.innermost ? threads : slab;
    while (lanes > 1 && lanes * l.vector / 2 >= l.columns)
        lanes /= lanes == 1024 ? 4 : 2;
    while (each > 1 && (shared && l.innermost ? lanes * l.vector * each / 2 >= l.columns
                                              : each / 2 >= l.rows))
        each /= 2;
    while (threads > 64 && (threads / lanes / 2 >= l.rows ||
                            (shared && l.innermost && threads / lanes * line > most)))
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "lanes", host_max(lanes, 1));
    optune_config_choose_int(config, space, "each", each);
    optune_config_choose_int(config, space, "shared", shared);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const lines l = lines_of(call);
    const shares s = shares_of(task, &l, config);
    const int m = optune_plan_module(plan);
    int64_t piece = 16;
    while (l.innermost ? l.n * l.bytes % piece
                       : l.columns * l.bytes % piece || s.round * l.bytes % piece)
        piece /= 2;
    optune_plan_define_text(plan, m, "ELEMENT", moves_bits(l.bytes));
    optune_plan_define_text(plan, m, "PIECE", moves_bits(host_min(piece, 4)));
    optune_plan_define(plan, m, "PIECE_WORDS", host_max(piece / 4, 1));
    optune_plan_define_text(plan, m, "INDEX",
                            call->input[1].type.dtype.bits == 32 ? "i32" : "i64");
    optune_plan_define(plan, m, "INNERMOST", l.innermost);
    optune_plan_define(plan, m, "ROWS", l.rows);
    optune_plan_define(plan, m, "COLUMNS", l.columns);
    optune_plan_define(plan, m, "N", l.n);
    optune_plan_define(plan, m, "WIDTH", l.vector);
    optune_plan_define(plan, m, "THREADS", s.threads);
    optune_plan_define(plan, m, "LANES", s.lanes);
    optune_plan_define(plan, m, "EACH", s.each);
    optune_plan_define(plan, m, "HOLDS", s.shared);
    optune_plan_define(plan, m, "PARTS", s.parts);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "gather",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(0), optune_input_arg(1),
                                                    optune_output_arg(0)},
                                            .grid = {blocks_of(&l, &s)},
                                            .block = {s.threads},
                                            .shared = shared_of(&l, &s)});
}

OPTUNE_IMPL(move_take, gather_gpu) = {
    .op = "gather",
    .name = "gather_lines.gpu",
    .summary = "vectors of neighbouring outputs, lines in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
