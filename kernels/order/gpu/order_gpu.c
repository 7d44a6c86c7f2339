/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/order/gpu/order_gpu.h declares. */
#include "kernels/order/gpu/order_gpu.h"

static int64_t order_threads_of(const optune_config *config)
{
    return optune_config_int(config, "threads");
}

bool order_gpu_applies(const optune_task *task, char *why)
{
    return order_fits(task, why) &&
           (gpu_is_half(task->call->input[0].type.dtype) || order_applies(task, why));
}

int order_gpu_lines(const optune_task *task, optune_plan *plan)
{
    const optune_dtype data = task->call->input[0].type.dtype;
    const int m = order_module_of_lines(task, plan);
    optune_plan_define(plan, m, "STORED_BITS", data.bits);
    optune_plan_define(plan, m, "HALF", gpu_is_half(data) && data.code == OPTUNE_DTYPE_FLOAT);
    return m;
}

static int order_gpu_module(const optune_task *task, const optune_config *config,
                            optune_plan *plan, int64_t piece, int64_t team)
{
    const order_shape s = order_shape_of(task->call);
    const int m = order_gpu_lines(task, plan);
    host_lead_define(plan, m, "OUTER", task->call, 0, order_lead(task->call),
                     2 + task->call->n_outputs);
    optune_plan_define(plan, m, "PIECE", piece);
    optune_plan_define(plan, m, "THREADS", order_threads_of(config));
    optune_plan_define(plan, m, "TEAM", team);
    optune_plan_define(plan, m, "PIECES", host_ceil(s.at.n, piece));
    return m;
}

/* The data and the outputs, which are the end of a stage's arguments. */
static void order_gpu_outputs(const optune_task *task, optune_stage *stage)
{
    stage->arg[stage->n_args++] = optune_input_arg(0);
    for (int i = 0; i < task->call->n_outputs; i++)
        stage->arg[stage->n_args++] = optune_output_arg(i);
}

static optune_stage order_gpu_stage(const optune_config *config, int module,
                                    const char *function, int64_t blocks, int64_t shared)
{
    return (optune_stage){.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = function,
                          .grid = {blocks},
                          .block = {order_threads_of(config)},
                          .shared = shared};
}

/* What is true of a piece in shared memory, whatever becomes of it. */
static bool order_piece_fits(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t piece = optune_config_int(config, "piece");
    const int64_t threads = order_threads_of(config), each = piece / threads;
    if (piece >= s.at.n)
        return optune_refuse(why, "a piece of %" PRId64 " elements is a whole line", piece);
    if (each < 2 || each > 16)
        return optune_refuse(why, "%" PRId64 " threads for a piece of %" PRId64, threads,
                             piece);
    const int64_t bytes = order_item_bytes(&s);
    return gpu_grid_fits(order_lines(&s) * host_ceil(s.at.n, piece), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, piece * bytes,
                    16 + each * bytes / 4, why);
}

/* Whether a piece of at least so many elements fits this device at all. */
static bool order_some_piece(const optune_task *task, int64_t least, char *why)
{
    const order_shape s = order_shape_of(task->call);
    for (int64_t piece = ORDER_PIECE_LEAST; piece <= ORDER_PIECE_MOST && piece < s.at.n;
         piece *= 2)
        if (piece >= least && piece <= 16 * gpu_max_threads(task) &&
            piece * order_item_bytes(&s) <= gpu_max_shared(task))
            return true;
    return optune_refuse(why, "%s has no room for pieces of %" PRId64 " elements",
                         task->device->name, least);
}

void order_piece_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config, int64_t least)
{
    const order_shape s = order_shape_of(task->call);
    int64_t piece = s.at.n > 4096 ? 2048 : 512;
    while (piece < least && piece < ORDER_PIECE_MOST)
        piece *= 2;
    while (piece > ORDER_PIECE_LEAST &&
           (piece >= s.at.n || piece * order_item_bytes(&s) > gpu_max_shared(task)))
        piece /= 2;
    int64_t threads = gpu_threads(task, 256);
    while (threads > 64 && threads > piece / 4)
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "piece", piece);
    optune_config_nearest(config, space);
}

/* A launch whose threads sort pieces of `piece` items in shared memory, `team` threads each, that
 * come from `read` bytes an item and leave as `kept` items. */
static gpu_work order_sorting(const order_shape *s, int64_t blocks, int64_t threads,
                              int64_t piece, int64_t team, double read, double kept)
{
    enum { EXCHANGE = 14 }; /* instructions of two items that may change places */
    const double bytes = (double)order_item_bytes(s), deep = gpu_log2(piece);
    const double steps = deep * (deep + 1) / 2, lines = (double)(threads / team);
    const double each = (double)piece / (double)(2 * team);
    return (gpu_work){
        .blocks = blocks,
        .threads = threads,
        .registers = 24,
        .shared = (int64_t)lines * piece * (int64_t)bytes,
        .instructions = steps * each * EXCHANGE + each * 30,
        .bytes = lines * ((double)piece * read + kept * bytes),
        .waits = 2,
        .barriers = steps,
        /* Four items in, two or four out, a warp's 32 of 4 bytes a cycle. */
        .pipe = steps * each * (double)threads / 32 * 4 * bytes / 4,
    };
}

