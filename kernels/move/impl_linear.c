/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_linear.gpu: threads along the whole output, each element from the piece it lies in. Where
 * rows of pieces are odd, so that they begin and end within what memory moves at once, the output
 * is still written in order and in whole lines.
 */
#include "kernels/move/moves_gpu.h"

enum { LINEAR_PIECES = 8, LINEAR_TEXT = 256 /* of a macro */ };

/* The output by the coordinates of all pieces: how far apart elements are along each, innermost
 * last. */
typedef struct linear {
    int rank;
    int64_t elements, step[OPTUNE_MAX_AXES + 1];
} linear;

/* One piece as a box of these. */
typedef struct box {
    int64_t first[OPTUNE_MAX_AXES + 1], extent[OPTUNE_MAX_AXES + 1], in[OPTUNE_MAX_AXES + 1];
} box;

static int64_t length_of(const linear *l, int d)
{
    return (d > 0 ? l->step[d - 1] : l->elements) / l->step[d];
}

static bool add_step(linear *l, int64_t step)
{
    int at = 0;
    while (at < l->rank && l->step[at] > step)
        at++;
    if (at < l->rank && l->step[at] == step)
        return true;
    if (l->rank > OPTUNE_MAX_AXES)
        return false;
    memmove(&l->step[at + 1], &l->step[at], (size_t)(l->rank - at) * sizeof(l->step[0]));
    l->step[at] = step;
    l->rank++;
    return true;
}

static bool linear_of(const optune_call *call, const moves *m, linear *l)
{
    *l = (linear){.elements = optune_tensor_elements(&call->output[0])};
    bool fits = add_step(l, 1);
    for (int i = 0; i < m->n && fits; i++)
        for (int d = 0; d < m->piece[i].loops.rank && fits; d++)
            fits = m->piece[i].loops.extent[d] == 1 ||
                   (m->piece[i].loops.stride[MOVES_OUT][d] > 0 &&
                    add_step(l, m->piece[i].loops.stride[MOVES_OUT][d]));
    for (int d = 0; d < l->rank && fits; d++)
        fits = (d > 0 ? l->step[d - 1] : l->elements) % l->step[d] == 0;
    return fits;
}

/* A loop that runs through several of another piece's coordinates is cut where those turn. */
static bool box_of(const linear *l, const moves_piece *p, box *b)
{
    *b = (box){.extent = {0}};
    for (int d = 0; d < l->rank; d++) {
        b->first[d] = p->out_offset / l->step[d] % length_of(l, d);
        b->extent[d] = 1;
    }
    for (int d = 0; d < p->loops.rank; d++)
        for (int k = 0; k < l->rank; k++)
            if (p->loops.extent[d] > 1 && p->loops.stride[MOVES_OUT][d] == l->step[k]) {
                b->extent[k] = p->loops.extent[d];
                b->in[k] = p->loops.stride[MOVES_IN][d];
            }
    for (int d = l->rank - 1; d >= 0; d--) {
        const int64_t length = length_of(l, d);
        if (b->first[d] + b->extent[d] <= length)
            continue;
        if (d == 0 || b->first[d] || b->extent[d] % length || b->extent[d - 1] > 1)
            return false;
        b->extent[d - 1] = b->extent[d] / length;
        b->in[d - 1] = b->in[d] * length;
        b->extent[d] = length;
    }
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "vector", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
}

