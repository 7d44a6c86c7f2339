/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/moves_gpu.h declares. */
#include "kernels/move/moves_gpu.h"

const char *moves_bits(int64_t bytes)
{
    return bytes == 1 ? "unsigned char" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

uint64_t moves_fill_bits(optune_dtype dtype, double fill)
{
    uint64_t bits = 0;
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64) {
        memcpy(&bits, &fill, sizeof(fill));
    } else if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32) {
        const float value = (float)fill;
        memcpy(&bits, &value, sizeof(value));
    } else {
        bits = fill < 0 ? (uint64_t)(int64_t)fill : (uint64_t)fill;
    }
    return dtype.bits < 64 ? bits & (((uint64_t)1 << dtype.bits) - 1) : bits;
}

bool moves_gpu_applies(const optune_task *task, char *why)
{
    enum { MOST = 24 };
    if (!moves_applies(task, why))
        return false;
    moves m;
    moves_of(task->call, &m);
    return m.n <= MOST || optune_refuse(why, "is for at most %d pieces of an output", MOST);
}

static int64_t moves_elements(const moves_piece *p);

/* The longest vector, of at most 16 bytes, that a piece of rows can be moved by. */
static int64_t moves_vector(const moves_piece *p, int64_t most)
{
    const pattern_loops *l = &p->loops;
    const int last = l->rank - 1;
    int64_t v = most;
    for (int t = p->mode == MOVES_FILL ? MOVES_OUT : MOVES_IN; t <= MOVES_OUT; t++) {
        if (l->stride[t][last] != 1)
            return 1;
        while ((t == MOVES_IN ? p->in_offset : p->out_offset) % v != 0)
            v /= 2;
        for (int d = 0; d < last; d++)
            while (l->stride[t][d] % v != 0)
                v /= 2;
    }
    while (l->extent[last] % v != 0)
        v /= 2;
    return v;
}

int64_t moves_longest_vector(const optune_task *task, const moves *m)
{
    const int64_t most = 16 / pattern_bytes(task->call->output[0].dtype);
    int64_t v = 1;
    for (int i = 0; i < m->n; i++)
        if (m->piece[i].mode != MOVES_TILES && moves_vector(&m->piece[i], most) > v)
            v = moves_vector(&m->piece[i], most);
    return v;
}

bool moves_gpu_odd(const optune_task *task, char *why)
{
    moves m;
    moves_of(task->call, &m);
    const int64_t bytes = pattern_bytes(task->call->output[0].dtype);
    double odd = 0;
    for (int i = 0; i < m.n; i++)
        if (moves_vector(&m.piece[i], 16 / bytes) * bytes < 16)
            odd += (double)moves_elements(&m.piece[i]);
    return odd * 8 >= (double)optune_tensor_elements(&task->call->output[0]) ||
           optune_refuse(why, "nearly all of it is moved in vectors of 16 bytes");
}

/* Neighbours in rows and columns that can be packed, `most` or less. */
static int64_t moves_pack(const moves_piece *p, int64_t most)
{
    const pattern_loops *l = &p->loops;
    const int last = l->rank - 1;
    int64_t v = host_max(most, 1);
    while (p->in_offset % v || p->out_offset % v || l->extent[last] % v ||
           l->extent[last - 1] % v)
        v /= 2;
    for (int d = 0; d <= last; d++)
        while ((d != last - 1 && l->stride[MOVES_IN][d] % v) ||
               (d != last && l->stride[MOVES_OUT][d] % v))
            v /= 2;
    return v;
}

moves_tile_size moves_tile_size_of(const moves_piece *p, const moves_launch *by)
{
    const pattern_loops *l = &p->loops;
    const int64_t rows = gpu_power2(l->extent[l->rank - 2]);
    const int64_t cols = gpu_power2(l->extent[l->rank - 1]), all = by->tile * by->tile;
    moves_tile_size t = {by->tile, by->tile, moves_pack(p, by->pack)};
    if (cols < by->tile) {
        t.cols = cols;
        t.rows = host_min(all / cols, rows);
    } else if (rows < by->tile) {
        t.rows = rows;
        t.cols = host_min(all / rows, cols);
    }
    return t;
}

