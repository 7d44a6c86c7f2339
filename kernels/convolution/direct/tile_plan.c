/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/direct/tile_plan.h declares. */
#include "kernels/convolution/direct/tile_plan.h"

int64_t conv2d_divisor(int64_t n, int64_t limit)
{
    for (int64_t d = host_min(n, limit); d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

static bool conv2d_pads_rows(const conv2d_shape *s)
{
    if (s->any_h) /* for some size the last row may need what lies below */
        return s->pt > 0 || s->pb > 0;
    return s->pt > 0 || (s->oh - 1) * s->sh - s->pt + (s->kh - 1) * s->dh >= s->h;
}

bool conv2d_clips(const conv2d_shape *s, int64_t th, int64_t tw)
{
    const int64_t tiles = host_ceil(s->ow, tw);
    if (th > 1 && conv2d_pads_rows(s))
        return false;
    return tiles == 1 || (tw * s->sw >= s->pl &&
                          ((tiles - 1) * tw - 1) * s->sw - s->pl + (s->kw - 1) * s->dw < s->w);
}

static int64_t conv2d_tile_copy_size(const conv2d_shape *s, const conv2d_tile *t)
{
    const int64_t block = s->data_block ? s->data_block : 1;
    const int64_t blocks =
        s->ci_g % block == 0 ? s->ci_g / block : (s->ci_g + 2 * block - 2) / block;
    return blocks * block * ((t->oh_block - 1) * s->sh + (s->kh - 1) * s->dh + 1) *
           ((s->ow - 1) * s->sw + (s->kw - 1) * s->dw + 1);
}

/* Elements that one thread works in, as planned below. */
static int64_t conv2d_tile_scratch(const conv2d_shape *s, const conv2d_tile *t)
{
    const int64_t oct = t->ov * t->vec_bytes / conv2d_elem(s);
    const int64_t tiles = host_ceil(s->co_g, oct), rows = host_min(t->oh_block, s->oh);
    const conv2d_tile sized = {.oh_block = rows};
    return (t->ic_chunk < s->ci_g ? host_min(t->ot_chunk, tiles) * rows * s->ow * oct : 0) +
           (t->copy ? conv2d_tile_copy_size(s, &sized) : 0);
}

bool conv2d_tile_scratch_fits(const optune_task *task, const conv2d_shape *s,
                              const conv2d_tile *t)
{
    const conv2d_tile row = {.oh_block = 1};
    const int64_t threads = task->device->threads > 0 ? task->device->threads : 1;
    const int64_t bytes = conv2d_tile_scratch(s, t) * conv2d_elem(s) * threads;
    return bytes <= (int64_t)1 << 30 ||
           (t->oh_block <= t->th &&
            conv2d_tile_scratch(s, t) <= conv2d_tile_copy_size(s, &row));
}

bool conv2d_tile_valid(const optune_task *task, const conv2d_shape *s, const conv2d_tile *t,
                       char *why)
{
    const int64_t registers = conv2d_registers(task);
    const int64_t sums = t->ov * t->th * t->tw;
    if (sums + t->ov + 1 > registers)
        return optune_refuse(why, "%lld sums and %lld weights do not fit %lld vector registers",
                             (long long)sums, (long long)t->ov, (long long)registers);
    if (t->oh_block % t->th && t->oh_block < s->oh)
        return optune_refuse(why, "blocks of %lld rows do not hold whole tiles of %lld",
                             (long long)t->oh_block, (long long)t->th);
    if (!t->copy && !conv2d_clips(s, t->th, t->tw))
        return optune_refuse(why, "tiles of %lldx%lld pixels cannot clip this padding",
                             (long long)t->th, (long long)t->tw);
    return conv2d_tile_scratch_fits(task, s, t) ||
           optune_refuse(why, "needs more than 1 GiB of scratch");
}

int conv2d_add_value(int64_t *list, int n, int64_t v)
{
    int at = n;
    while (at > 0 && list[at - 1] > v)
        at--;
    if (v < 1 || (at > 0 && list[at - 1] == v))
        return n;
    memmove(list + at + 1, list + at, (size_t)(n - at) * sizeof *list);
    list[at] = v;
    return n + 1;
}

int conv2d_add_shares(const optune_task *task, int64_t *list, int count, int64_t n,
                      int64_t unit)
{
    const int64_t threads = host_threads(task);
    for (int64_t parts = threads > 1 ? 4 * threads : 1; parts > 1; parts /= 2) {
        const int64_t each = host_ceil(host_ceil(n, unit), parts) * unit;
        count = each < n ? conv2d_add_value(list, count, each) : count;
    }
    return count;
}

double conv2d_tile_cost(const conv2d_shape *s, int64_t lanes, int64_t ov, int64_t th,
                        int64_t tw)
{
    double total = 0;
    for (int part = 0; part < 4; part++) {
        const int64_t rows = part & 1 ? s->oh % th : th, cols = part & 2 ? s->ow % tw : tw;
        const int64_t down = part & 1 ? rows > 0 : s->oh / th;
        const int64_t across = part & 2 ? cols > 0 : s->ow / tw;
        const double sums = (double)(ov * rows * cols), loads = (double)(ov + rows * cols);
        const double work = sums > loads ? sums : loads;
        total += (double)(down * across) * ((work > 10 ? work : 10) / 2 + 0.5);
    }
    return total * (double)host_ceil(s->co_g, ov * lanes);
}

/* Planes of whole pages put all channels of a pixel into the same sets of a cache. */
static bool conv2d_aliases(int64_t block, int64_t pixels, int64_t elem)
{
    return block == 0 && pixels * elem % 4096 == 0;
}

/* What a tile costs more than its steps. Only single rows can leave out the taps that lie above
 * and below the input; aliased planes are written well by few channels and whole vectors. */
static double conv2d_tile_penalty(const conv2d_shape *s, int64_t lanes, int64_t ov, int64_t th,
                                  int64_t tw)
{
    double factor = th > 1 && conv2d_pads_rows(s) ? 1.1 : 1.0;
    if (conv2d_aliases(s->out_block, s->oh * s->ow, conv2d_elem(s)))
        factor *= (ov > 1 ? 2 : 1) * (tw % lanes ? 1.5 : 1);
    return factor;
}

void conv2d_tile_choose(const optune_task *task, const conv2d_shape *s, conv2d_tile *t)
{
    const int64_t lanes = conv2d_lanes(task, s), registers = conv2d_registers(task);
    *t = (conv2d_tile){.vec_bytes = lanes * conv2d_elem(s), .ov = 1, .th = 1, .tw = 1};
    double best = 1e300;
    for (int64_t ov = 1; ov <= 4 && (ov - 1) * lanes < s->co_g; ov++)
        for (int64_t th = 1; th <= 4 && th <= s->oh; th++)
            for (int64_t tw = 1; tw <= s->ow && ov * th * tw + ov + 1 <= registers; tw++) {
                const double cost = conv2d_tile_cost(s, lanes, ov, th, tw) *
                                    conv2d_tile_penalty(s, lanes, ov, th, tw);
                if (conv2d_even_width(s, tw) && cost < best * 0.999) {
                    best = cost;
                    t->ov = ov;
                    t->th = th;
                    t->tw = tw;
                }
            }
    t->unroll_ic = conv2d_tile_unroll_ic(s);
    t->unroll_kw = conv2d_tile_unroll_kw(s);
    t->ot_chunk = host_ceil(s->co_g, t->ov * lanes);
    /* One tile's weights of a chunk stay in the second-level cache; when all weights together do
     * not fit it, they come from afar and are fetched earlier. */
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 << 10;
    const int64_t channel = s->kh * s->kw * t->ov * t->vec_bytes;
    t->ic_chunk = s->ci_g;
    while (t->ic_chunk > 64 && t->ic_chunk * channel > l2 / 4 * 3)
        t->ic_chunk = host_ceil(t->ic_chunk, 2);
    t->ici = conv2d_tile_ici_of(s, t->ic_chunk);
    t->prefetch = s->ci_g * s->co * s->kh * s->kw * conv2d_elem(s) > l2 / 2 ? 128 : 48;
    /* Rows of a block: their input fits half of that cache. */
    const int64_t row = s->ci_g * s->w * s->sh * conv2d_elem(s);
    int64_t rows = l2 / 2 / (row > 0 ? row : 1);
    rows = rows < t->th ? t->th : rows / t->th * t->th;
    t->oh_block = rows >= s->oh ? s->oh : rows;
    t->copy = !conv2d_clips(s, t->th, t->tw) ||
              (s->kh * s->kw > 1 && conv2d_aliases(s->data_block, s->h * s->w, conv2d_elem(s)));
}

double conv2d_tile_share(const optune_task *task, const conv2d_shape *s, conv2d_tile *t)
{
    const int64_t threads = host_threads(task), apart = s->n * s->groups;
    const int64_t tiles = host_ceil(s->co_g, t->ov * t->vec_bytes / conv2d_elem(s));
    const int64_t rows = host_ceil(s->oh, t->th), least = host_ceil(s->oh, t->oh_block);
    const double weights = (double)(s->co_g * s->kh * s->kw), pixels = (double)(s->h * s->w);
    const int64_t uncut = t->oh_block;
    double best = INFINITY;
    for (int64_t parts = threads; parts >= 1; parts /= 2)
        for (int64_t cut = 4 * threads; cut >= 1; cut /= 2) {
            const int64_t blocks = host_max(cut, least);
            const int64_t part = host_ceil(tiles, parts), block = host_ceil(rows, blocks);
            const int64_t pieces = apart * host_ceil(tiles, part) * host_ceil(rows, block);
            const double time = (double)(host_ceil(pieces, threads) * threads * part * block) /
                                (double)(apart * tiles * rows);
            const double reads = ((double)host_ceil(rows, block) * weights +
                                  (double)host_ceil(tiles, part) * pixels) /
                                 (weights + pixels);
            if (time + reads / 20 < best * 0.999) {
                best = time + reads / 20;
                t->ot_chunk = part;
                t->oh_block = blocks > least ? block * t->th : uncut;
            }
        }
    return best;
}

optune_arg conv2d_gather_plan(const optune_task *task, optune_plan *plan, int module)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const bool gather = s.kh * s.kw == 1 && (s.sh > 1 || s.sw > 1);
    optune_plan_define(plan, module, "GATHER", gather);
    if (!gather)
        return optune_input_arg(CONV2D_DATA);
    optune_plan_define(plan, module, "FROM_H", s.h);
    optune_plan_define(plan, module, "FROM_W", s.w);
    optune_plan_define(plan, module, "FROM_SH", s.sh);
    optune_plan_define(plan, module, "FROM_SW", s.sw);
    const int pixels = optune_plan_scratch(plan, "gathered pixels",
                                           s.n * s.ci * s.oh * s.ow * conv2d_elem(&s), false);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "gather",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_DATA),
                                                    optune_scratch_arg(pixels)}});
    return optune_scratch_arg(pixels);
}

