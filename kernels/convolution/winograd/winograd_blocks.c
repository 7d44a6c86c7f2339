/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/winograd/winograd_blocks.h declares. */
#include "kernels/convolution/winograd/winograd_blocks.h"

#include <assert.h>

const int64_t winograd_tile_sizes[WINOGRAD_TILES] = {1, 2, 4, 7};

int winograd_block_rows(const conv2d_shape *s, int64_t value[WINOGRAD_MOST_ROWS])
{
    static const int part[] = {1, 2, 3, 4, 7, 14, 28};
    int n = 0;
    assert(s->n > 0 && s->oh > 0); /* as `applies` was asked */
    for (int t = 0; t < WINOGRAD_TILES; t++) {
        const int64_t all = s->n * host_ceil(s->oh, winograd_tile_sizes[t]);
        int at = n;
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) { /* fewer and fewer */
            const int64_t rows = host_ceil(all, part[i]);
            while (at > 0 && value[at - 1] >= rows)
                at--;
            if (at < n && value[at] == rows)
                continue;
            for (int j = n++; j > at; j--)
                value[j] = value[j - 1];
            value[at] = rows;
        }
    }
    return n;
}

/* ---- sizes ------------------------------------------------------------------------------- */

/* Points of a tile in one direction. */
static int64_t points_of(int64_t tile, int64_t stride)
{
    return stride == 1 ? tile + 2 : 2 * tile + 1;
}

/* And of its weights: odd inputs of stride 2 share one. */
static int64_t weights_of(int64_t tile)
{
    return tile + 2;
}

winograd_sizes winograd_sizes_of_tile(const optune_task *task, const conv2d_shape *s,
                                      int64_t tile_h, int64_t tile_w)
{
    winograd_sizes z = {.lanes = conv2d_lanes(task, s), .threads = (int)host_threads(task)};
    z.points = points_of(tile_h, s->sh) * points_of(tile_w, s->sw);
    z.weights = weights_of(tile_h) * weights_of(tile_w);
    z.image_rows = host_ceil(s->oh, tile_h);
    z.all_rows = s->n * z.image_rows;
    z.in_vectors = host_ceil(s->ci, z.lanes);
    z.cols = host_ceil(s->ow, tile_w);
    return z;
}

void winograd_add_block(winograd_sizes *z, const conv2d_shape *s, int64_t tile_h, int64_t rows)
{
    z->tiles = rows * z->cols;
    z->blocks = host_ceil(z->all_rows, rows);
    z->split_blocks =
        z->blocks >= z->threads && (z->blocks >= 2 * z->threads || z->blocks % z->threads == 0);
    z->v = z->points * (z->tiles * (z->in_vectors + 1) * z->lanes + z->lanes);
    const int64_t band = host_min(rows, z->image_rows) * tile_h;
    z->band = host_max(((band - 1) * s->sh + 3) * s->w, band * s->ow) * z->lanes +
              s->w * host_max(z->lanes, s->data_block);
}

void winograd_add_channels(winograd_sizes *z, const conv2d_shape *s, int64_t tile_co,
                           int64_t chunk)
{
    const int64_t nr = tile_co * z->lanes;
    z->panels = host_ceil(s->co, nr);
    z->chunks = host_ceil(z->panels, chunk);
    z->m = chunk * z->points * (z->tiles * nr + z->lanes);
    z->u = z->panels * z->weights * s->ci * nr;
}

winograd_sizes winograd_sizes_of(const optune_task *task, const conv2d_shape *s,
                                 const winograd_choice *c)
{
    winograd_sizes z = winograd_sizes_of_tile(task, s, c->tile_h, c->tile_w);
    winograd_add_block(&z, s, c->tile_h, c->rows);
    winograd_add_channels(&z, s, c->tile_co, c->chunk);
    return z;
}

winograd_taps winograd_taps_of(const optune_task *task, const conv2d_shape *s,
                               const winograd_sizes *z, int64_t tile_co)
{
    const int64_t nr = tile_co * z->lanes, bytes = z->weights * nr * conv2d_elem(s);
    winograd_taps t = {.taps = z->panels * 9 * s->ci * nr};
    /* Points of taps in half of the L2; what is summed up is read again for each few channels. */
    t.depth = host_min(s->ci, host_max(32, host_l2(task) / 2 / bytes / 8 * 8));
    t.part = z->weights * (t.depth * nr + z->lanes);
    return t;
}

