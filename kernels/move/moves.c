/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/moves.h declares. */
#include "kernels/move/moves.h"

#include "kernels/move/piece_boxes.h"

/* Any element that is moved as it is. */
static const char *moves_type(optune_dtype dtype)
{
    const char *type = pattern_c_type(dtype);
    return type ? type : dtype.bits == 16 && dtype.lanes <= 1 ? "unsigned short" : NULL;
}

static void moves_swap(pattern_loops *l, int a, int b)
{
    const int64_t extent = l->extent[a];
    l->extent[a] = l->extent[b];
    l->extent[b] = extent;
    for (int t = 0; t < l->tensors; t++) {
        const int64_t stride = l->stride[t][a];
        l->stride[t][a] = l->stride[t][b];
        l->stride[t][b] = stride;
    }
}

static void moves_of_piece(const optune_piece *p, moves_piece *m)
{
    m->input = p->input;
    m->mode = p->input < 0 ? MOVES_FILL : MOVES_ROWS;
    m->fill = p->fill;
    m->in_offset = p->in_offset;
    m->out_offset = p->out_offset;
    pattern_loops *l = &m->loops;
    l->rank = p->rank;
    l->tensors = 2;
    for (int d = 0; d < p->rank; d++) {
        l->extent[d] = p->extent[d];
        l->stride[MOVES_IN][d] = p->input < 0 ? 0 : p->in_stride[d];
        l->stride[MOVES_OUT][d] = p->out_stride[d];
    }
    for (int d = 1; d < l->rank; d++)
        for (int e = d; e > 0 && l->stride[MOVES_OUT][e - 1] < l->stride[MOVES_OUT][e]; e--)
            moves_swap(l, e, e - 1);
    pattern_loops_collapse(l);
    if (l->rank == 0) {
        l->rank = 1;
        l->extent[0] = l->stride[MOVES_IN][0] = l->stride[MOVES_OUT][0] = 1;
    }
}

void moves_settle(optune_piece *p)
{
    moves_piece m;
    moves_of_piece(p, &m);
    p->rank = m.loops.rank;
    for (int d = 0; d < p->rank; d++) {
        p->extent[d] = m.loops.extent[d];
        p->in_stride[d] = m.loops.stride[MOVES_IN][d];
        p->out_stride[d] = m.loops.stride[MOVES_OUT][d];
    }
}

/* The largest sizes, nearly, that the types allow and whose elements can be counted. */
static int pieces_at_most(const optune_call *call, optune_piece *piece)
{
    const generic_symbols symbols = generic_symbols_of(call);
    int64_t size[GENERIC_SYMBOLS + 1];
    int n = -1;
    for (int less = 0; less < 64 + 62 && n < 0; less++) {
        for (int k = 0; k < symbols.n; k++) {
            const optune_dim *dim =
                &call->input[symbols.at[k].input].type.dim[symbols.at[k].dim];
            const int64_t most = less < 64 ? dim->max - less : dim->max >> (less - 63);
            size[k] = most > dim->min ? most : dim->min;
        }
        n = piece_boxes_ask(call, &symbols, size, piece);
    }
    return n < 0 ? 0 : n;
}

void moves_of(const optune_call *call, moves *to)
{
    optune_piece piece[OPTUNE_MAX_PIECES];
    const int n = pattern_known(call, NULL) ? call->op->pieces(call, piece)
                                            : pieces_at_most(call, piece);
    to->n = 0;
    for (int i = 0; i < n; i++) {
        bool empty = false;
        for (int d = 0; d < piece[i].rank; d++)
            empty = empty || piece[i].extent[d] == 0;
        if (!empty)
            moves_of_piece(&piece[i], &to->piece[to->n++]);
    }
}

/* The loop along which the input is contiguous while another one is along the output; -1: none,
 * or one of them is shorter than `least`. */
static int moves_across(const moves_piece *p, int64_t least)
{
    const pattern_loops *l = &p->loops;
    const int last = l->rank - 1;
    if (p->mode == MOVES_FILL || l->stride[MOVES_OUT][last] != 1 ||
        l->stride[MOVES_IN][last] == 1 || l->extent[last] < least)
        return -1;
    for (int d = 0; d < last; d++)
        if (l->stride[MOVES_IN][d] == 1 && l->extent[d] >= least)
            return d;
    return -1;
}

