/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_rows.cpu: any injective op, row by row along the output. Whole rows are copied by vectors;
 * what is strided or reversed is gathered by the compiler's code. The knob `order` is that of the
 * loops: what lies far apart on one side is near on the other, and which side should go in step
 * depends on sizes, strides and caches.
 */
#include <stdlib.h>

#include "kernels/move/join_rows.h"
#include "kernels/move/piece_polys.h"
#include "kernels/move/slice_rows.h"

static bool applies(const optune_task *task, char *why)
{
    if (pattern_known(task->call, NULL))
        return moves_applies(task, why);
    if (!moves_most_apply(task, why))
        return false;
    if (join_rows_pieces(task->call))
        return true;
    piece_polys *polys = malloc(sizeof *polys);
    const bool fits = polys && piece_polys_of(task->call, POLYS_ROWS, polys);
    free(polys);
    return fits || slice_rows_apply(task->call) ||
           optune_refuse(why, "its pieces are no polynomials of the dims that are known at "
                              "run time");
}

/* Those of the piece that moves most; NULL: nothing is moved. */
static const pattern_loops *main_loops(const moves *m)
{
    const pattern_loops *found = NULL;
    double most = 0;
    for (int i = 0; i < m->n; i++) {
        const pattern_loops *l = &m->piece[i].loops;
        double n = m->piece[i].mode == MOVES_FILL ? 0 : 1;
        for (int d = 0; d < l->rank; d++)
            n *= (double)l->extent[d];
        if (n > most) {
            most = n;
            found = l;
        }
    }
    return found;
}

/* How many loops `order` is about, those of the main piece and of others that have as many. 0:
 * there is nothing to order, or dims are known at run time only. */
static int loops_of(const optune_call *call, const moves *m)
{
    const pattern_loops *l = pattern_known(call, NULL) ? main_loops(m) : NULL;
    return l && l->rank > 1 ? l->rank : 0;
}

/* The pieces with the loops of those of that rank in the config's order. */
static void ordered(const optune_call *call, const optune_config *config, moves *m)
{
    moves_of(call, m);
    const int rank = loops_of(call, m);
    const int64_t *order = rank ? optune_config_split(config, "order") : NULL;
    for (int i = 0; order && i < m->n; i++) {
        pattern_loops *l = &m->piece[i].loops;
        const pattern_loops from = *l;
        for (int d = 0; l->rank == rank && d < rank; d++) {
            l->extent[d] = from.extent[order[d]];
            for (int t = 0; t < l->tensors; t++)
                l->stride[t][d] = from.stride[t][order[d]];
        }
    }
}

enum {
    PERMUTED = 3
}; /* loops, the innermost ones, that change places: of three there are six orders */

static void space(const optune_task *task, optune_space *space)
{
    moves m;
    moves_of(task->call, &m);
    const int rank = loops_of(task->call, &m);
    optune_space_ints(space, "vectors", 4, (const int64_t[]){0, 1, 4, 16});
    optune_space_words(space, "store", 2, (const char *const[]){"plain", "stream"});
    optune_space_ints(space, "prefetch", 4, (const int64_t[]){0, 512, 1024, 4096});
    moves_space_task(task, space);
    if (rank)
        optune_space_reorder(space, "order", rank, OPTUNE_REORDER_INTERVAL_ALL,
                             rank > PERMUTED ? rank - PERMUTED : 0, rank, NULL, 0);
}

/* Whether the innermost loop of a piece goes along the output: only then is it one of vectors. */
static bool along(const moves *m)
{
    bool some = false;
    for (int i = 0; i < m->n; i++) {
        const pattern_loops *l = &m->piece[i].loops;
        some = some || l->rank == 0 || l->stride[MOVES_OUT][l->rank - 1] == 1;
    }
    return some;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    moves m;
    ordered(task->call, config, &m);
    const int64_t size = pattern_bytes(task->call->output[0].dtype);
    const int64_t vectors = optune_config_int(config, "vectors");
    const int64_t bytes = vectors * moves_lanes(task) * size;
    const bool stream = strcmp(optune_config_word(config, "store"), "stream") == 0;
    if (vectors > 1 && bytes > moves_longest(task, &m))
        return optune_refuse(why, "%" PRId64 " bytes at a time are more than a row", bytes);
    if (vectors == 0 && (stream || optune_config_int(config, "prefetch")))
        return optune_refuse(why, "loops left to the compiler neither stream nor prefetch");
    if (vectors > 0 && !along(&m))
        return optune_refuse(why, "in this order no loop goes along the output");
    if (stream && (bytes % 64 != 0 || moves_longest(task, &m) < 512))
        return optune_refuse(why, "rows or blocks are too short to stream");
    return true;
}