bool winograd_precise(const conv2d_shape *s, int64_t tile_h, int64_t tile_w)
{
    return (tile_h > 1 || tile_w > 1) && winograd_three_precise(s, tile_h, tile_w);
}

bool winograd_fits(const conv2d_shape *s, const winograd_sizes *z)
{
    const int64_t most = (INT64_C(1) << 30) / conv2d_elem(s);
    return host_max(host_max(z->v, z->m), z->band) * z->threads <= most && z->u <= most;
}

/* ---- register tiles ---------------------------------------------------------------------- */

/* Whether a core's other thread has work, too. */
typedef enum core_use { ALONE, SHARED } core_use;

typedef struct registers { /* of a call's register tiles; [co] */
    int64_t bytes;         /* of a vector */
    core_use use;
    int64_t most[WINOGRAD_MOST_CO + 1]; /* tiles that registers have room for; 0: no such one */
    double panels[WINOGRAD_MOST_CO + 1]; /* of output channels */
} registers;

static registers registers_of(const optune_task *task, const conv2d_shape *s, core_use use)
{
    const int64_t lanes = conv2d_lanes(task, s), all = conv2d_registers(task) - 1;
    registers r = {.bytes = lanes * conv2d_elem(s), .use = use};
    for (int64_t co = 1; co <= WINOGRAD_MOST_CO; co++) {
        r.most[co] = (co - 1) * lanes < s->co ? host_min(all / co - 1, WINOGRAD_MOST_P) : 0;
        r.panels[co] = (double)host_ceil(s->co, co * lanes);
    }
    return r;
}

static double larger(double a, double b) /* and no call of fmax in the innermost loop */
{
    return a > b ? a : b;
}

/* Estimated cycles of two steps of a register tile: two multiply-adds and two loads a cycle, sums
 * that are ready after four cycles. Of a core that is shared a thread issues three operations a
 * cycle: a product, a load of weights, the prefetching behind it, and a broadcast, which is part of
 * the product where a 512-bit register meets no other of its step. */
static double two_steps(const registers *r, int64_t p, int64_t co)
{
    const double sums = (double)(p * co), loads = (double)(p + co);
    const double broadcasts = co == 1 && r->bytes == 64 ? 0 : (double)p;
    const double issued = sums + broadcasts + (double)(2 * co + 3);
    return larger(larger(larger(sums, loads), 8), r->use == SHARED ? issued / 1.5 : 0) + 1;
}

/* The same over all tiles of a block and all channels, `full` by whole register tiles. */
static double steps_by(const registers *r, int64_t tiles, int64_t p, int64_t co, double full)
{
    const int64_t whole = tiles / p, rest = tiles - whole * p;
    const double last = rest ? two_steps(r, rest, co) : 0;
    return r->panels[co] * ((double)whole * full + last);
}

static double steps(const registers *r, int64_t tiles, int64_t p, int64_t co)
{
    return steps_by(r, tiles, p, co, two_steps(r, p, co));
}

/* A bound of sums in another order than what it is compared with. */
static const double ROUNDED = 1 - 1e-9;

/* The register tile that covers `tiles` best; two vectors of channels where that is as good. For
 * each tile a larger one never takes longer: where even this, with nothing left over, is longer
 * than the best, so are all smaller ones. */
static void best_tile(const registers *r, int64_t tiles, int64_t *p, int64_t *co)
{
    static const int64_t order[] = {2, 1, 3, 4};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const int64_t v = order[i];
        const double enough = 0.97 * least, all = r->panels[v] * (double)tiles * ROUNDED;
        double mine = INFINITY;
        int64_t best = 1;
        for (int64_t q = host_min(r->most[v], tiles); q >= 1; q--) {
            const double wanted = mine < enough ? mine : enough;
            const double full = two_steps(r, q, v);
            if (all * full > wanted * (double)q)
                break;
            const double cycles = steps_by(r, tiles, q, v, full);
            if (cycles <= mine) {
                mine = cycles;
                best = q;
            }
        }
        if (mine < enough) {
            least = mine;
            *p = best;
            *co = v;
        }
    }
}