/* Bytes of shared memory that the tiles of any piece take. */
static int64_t moves_shared(const moves *m, const moves_launch *by, int64_t bytes)
{
    int64_t most = 0;
    for (int i = 0; i < m->n; i++)
        if (by->tile && m->piece[i].mode == MOVES_TILES) {
            const moves_tile_size t = moves_tile_size_of(&m->piece[i], by);
            most = host_max(most, t.rows * (t.cols + t.pack) * bytes);
        }
    return most;
}

static int64_t moves_elements(const moves_piece *p)
{
    int64_t n = 1;
    for (int d = 0; d < p->loops.rank; d++)
        n *= p->loops.extent[d];
    return n;
}

static int64_t moves_blocks(const moves_piece *p, const moves_launch *by)
{
    const pattern_loops *l = &p->loops;
    if (p->mode == MOVES_TILES) {
        const int64_t rows = l->extent[l->rank - 2], cols = l->extent[l->rank - 1];
        const moves_tile_size t = moves_tile_size_of(p, by);
        return moves_elements(p) / (rows * cols) * host_ceil(rows, t.rows) *
               host_ceil(cols, t.cols);
    }
    const int64_t items = moves_elements(p) / moves_vector(p, by->vector);
    return host_ceil(items, by->threads * by->each);
}

static int64_t moves_all_blocks(const moves *m, const moves_launch *by)
{
    int64_t n = 0;
    for (int i = 0; i < m->n; i++)
        n += moves_blocks(&m->piece[i], by);
    return n;
}

/* PIECEn, a use of the body's macro ROWS, FILL or LOAD, and STOREn, one of STORE or nothing, with
 * the blocks first .. end. */
static void moves_define_piece(optune_plan *plan, int module, const optune_call *call,
                               const moves *m, int i, int64_t first, const moves_launch *by)
{
    const moves_piece *p = &m->piece[i];
    const pattern_loops *l = &p->loops;
    const bool tiles = p->mode == MOVES_TILES;
    const int64_t end = first + moves_blocks(p, by),
                  v = tiles ? 1 : moves_vector(p, by->vector);
    char name[24], text[160], stores[160] = "";
    const int outer = tiles ? l->rank - 2 : l->rank, last = l->rank - 1;
    snprintf(name, sizeof(name), "FROM%d", i);
    gpu_define_offset(plan, module, name, "i", outer, l->extent, l->stride[MOVES_IN],
                      p->in_offset);
    snprintf(name, sizeof(name), "TO%d", i);
    gpu_define_offset(plan, module, name, "i", outer, l->extent, l->stride[MOVES_OUT],
                      p->out_offset);
    if (tiles) {
        const char *const tile = "%s(%" PRId64 ", %" PRId64 ", %s%d, %" PRId64 ", %" PRId64
                                 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ")";
        const moves_tile_size t = moves_tile_size_of(p, by);
        char what[32];
        snprintf(what, sizeof(what), "in%d, FROM", p->input);
        snprintf(text, sizeof(text), tile, "LOAD", first, end, what, i, l->extent[last - 1],
                 l->extent[last], l->stride[MOVES_IN][last], t.rows, t.cols, t.pack);
        snprintf(stores, sizeof(stores), tile, "STORE", first, end, "TO", i,
                 l->extent[last - 1], l->extent[last], l->stride[MOVES_OUT][last - 1], t.rows,
                 t.cols, t.pack);
    } else if (p->mode == MOVES_FILL)
        snprintf(text, sizeof(text),
                 "FILL(%" PRId64 ", %" PRId64 ", 0x%" PRIx64 ", TO%d, %" PRId64 ", %" PRId64
                 ")",
                 first, end, moves_fill_bits(call->output[0].dtype, p->fill), i, v,
                 moves_elements(p) / v);
    else
        snprintf(text, sizeof(text),
                 "ROWS(%" PRId64 ", %" PRId64 ", in%d, FROM%d, TO%d, %" PRId64 ", %" PRId64 ")",
                 first, end, p->input, i, i, v, moves_elements(p) / v);
    snprintf(name, sizeof(name), "PIECE%d", i);
    optune_plan_define_text(plan, module, name, text);
    snprintf(name, sizeof(name), "STORE%d", i);
    optune_plan_define_text(plan, module, name, stores);
}