bool moves_tile(moves_piece *p, int64_t least)
{
    int d = moves_across(p, least);
    if (d < 0)
        return false;
    for (; d < p->loops.rank - 2; d++)
        moves_swap(&p->loops, d, d + 1);
    p->mode = MOVES_TILES;
    return true;
}

bool moves_applies(const optune_task *task, char *why)
{
    return pattern_known(task->call, why) && moves_most_apply(task, why);
}

bool moves_most_apply(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    for (int d = 0; d < call->output[0].rank; d++)
        if (call->output[0].dim[d].max < 1)
            return optune_refuse(why, "has no elements to move");
    if (!moves_type(call->output[0].dtype))
        return optune_refuse(why, "has no C type for the dtype of the call");
    moves m;
    moves_of(call, &m);
    double fill = 0;
    for (int i = 0; i < m.n; i++) {
        if (m.piece[i].loops.rank > MOVES_MOST_LOOPS)
            return optune_refuse(why, "needs more than %d loops", MOVES_MOST_LOOPS);
        if (m.piece[i].mode == MOVES_FILL && m.piece[i].fill != 0) {
            if ((fill != 0 && fill != m.piece[i].fill) ||
                !pattern_c_type(call->output[0].dtype))
                return optune_refuse(why, "fills with a value that it cannot write");
            fill = m.piece[i].fill;
        }
    }
    return true;
}

void moves_define_element(optune_plan *plan, int module, const optune_call *call, int pieces,
                          double fill)
{
    char text[48];
    optune_plan_define_text(plan, module, "ELEMENT", moves_type(call->output[0].dtype));
    optune_plan_define(plan, module, "ELEMENT_BYTES", pattern_bytes(call->output[0].dtype));
    optune_plan_define(plan, module, "PIECES", pieces);
    snprintf(text, sizeof(text), "((ELEMENT)%.17g)", fill);
    optune_plan_define_text(plan, module, "FILL", text);
}

void moves_define(optune_plan *plan, int module, const optune_call *call, const moves *m)
{
    char name[24], text[256];
    double fill = 0;
    optune_plan_define(plan, module, "VARIES", 0);
    for (int i = 0; i < m->n; i++) {
        const moves_piece *p = &m->piece[i];
        int at = snprintf(text, sizeof(text), "{%d, %d, %" PRId64 ", %" PRId64 ", %d", p->mode,
                          p->input, p->in_offset, p->out_offset, p->loops.rank);
        for (int d = 0; d < p->loops.rank; d++)
            at += snprintf(text + at, sizeof(text) - (size_t)at,
                           ", %" PRId64 ", %" PRId64 ", %" PRId64, p->loops.extent[d],
                           p->loops.stride[MOVES_IN][d], p->loops.stride[MOVES_OUT][d]);
        snprintf(text + at, sizeof(text) - (size_t)at, "}");
        snprintf(name, sizeof(name), "PIECE%d", i);
        optune_plan_define_text(plan, module, name, text);
        fill = p->fill != 0 ? p->fill : fill;
    }
    moves_define_element(plan, module, call, m->n, fill);
}

optune_stage moves_stage_of(int module, const optune_call *call)
{
    optune_stage stage = {.phase = OPTUNE_TIMED, .module = module, .function = "move"};
    stage.arg[stage.n_args++] = optune_output_arg(0);
    for (int i = 0; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    return stage;
}

void moves_stage(optune_plan *plan, int module, const optune_call *call)
{
    const optune_stage stage = moves_stage_of(module, call);
    optune_plan_stage(plan, &stage);
}

int64_t moves_longest(const optune_task *task, const moves *m)
{
    int64_t most = 0;
    for (int i = 0; i < m->n; i++) {
        const pattern_loops *l = &m->piece[i].loops;
        const bool along = l->stride[MOVES_OUT][l->rank - 1] == 1;
        if (along && l->extent[l->rank - 1] > most)
            most = l->extent[l->rank - 1];
    }
    return most * pattern_bytes(task->call->output[0].dtype);
}