void conv2d_tile_plan(const optune_task *task, const conv2d_shape *s, const conv2d_tile *t,
                      optune_plan *plan)
{
    const int64_t lanes = t->vec_bytes / conv2d_elem(s), oct = t->ov * lanes;
    const int64_t tiles = host_ceil(s->co_g, oct), icos = s->ci_g / t->ici;
    const int64_t chunk = host_min(icos, host_ceil(t->ic_chunk, t->ici));
    const int64_t threads = task->device->threads > 0 ? task->device->threads : 1;
    const int64_t ot_chunk = host_min(t->ot_chunk, tiles);
    const int64_t oh_block = host_min(t->oh_block, s->oh);

    const int loops = optune_plan_module(plan), module = optune_plan_module(plan);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"TILE", 1},
        {"OV", t->ov},
        {"TH", t->th},
        {"TW", t->tw},
        {"COPY", t->copy},
        {"ROWS_LEFT",
         conv2d_varies(s) ? t->th > 1 : s->oh % oh_block % t->th || oh_block % t->th},
        {"PARTIAL", chunk < icos},
        {"UNROLL_IC", t->unroll_ic},
        {"UNROLL_KW", t->unroll_kw},
        {"PREFETCH", t->prefetch > 0},
    };
    for (int m = loops; m <= module; m++) {
        conv2d_define_varying(plan, m, s, 11);
        conv2d_light(plan, m);
        optune_plan_define(plan, m, "VEC_BYTES", t->vec_bytes);
        optune_plan_define(plan, m, "LANES", lanes);
    }
    optune_plan_define(plan, loops, "SUMS", conv2d_registers(task));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, module, table[i].macro, table[i].value);

    const optune_arg data =
        t->gather ? conv2d_gather_plan(task, plan, loops) : optune_input_arg(CONV2D_DATA);
    const int64_t elem = conv2d_elem(s);
    const optune_arg packed = optune_scratch_arg(optune_plan_scratch(
        plan, "weights", s->groups * tiles * oct * s->ci_g * s->kh * s->kw * elem,
        task->call->input[CONV2D_WEIGHT].is_const));
    optune_plan_stage(plan,
                      &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                      .module = loops,
                                      .function = "pack_weight",
                                      .n_args = 4,
                                      .arg = {optune_input_arg(CONV2D_WEIGHT), packed,
                                              optune_int_arg(oct), optune_int_arg(t->ici)}});
    optune_arg part = optune_int_arg(0), copy = optune_int_arg(0);
    if (chunk < icos)
        part = optune_scratch_arg(optune_plan_scratch(
            plan, "partial sums", threads * ot_chunk * oh_block * s->ow * oct * elem, false));
    if (t->copy) {
        const conv2d_tile sized = {.oh_block = oh_block};
        copy = optune_scratch_arg(optune_plan_scratch(
            plan, "padded input", threads * conv2d_tile_copy_size(s, &sized) * elem, false));
    }
    conv2d_finish(task, plan,
                  &(optune_stage){.phase = OPTUNE_TIMED,
                                  .module = loops,
                                  .function = "conv2d",
                                  .n_args = 11,
                                  .arg = {data, packed, optune_output_arg(0), part, copy,
                                          optune_function_arg(module, "tile_does"),
                                          optune_int_arg(t->ici), optune_int_arg(chunk),
                                          optune_int_arg(ot_chunk), optune_int_arg(oh_block),
                                          optune_int_arg(t->prefetch)}});
    const bool halves = s->out_block > 0 && lanes == 2 * s->out_block; /* they are stored first */
    if (!halves)
        optune_plan_in_place(plan);
}