int64_t winograd_best_co(const optune_task *task, const conv2d_shape *s, int64_t tiles)
{
    const registers r = registers_of(task, s, ALONE);
    int64_t p = 1, co = 1;
    best_tile(&r, tiles, &p, &co);
    return co;
}

bool winograd_efficient(const optune_task *task, const conv2d_shape *s, int64_t tiles,
                        int64_t p, int64_t co)
{
    const registers r = registers_of(task, s, ALONE);
    int64_t best_p = 1, best_co = 1;
    best_tile(&r, tiles, &best_p, &best_co);
    return steps(&r, tiles, p, co) * 4 <= steps(&r, tiles, best_p, best_co) * 5;
}

/* Cycles for each tile that no register tile is below. */
static double least_steps(const registers *r)
{
    double least = INFINITY;
    for (int64_t co = 1; co <= WINOGRAD_MOST_CO; co++)
        if (r->most[co])
            least = fmin(least,
                         r->panels[co] * two_steps(r, r->most[co], co) / (double)r->most[co]);
    return least;
}

/* ---- estimates --------------------------------------------------------------------------- */

typedef struct machine {
    const conv2d_shape *s;
    registers registers;
    int64_t l2, elem;
    double each;  /* cycles of an element that comes from behind the L2 */
    double least; /* least_steps */
} machine;

static machine machine_of(const optune_task *task, const conv2d_shape *s)
{
    /* Bytes in a cycle of a cache that many cores share over a mesh, as those of hundreds of MiB
     * are, few. */
    const double far_bytes = task->device->l3 > INT64_C(64) << 20 ? 6 : 16;
    machine m = {.s = s, .registers = registers_of(task, s, SHARED), .l2 = host_l2(task)};
    m.elem = conv2d_elem(s);
    m.each = (double)m.elem / far_bytes;
    m.least = least_steps(&m.registers);
    return m;
}

/* How much of that many bytes, read over and over, the L2 misses: nothing while they fit. */
static double missed(double bytes, int64_t l2)
{
    const double beyond = bytes / (double)l2 - 0.9;
    return beyond > 1 ? 1 : larger(0, beyond);
}

/* Estimated cycles of all threads, weights kept as points: the products, about two cycles for a
 * vector transformed either way, and what the L2 cannot keep: weights pass by once for every block,
 * inputs once for every chunk. A few times the L2 is a core's share of the next cache; what is
 * larger comes from memory. Weights are prefetched: half of them hides behind products, but no more
 * than these take. `step`: of one channel of the input, for a block and all channels of the output.
 * What is larger anywhere in `z`, and a longer step, never makes it less. */
static double cost(const machine *m, const winograd_sizes *z, int64_t out_vectors, double step)
{
    const int64_t l2 = m->l2, elem = m->elem, blocks = z->blocks;
    const double products = (double)(blocks * z->points * (m->s->ci + 6)) * step;
    const double vectors =
        (double)(z->all_rows * z->cols * z->points) * (double)(z->in_vectors + out_vectors);
    const double all = (double)((z->u + z->v + z->m) * elem);
    const double slow = (z->v + z->m) * elem > 4 * l2 ? 4 : 1;
    double far = 0;
    if ((z->v + z->m) * elem > (all > (double)l2 ? l2 / 2 : l2 * 3 / 4))
        far += (double)(z->v * (z->chunks + 1) * blocks) * slow;
    if (z->m * elem > l2 / 2)
        far += (double)(z->m * z->chunks * 2 * blocks) * slow;
    double weights = (double)(z->u * blocks) * m->each * missed(all, l2);
    if (z->u * elem > 12 * l2)
        weights *= 1.5;
    weights = larger(weights / 2, weights - products);
    /* Threads that share channels read the inputs that others transformed, and write over them. */
    const double others =
        z->split_blocks ? 0 : (double)(z->v * blocks * (z->threads - 1)) * 1.5;
    return products + 2 * vectors + (far / 2 + others) * m->each + weights;
}

/* How many times an even share of so many parts the largest share is. */
static double uneven(const winograd_sizes *z, int64_t parts)
{
    return (double)(host_ceil(parts, z->threads) * z->threads) / (double)parts;
}