/* Lines, one for each step of so many bytes, that the first-level cache keeps: what maps to one
 * place it keeps eight times, as nearly all do. */
static int64_t lines_kept(const optune_task *task, int64_t step)
{
    enum { LINE = 64, WAYS = 8 };
    const int64_t way = (task->device->l1 > 0 ? task->device->l1 : 32 << 10) / WAYS;
    int64_t common = step < 0 ? -step : step, rest = way;
    while (rest) {
        const int64_t next = common % rest;
        common = rest;
        rest = next;
    }
    return way / (common > LINE ? common : LINE) * WAYS;
}

/* Rows along the output read a line for each element, which is kept until the next rows need it or
 * is read again and again. The other way round each element written is of another line: better
 * where these are kept and those are not. */
static bool along_the_input(const optune_task *task, const pattern_loops *l)
{
    const int inner = l->rank - 1, outer = l->rank - 2;
    const int64_t size = pattern_bytes(task->call->output[0].dtype);
    const int64_t read = l->stride[MOVES_IN][inner] * size;
    const int64_t written = l->stride[MOVES_OUT][outer] * size;
    return l->stride[MOVES_OUT][inner] == 1 && l->stride[MOVES_IN][outer] == 1 &&
           (read >= 64 || read <= -64) && l->extent[inner] > lines_kept(task, read) &&
           l->extent[outer] <= lines_kept(task, written);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    moves m;
    moves_of(task->call, &m);
    const int rank = loops_of(task->call, &m);
    if (rank && along_the_input(task, main_loops(&m))) {
        int64_t order[OPTUNE_MAX_AXES];
        for (int d = 0; d < rank; d++)
            order[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
        optune_config_choose_list(config, space, "order", order);
        return;
    }
    if (!moves_large(task) || moves_longest(task, &m) < 4096)
        return;
    optune_config_choose_int(config, space, "vectors", 4);
    if (4 * moves_lanes(task) * pattern_bytes(task->call->output[0].dtype) % 64 == 0)
        optune_config_choose_word(config, space, "store", "stream");
}

/* Pieces in terms of S0 ..., which are arguments behind those of every move: what is joined at any
 * size, polynomials, or what a slice is at any size. */
static void define_varying(const optune_call *call, optune_plan *plan, int module,
                           optune_stage *stage)
{
    char name[24], text[48];
    const generic_symbols symbols = generic_symbols_of(call);
    const int joined = join_rows_pieces(call);
    piece_polys *polys = joined ? NULL : malloc(sizeof *polys);
    const bool fits = polys && piece_polys_of(call, POLYS_ROWS, polys);
    optune_plan_define(plan, module, "VARIES", 1);
    moves_define_element(plan, module, call,
                         joined ? joined
                         : fits ? polys->n
                                : 1,
                         fits ? polys->fill : 0);
    for (int k = 0; k < symbols.n; k++) {
        snprintf(name, sizeof name, "S%d", k);
        snprintf(text, sizeof text, "(*(const i64 *)arg[%d])", stage->n_args);
        optune_plan_define_text(plan, module, name, text);
        stage->arg[stage->n_args++] = optune_dim_arg(symbols.at[k].input, symbols.at[k].dim);
    }
    for (int i = 0; fits && i < polys->n; i++) {
        snprintf(name, sizeof name, "PIECE%d", i);
        optune_plan_define_text(plan, module, name, polys->piece[i]);
    }
    if (joined)
        join_rows_define(call, plan, module);
    else if (!fits && slice_rows_apply(call))
        slice_rows_define(call, plan, module);
    free(polys);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_stage stage = moves_stage_of(module, call);
    if (pattern_known(call, NULL)) {
        moves m;
        ordered(call, config, &m);
        moves_define(plan, module, call, &m);
    } else {
        define_varying(call, plan, module, &stage);
    }
    optune_plan_define(plan, module, "BLOCK",
                       optune_config_int(config, "vectors") * moves_lanes(task));
    optune_plan_define(plan, module, "STREAM",
                       strcmp(optune_config_word(config, "store"), "stream") == 0);
    optune_plan_define(plan, module, "AHEAD", optune_config_int(config, "prefetch"));
    optune_plan_define(plan, module, "TASK", optune_config_int(config, "task"));
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(move, rows) = {
    .name = "rows.cpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "copies rows along the output",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