/* ---- bitonic: a line in shared memory ------------------------------------------------------ */

static int64_t order_padded(const order_shape *s)
{
    return gpu_power2(s->at.n < 2 ? 2 : s->at.n);
}

bool order_bitonic_applies(const optune_task *task, char *why)
{
    if (!order_gpu_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    const int64_t n = order_padded(&s);
    return (n <= ORDER_PIECE_MOST && n * order_item_bytes(&s) <= gpu_max_shared(task)) ||
           optune_refuse(why, "%" PRId64 " elements are too many for shared memory", s.at.n);
}

static int64_t order_bitonic_team(const order_shape *s, int64_t threads)
{
    return host_min(threads, order_padded(s) / 2);
}

static int64_t order_bitonic_shared(const order_shape *s, int64_t threads)
{
    return threads / order_bitonic_team(s, threads) * order_padded(s) * order_item_bytes(s);
}

bool order_bitonic_valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = order_threads_of(config);
    const int64_t lines = threads / order_bitonic_team(&s, threads);
    if (threads > 32 && lines > 1 && lines >= 2 * order_lines(&s))
        return optune_refuse(why, "half of the threads have no line");
    return gpu_grid_fits(host_ceil(order_lines(&s), lines), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, order_bitonic_shared(&s, threads),
                    24, why);
}

void order_bitonic_fallback(const optune_task *task, const optune_space *space,
                            optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    int64_t threads = gpu_threads(task, 256);
    while (threads > 32 && (threads / order_bitonic_team(&s, threads) >= 2 * order_lines(&s) ||
                            order_bitonic_shared(&s, threads) > gpu_max_shared(task)))
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
}

double order_bitonic_estimate(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = order_threads_of(config);
    const int64_t team = order_bitonic_team(&s, threads), padded = order_padded(&s);
    const gpu_work w = order_sorting(&s, host_ceil(order_lines(&s), threads / team), threads,
                                     padded, team, (double)order_item_bytes(&s), (double)s.k);
    return gpu_cost(task, &w);
}

void order_bitonic_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = order_threads_of(config);
    const int64_t team = order_bitonic_team(&s, threads);
    const int m = order_gpu_module(task, config, plan, order_padded(&s), team);
    optune_stage stage =
        order_gpu_stage(config, m, "order", host_ceil(order_lines(&s), threads / team),
                        order_bitonic_shared(&s, threads));
    order_gpu_outputs(task, &stage);
    optune_plan_stage(plan, &stage);
}

bool order_runs_applies(const optune_task *task, char *why)
{
    if (!order_gpu_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    if (s.at.n <= ORDER_PIECE_LEAST)
        return optune_refuse(why, "is for lines of more than %d", (int)ORDER_PIECE_LEAST);
    if (!order_some_piece(task, host_ceil(s.at.n, INT64_C(1) << ORDER_MOST_PASSES), why))
        return false;
    return order_scratch_fits(
        2 * order_lines(&s) * (s.at.n + ORDER_PIECE_MOST) * order_item_bytes(&s), why);
}

static int order_passes(const order_shape *s, int64_t piece)
{
    int passes = 0;
    for (int64_t run = piece; run < host_ceil(s->at.n, piece) * piece; run *= 2)
        passes++;
    return passes;
}

bool order_runs_valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    if (!order_piece_fits(task, config, why))
        return false;
    const int passes = order_passes(&s, optune_config_int(config, "piece"));
    return passes <= ORDER_MOST_PASSES ||
           optune_refuse(why, "%d passes, at most %d", passes, (int)ORDER_MOST_PASSES);
}

double order_runs_estimate(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t piece = optune_config_int(config, "piece"),
                  threads = order_threads_of(config);
    const int64_t bytes = order_item_bytes(&s);
    const int64_t blocks = order_lines(&s) * host_ceil(s.at.n, piece);
    const gpu_work first =
        order_sorting(&s, blocks, threads, piece, threads, (double)bytes, (double)piece);
    double cost = gpu_cost(task, &first);
    int64_t run = piece;
    for (int pass = order_passes(&s, piece); pass > 0; pass--) {
        const double each = (double)piece / (double)threads;
        const gpu_work merge = {
            .blocks = blocks,
            .threads = threads,
            .registers = 24 + (int64_t)each * bytes / 4,
            .shared = piece * bytes,
            .instructions = each * 40 + 12 * (double)(gpu_log2(piece) + 2 * gpu_log2(run)) + 40,
            .bytes = 2 * (double)(piece * bytes),
            .waits = 2 + 2 * (double)gpu_log2(run), /* a search in memory */
            .barriers = 3,
        };
        cost += gpu_cost(task, &merge);
        run *= 2;
    }
    return cost;
}