void moves_gpu_plan(const optune_task *task, optune_plan *plan, const moves *m,
                    const moves_launch *by)
{
    const optune_call *call = task->call;
    const int64_t bytes = pattern_bytes(call->output[0].dtype);
    const int module = optune_plan_module(plan);
    int64_t first = 0;
    for (int i = 0; i < m->n; i++) {
        moves_define_piece(plan, module, call, m, i, first, by);
        first += moves_blocks(&m->piece[i], by);
    }
    gpu_define_index(plan, module, call);
    optune_plan_define_text(plan, module, "ELEMENT", moves_bits(bytes));
    optune_plan_define(plan, module, "INPUTS", call->n_inputs);
    optune_plan_define(plan, module, "PIECES", m->n);
    optune_plan_define(plan, module, "THREADS", by->threads);
    optune_plan_define(plan, module, "EACH", by->each);
    optune_plan_define(plan, module, "TILE", by->tile);
    optune_plan_define(plan, module, "BITS", 8 * bytes);
    optune_plan_define(plan, module, "POOL_BYTES", moves_shared(m, by, bytes));
    for (int64_t n = 1; n <= host_max(by->pack, 1); n *= 2) {
        char name[24];
        snprintf(name, sizeof(name), "WORD%" PRId64, n);
        optune_plan_define_text(plan, module, name, moves_bits(n * bytes));
    }
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "move",
                          .grid = {first},
                          .block = {by->threads},
                          .shared = moves_shared(m, by, bytes)};
    stage.arg[stage.n_args++] = optune_output_arg(0);
    for (int i = 0; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    optune_plan_stage(plan, &stage);
}

/* What one piece adds to the launch, whose blocks do their pieces one by one. */
static void moves_piece_work(const moves_piece *p, const moves_launch *by, int64_t bytes,
                             double *instructions, double *moved)
{
    const pattern_loops *l = &p->loops;
    const double elements = (double)moves_elements(p);
    const bool tiles = p->mode == MOVES_TILES;
    const int64_t v = tiles ? 1 : moves_vector(p, by->vector);
    const double items = elements / (double)v;
    for (int t = p->mode == MOVES_FILL ? MOVES_OUT : MOVES_IN; t <= MOVES_OUT; t++) {
        const int64_t step = l->stride[t][l->rank - 1];
        if (tiles) { /* a row of the tile at a time, which begins anywhere */
            const moves_tile_size size = moves_tile_size_of(p, by);
            const int64_t run = t == MOVES_IN ? size.rows : size.cols;
            *moved += gpu_sectors(elements / (double)run, run * bytes);
        } else if (step == 0 || step == 1)
            *moved += elements * (double)bytes;
        else /* a sector for each, some of which a cache still has */
            *moved += gpu_sectors(items, host_min(step * bytes, 32)) / 2;
    }
    const double pack = tiles ? (double)moves_tile_size_of(p, by).pack : 1;
    *instructions += items * (!tiles     ? 12 + 5 * (double)l->rank
                              : pack > 1 ? 4 + 12 / pack
                                         : 16);
}

double moves_gpu_estimate(const optune_task *task, const moves *m, const moves_launch *by)
{
    const int64_t bytes = pattern_bytes(task->call->output[0].dtype);
    const int64_t blocks = host_max(moves_all_blocks(m, by), 1);
    const double threads = (double)blocks * (double)by->threads;
    double instructions = 0, moved = 0, each = 1;
    for (int i = 0; i < m->n; i++)
        moves_piece_work(&m->piece[i], by, bytes, &instructions, &moved);
    if (by->tile)
        each = (double)(by->tile * by->tile) / (double)by->threads;
    const gpu_work w = {
        .blocks = blocks,
        .threads = by->threads,
        .registers = 24,
        .shared = moves_shared(m, by, bytes),
        .instructions = instructions / threads + 20,
        .bytes = moved / (double)blocks,
        .waits = by->tile ? 1 + each / 16 : 1 + (double)by->each / 8,
        .barriers = by->tile ? 1 : 0,
    };
    return gpu_cost(task, &w);
}

bool moves_gpu_fits(const optune_task *task, const moves *m, const moves_launch *by, char *why)
{
    const int64_t bytes = pattern_bytes(task->call->output[0].dtype);
    return gpu_grid_fits(moves_all_blocks(m, by), why) &&
           gpu_fits(task, (const int64_t[]){by->threads, 1, 1}, moves_shared(m, by, bytes), 24,
                    why);
}