/* What no choice of these blocks is below: few channels at a time, by the best register tile with
 * nothing left over. */
static double block_bound(const machine *m, const winograd_sizes *z)
{
    winograd_sizes least = *z;
    winograd_add_channels(&least, m->s, 1, 1);
    least.chunks = 1;
    const double step = (double)z->tiles * m->least / 2;
    return ROUNDED * cost(m, &least, least.panels, step) *
           (z->split_blocks ? uneven(z, z->blocks) : 1);
}

/* The same of a size of tile: all rows in one block, with nothing but weights in the L2. */
static double tile_bound(const machine *m, const winograd_sizes *z)
{
    winograd_sizes least = *z;
    winograd_add_channels(&least, m->s, 1, 1);
    least.m = 0;
    least.blocks = least.chunks = 1;
    const double step = (double)(z->all_rows * z->cols) * m->least / 2;
    return ROUNDED * cost(m, &least, least.panels, step);
}

/* ---- the least of them ------------------------------------------------------------------- */

typedef struct size { /* of tiles */
    winograd_sizes z;
    double cycles; /* of `best`; before that is known, what it is not below */
    winograd_choice best;
    int row; /* of it, -1: it is not known */
} size;

static void find_best(const machine *m, const int64_t *rows, int n, size *of)
{
    winograd_choice c = of->best;
    double least = INFINITY;
    of->row = n;
    for (int i = 0; i < n && rows[i] <= of->z.all_rows; i++) {
        winograd_sizes z = of->z;
        winograd_add_block(&z, m->s, c.tile_h, rows[i]);
        if (block_bound(m, &z) >= least)
            continue;
        c.rows = rows[i];
        best_tile(&m->registers, z.tiles, &c.tile_p, &c.tile_co);
        const double step = steps(&m->registers, z.tiles, c.tile_p, c.tile_co) / 2;
        for (c.chunk = 1; c.chunk <= 4; c.chunk += 3) {
            winograd_add_channels(&z, m->s, c.tile_co, c.chunk);
            if (!winograd_fits(m->s, &z) || (c.chunk > 1 && c.chunk > z.panels))
                continue;
            const double cycles = cost(m, &z, z.panels * c.tile_co, step) *
                                  uneven(&z, z.split_blocks ? z.blocks : z.chunks);
            if (cycles < least) {
                least = cycles;
                of->best = c;
                of->row = i;
            }
        }
    }
    of->cycles = least;
}

/* Those that may be less first; of equal ones fewer rows, then narrower tiles, then lower ones. */
static bool precedes(const size *a, const size *b)
{
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles;
    if (a->row != b->row)
        return a->row < b->row;
    return a->best.tile_w != b->best.tile_w ? a->best.tile_w < b->best.tile_w
                                            : a->best.tile_h < b->best.tile_h;
}

winograd_choice winograd_choose(const optune_task *task, const conv2d_shape *s)
{
    enum { SIZES = WINOGRAD_TILES * WINOGRAD_TILES };
    const machine m = machine_of(task, s);
    int64_t rows[WINOGRAD_MOST_ROWS];
    const int n_rows = winograd_block_rows(s, rows);
    size sizes[SIZES];
    int n = 0;
    for (int h = 0; h < WINOGRAD_TILES; h++)
        for (int w = 0; w < WINOGRAD_TILES; w++) {
            size *const new = &sizes[n];
            *new = (size){
                .row = -1,
                .best = {.tile_h = winograd_tile_sizes[h], .tile_w = winograd_tile_sizes[w]}};
            new->z = winograd_sizes_of_tile(task, s, new->best.tile_h, new->best.tile_w);
            new->cycles = tile_bound(&m, &new->z);
            n += h + w > 0;
        }
    while (n > 0) {
        int first = 0;
        for (int i = 1; i < n; i++)
            if (precedes(&sizes[i], &sizes[first]))
                first = i;
        size *const least = &sizes[first];
        if (least->row < 0)
            find_best(&m, rows, n_rows, least);
        else if (least->row < n_rows &&
                 winograd_precise(s, least->best.tile_h, least->best.tile_w))
            return least->best;
        else /* to know costs more than all else: only the best are asked */
            *least = sizes[--n];
    }
    return (winograd_choice){1, 2, rows[0], 1, 1, 1};
}