void order_runs_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t piece = optune_config_int(config, "piece"), bytes = order_item_bytes(&s);
    const int64_t pieces = host_ceil(s.at.n, piece), blocks = order_lines(&s) * pieces;
    const int m = order_gpu_module(task, config, plan, piece, order_threads_of(config));
    optune_plan_define(plan, m, "KEEP", piece);
    optune_arg from =
        optune_scratch_arg(optune_plan_scratch(plan, "items", blocks * piece * bytes, false));
    optune_arg to =
        optune_scratch_arg(optune_plan_scratch(plan, "merged", blocks * piece * bytes, false));
    optune_stage first = order_gpu_stage(config, m, "pieces", blocks, piece * bytes);
    first.n_args = 2;
    first.arg[0] = optune_input_arg(0);
    first.arg[1] = from;
    optune_plan_stage(plan, &first);
    for (int64_t run = piece; run < pieces * piece; run *= 2) {
        const bool last = 2 * run >= pieces * piece;
        optune_stage merge =
            order_gpu_stage(config, m, last ? "finish" : "merge", blocks, piece * bytes);
        merge.n_args = 2;
        merge.arg[0] = optune_int_arg(run);
        merge.arg[1] = from;
        if (last)
            order_gpu_outputs(task, &merge);
        else
            merge.arg[merge.n_args++] = to;
        optune_plan_stage(plan, &merge);
        const optune_arg written = to;
        to = from;
        from = written;
    }
}

bool order_rounds_applies(const optune_task *task, char *why)
{
    if (!order_gpu_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    if (s.at.n <= ORDER_PIECE_LEAST)
        return optune_refuse(why, "is for lines of more than %d", (int)ORDER_PIECE_LEAST);
    if (4 * s.k > host_min(gpu_power2(s.at.n), ORDER_PIECE_MOST))
        return optune_refuse(why, "keeps %" PRId64 " of pieces of at most %d", s.k,
                             (int)ORDER_PIECE_MOST);
    return order_some_piece(task, 2 * s.k, why);
}

/* Items of a line after a round over `items` of them. */
static int64_t order_round(const order_shape *s, int64_t piece, int64_t items)
{
    const int64_t whole = piece / s->k * s->k;
    return host_ceil(items, whole) * s->k;
}

static int order_rounds(const order_shape *s, int64_t piece)
{
    int rounds = 1;
    for (int64_t items = host_ceil(s->at.n, piece) * s->k; items > s->k; rounds++)
        items = order_round(s, piece, items);
    return rounds;
}

bool order_rounds_valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t piece = optune_config_int(config, "piece");
    if (!order_piece_fits(task, config, why))
        return false;
    if (2 * s.k > piece)
        return optune_refuse(why, "half of a piece of %" PRId64 " is less than k", piece);
    return order_rounds(&s, piece) <= ORDER_MOST_PASSES ||
           optune_refuse(why, "more than %d rounds", (int)ORDER_MOST_PASSES);
}

double order_rounds_estimate(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t piece = optune_config_int(config, "piece"),
                  threads = order_threads_of(config);
    const int64_t lines = order_lines(&s), pieces = host_ceil(s.at.n, piece);
    const double bytes = (double)order_item_bytes(&s);
    const gpu_work first =
        order_sorting(&s, lines * pieces, threads, piece, threads, bytes, (double)s.k);
    double cost = gpu_cost(task, &first);
    for (int64_t items = pieces * s.k; items > s.k;) {
        items = order_round(&s, piece, items);
        const gpu_work round = order_sorting(&s, lines * (items / s.k), threads, piece, threads,
                                             bytes, (double)s.k);
        cost += gpu_cost(task, &round);
    }
    return cost;
}

void order_rounds_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t piece = optune_config_int(config, "piece"), bytes = order_item_bytes(&s);
    const int64_t lines = order_lines(&s), pieces = host_ceil(s.at.n, piece);
    const int m = order_gpu_module(task, config, plan, piece, order_threads_of(config));
    optune_plan_define(plan, m, "KEEP", s.k);
    int64_t items = pieces * s.k;
    optune_arg from =
        optune_scratch_arg(optune_plan_scratch(plan, "best", lines * items * bytes, false));
    optune_arg to = optune_scratch_arg(optune_plan_scratch(
        plan, "better", lines * order_round(&s, piece, items) * bytes, false));
    optune_stage first = order_gpu_stage(config, m, "pieces", lines * pieces, piece * bytes);
    first.n_args = 2;
    first.arg[0] = optune_input_arg(0);
    first.arg[1] = from;
    optune_plan_stage(plan, &first);
    while (items > s.k) {
        const int64_t left = order_round(&s, piece, items);
        const bool last = left == s.k;
        optune_stage round = order_gpu_stage(config, m, last ? "last_round" : "next_round",
                                             lines * (left / s.k), piece * bytes);
        round.n_args = 2;
        round.arg[0] = optune_int_arg(items);
        round.arg[1] = from;
        if (last)
            order_gpu_outputs(task, &round);
        else
            round.arg[round.n_args++] = to;
        optune_plan_stage(plan, &round);
        const optune_arg written = to;
        to = from;
        from = written;
        items = left;
    }
}