static int64_t blocks_of(const optune_task *task, const optune_config *config)
{
    return host_ceil(optune_tensor_elements(&task->call->output[0]),
                     optune_config_int(config, "threads") *
                         optune_config_int(config, "vector") *
                         optune_config_int(config, "each"));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t each = optune_config_int(config, "each");
    const int64_t threads = optune_config_int(config, "threads");
    if (vector * pattern_bytes(task->call->output[0].dtype) > 16)
        return optune_refuse(why, "vectors of more than 16 bytes");
    return gpu_grid_fits(blocks_of(task, config), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 16 + each * vector, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    moves m;
    moves_of(task->call, &m);
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t each = optune_config_int(config, "each");
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t bytes = pattern_bytes(task->call->output[0].dtype);
    const double values = (double)(each * vector);
    const gpu_work w = {
        .blocks = blocks_of(task, config),
        .threads = threads,
        .registers = 16 + each * vector,
        .instructions = 20 + values * (14 + 5 * (double)m.n),
        .bytes = 2 * values * (double)(threads * bytes),
        .waits = 1,
        .pipe = (double)threads / 32 * values * host_max((double)(vector * bytes) / 4, 1),
    };
    return gpu_cost(task, &w);
}

/* As many bytes a thread as keep its neighbours' loads in one line. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const int64_t vector = host_max(4 / pattern_bytes(task->call->output[0].dtype), 1);
    const int64_t threads = gpu_threads(task, 256);
    const int64_t waves = optune_tensor_elements(&task->call->output[0]) /
                          (vector * threads * gpu_cores(task));
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "vector", vector);
    optune_config_choose_int(config, space, "each", waves >= 64 ? 4 : 1);
}

/* Both texts: their length, which may be more than there was room for. */
#define ADD(...)                                                                               \
    (at += snprintf(text + host_min(at, LINEAR_TEXT - 1),                                      \
                    (size_t)(LINEAR_TEXT - host_min(at, LINEAR_TEXT - 1)), __VA_ARGS__))

/* `x` becomes what lies at the coordinates where they are in piece n, else what a later one says:
 * the last is not asked. */
static int piece_text(char text[LINEAR_TEXT], const optune_call *call, const moves *m,
                      const linear *l, int n)
{
    const moves_piece *p = &m->piece[n];
    const bool last = n + 1 == m->n;
    int64_t from = p->in_offset;
    int at = 0;
    box b;
    box_of(l, p, &b);
    if (!last)
        ADD("if (1");
    for (int d = 0; d < l->rank && !last; d++) {
        if (b.first[d] > 0)
            ADD(" && c%d >= %" PRId64, d, b.first[d]);
        if (b.first[d] + b.extent[d] < length_of(l, d))
            ADD(" && c%d < %" PRId64, d, b.first[d] + b.extent[d]);
    }
    if (!last)
        ADD(") ");
    if (p->mode == MOVES_FILL) {
        ADD("x = (ELEMENT)0x%" PRIx64 ";", moves_fill_bits(call->output[0].dtype, p->fill));
    } else {
        for (int d = 0; d < l->rank; d++)
            from -= b.first[d] * b.in[d];
        ADD("x = in%d[(INDEX)(%" PRId64, p->input, from);
        for (int d = 0; d < l->rank; d++)
            if (b.in[d])
                ADD(" + c%d * (INDEX)(%" PRId64 ")", d, b.in[d]);
        ADD(")];");
    }
    if (!last)
        ADD(" else");
    return at;
}

/* c0 ... of element `o` and `more` behind it in its row. */
static int coordinates_text(char text[LINEAR_TEXT], const linear *l)
{
    const int last = l->rank - 1;
    int at = 0;
    for (int d = 0; d < last; d++)
        ADD("const INDEX c%d = o / %" PRId64 " %% %" PRId64 "; ", d, l->step[d],
            length_of(l, d));
    ADD("const INDEX c%d = o %% %" PRId64 " + more;", last, length_of(l, last));
    return at;
}

static bool applies(const optune_task *task, char *why)
{
    if (!moves_gpu_applies(task, why))
        return false;
    moves m;
    moves_of(task->call, &m);
    linear l;
    box b;
    char text[LINEAR_TEXT];
    if (m.n > LINEAR_PIECES)
        return optune_refuse(why, "is for at most %d pieces of an output", LINEAR_PIECES);
    bool fits = linear_of(task->call, &m, &l);
    for (int i = 0; i < m.n && fits; i++)
        fits = box_of(&l, &m.piece[i], &b);
    if (!fits)
        return optune_refuse(why, "its pieces are no boxes of the output");
    for (int i = 0; i < m.n && fits; i++)
        fits = piece_text(text, task->call, &m, &l, i) < LINEAR_TEXT;
    return (fits && coordinates_text(text, &l) < LINEAR_TEXT) ||
           optune_refuse(why, "its pieces have too many dims");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    moves m;
    moves_of(call, &m);
    linear l;
    linear_of(call, &m, &l);
    const int module = optune_plan_module(plan);
    const int64_t vector = optune_config_int(config, "vector");
    char name[24], text[LINEAR_TEXT];
    for (int i = 0; i < m.n; i++) {
        piece_text(text, call, &m, &l, i);
        snprintf(name, sizeof(name), "CHOOSE%d", i);
        optune_plan_define_text(plan, module, name, text);
    }
    coordinates_text(text, &l);
    optune_plan_define_text(plan, module, "COORDINATES", text);
    optune_plan_define(plan, module, "PIECES", m.n);
    gpu_define_index(plan, module, call);
    optune_plan_define_text(plan, module, "ELEMENT",
                            moves_bits(pattern_bytes(call->output[0].dtype)));
    optune_plan_define(plan, module, "INPUTS", call->n_inputs);
    optune_plan_define(plan, module, "ELEMENTS", l.elements);
    optune_plan_define(plan, module, "TURNS", length_of(&l, l.rank - 1) % vector != 0);
    optune_plan_define(plan, module, "THREADS", optune_config_int(config, "threads"));
    optune_plan_define(plan, module, "V", vector);
    optune_plan_define(plan, module, "EACH", optune_config_int(config, "each"));
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "move",
                          .grid = {blocks_of(task, config)},
                          .block = {optune_config_int(config, "threads")}};
    stage.arg[stage.n_args++] = optune_output_arg(0);
    for (int i = 0; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(move, linear) = {
    .name = "linear.gpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "threads along the output, each element from its piece",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
