/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/piece_boxes.h declares. */
#include "kernels/move/piece_boxes.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

enum {
    MOST_POINTS = 6,    /* of a variable: polynomials up to the fifth power */
    GRID = 256,         /* points in all */
    MOST_SEGMENTS = 12, /* of a symbol */
    VARIABLES = 2 * BOXES_SYMBOLS,
    HIGHEST = 1 << 16, /* what lies above follows the last box */
    TRIALS = 40,
    ENUMERATED = 20000,
};

static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64};

/* A part of a symbol's sizes, in blocks of `block`; `whole`: the last one lacks nothing, or the
 * types do not allow it. */
typedef struct segment {
    int64_t lo, hi, block;
    bool whole;
} segment;

typedef enum part { SIZE, BLOCKS, LACK } part;

typedef struct variable {
    int symbol, points;
    part part;
    int64_t first, step;
} variable;

typedef struct model {
    const optune_call *call;
    generic_symbols symbols;
    segment at[BOXES_SYMBOLS];
    int64_t top[BOXES_SYMBOLS], most[BOXES_SYMBOLS]; /* where segments end, and sizes */
    int n, corners, pieces; /* variables, points of the grid, pieces at each */
    variable v[VARIABLES];
    optune_piece piece[GRID][OPTUNE_MAX_PIECES];
} model;

static bool is_empty(const optune_piece *p)
{
    for (int d = 0; d < p->rank; d++)
        if (p->extent[d] <= 0)
            return true;
    return false;
}

/* Of what is not there nothing matters, of a loop of one turn its strides do not. */
static bool same_move(const optune_piece *a, const optune_piece *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i].rank != b[i].rank || a[i].input != b[i].input)
            return false;
        for (int d = 0; d < a[i].rank; d++)
            if (a[i].extent[d] != b[i].extent[d] ||
                (a[i].extent[d] > 1 && (a[i].in_stride[d] != b[i].in_stride[d] ||
                                        a[i].out_stride[d] != b[i].out_stride[d])))
                return false;
        if (!is_empty(&a[i]) &&
            (a[i].in_offset != b[i].in_offset || a[i].out_offset != b[i].out_offset))
            return false;
    }
    return true;
}

/* Whether an offset in it, and some times as much, is a number. */
static bool can_be_counted(const optune_tensor *type)
{
    int64_t n = 64;
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d].min > 0 && __builtin_mul_overflow(n, type->dim[d].min, &n))
            return false;
    return true;
}

int piece_boxes_ask(const optune_call *of, const generic_symbols *symbols, const int64_t *size,
                    optune_piece *piece)
{
    optune_call call = *of;
    for (int i = 0; i < call.n_inputs; i++)
        for (int d = 0; d < call.input[i].type.rank; d++) {
            optune_dim *dim = &call.input[i].type.dim[d];
            for (int k = 0; k < symbols->n; k++)
                if (size[k] > 0 && !optune_dim_known(dim) &&
                    (symbols->at[k].name == of->input[i].type.dim[d].name ||
                     (dim->name[0] && strcmp(symbols->at[k].name, dim->name) == 0)))
                    *dim = optune_dim_of(size[k]);
        }
    call.output[0].rank = -1;
    call.n_epilogues = call.n_extra = 0;
    for (int i = 0; i < call.n_inputs; i++)
        if (!can_be_counted(&call.input[i].type))
            return -1;
    if (call.op->types(&call, NULL) < 0 || call.op->types(&call, NULL) != OPTUNE_OK ||
        !can_be_counted(&call.output[0]))
        return -1;
    /* As the call says it, where that is the same move: what a relation settles of known dims,
     * such as the step of a slice that is one element, need not be alike for all sizes. */
    optune_piece settled[OPTUNE_MAX_PIECES];
    const int n = call.op->pieces(&call, settled);
    memcpy(call.attr, of->attr, sizeof call.attr);
    const bool same = call.op->pieces(&call, piece) == n && same_move(piece, settled, n);
    if (!same)
        memcpy(piece, settled, sizeof *piece * (size_t)(n > 0 ? n : 0));
    return n;
}

/* ---- polynomials on a grid --------------------------------------------------------------- */

int64_t piece_boxes_number(const optune_piece *p, int which)
{
    const int d = (which - 2) / 3;
    return which == 0             ? p->in_offset
           : which == 1           ? p->out_offset
           : (which - 2) % 3 == 0 ? p->extent[d]
           : (which - 2) % 3 == 1 ? p->in_stride[d]
                                  : p->out_stride[d];
}

static void sizes_at(const model *m, int corner, int64_t *size)
{
    for (int k = 0; k < m->symbols.n; k++)
        size[k] = m->at[k].block > 1 && !m->at[k].whole ? 0 : m->at[k].lo;
    for (int i = 0; i < m->n; i++) {
        const variable *v = &m->v[i];
        const int64_t value = v->first + corner % v->points * v->step;
        size[v->symbol] = v->part == SIZE     ? value
                          : v->part == BLOCKS ? size[v->symbol] + value * m->at[v->symbol].block
                                              : size[v->symbol] - value;
        corner /= v->points;
    }
}

static void add_variable(model *m, int k, part what, int64_t first, int64_t step,
                         int64_t points)
{
    m->v[m->n++] = (variable){.symbol = k,
                              .part = what,
                              .first = first,
                              .step = step,
                              .points = (int)host_max(points, 0)};
}

/* One variable for a symbol, or two; as many points as the segment has room for. Whatever a step
 * from block to block does is known of short blocks when all of what they may lack is asked for. */
static void add_variables(model *m, int k, int64_t most)
{
    const segment *s = &m->at[k];
    const int64_t up = s->lo + s->block - 1;
    if (s->lo == s->hi) {
        return;
    } else if (s->block == 1 || s->whole) {
        const int64_t first = up / s->block * s->block;
        add_variable(m, k, SIZE, first, s->block,
                     host_min(most, (s->hi - first) / s->block + 1));
    } else {
        const int64_t first = (up + s->block - 1) / s->block;
        add_variable(m, k, BLOCKS, first, 1, host_min(most, s->hi / s->block - first + 1));
        add_variable(m, k, LACK, 0, 1, s->block <= MOST_POINTS ? s->block : 3);
    }
}

static bool alike(const optune_piece *a, const optune_piece *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].rank != b[i].rank || a[i].input != b[i].input)
            return false;
    return true;
}

/* Asks the op on the grid of the present segments. */
static bool make(model *m, int64_t most)
{
    int64_t size[BOXES_SYMBOLS];
    m->n = 0;
    m->corners = 1;
    for (int k = 0; k < m->symbols.n; k++)
        add_variables(m, k, most);
    for (int i = 0; i < m->n; i++) {
        m->corners *= m->v[i].points;
        if (m->corners < 1 || m->corners > GRID)
            return false;
    }
    for (int c = 0; c < m->corners; c++) {
        sizes_at(m, c, size);
        const int n = piece_boxes_ask(m->call, &m->symbols, size, m->piece[c]);
        if (n < 0 || (c && n != m->pieces) || (c && !alike(m->piece[c], m->piece[0], n)))
            return false;
        m->pieces = n;
    }
    return true;
}

/* Coefficients of powers 0, 1, 2 ... in place of `points` values, `stride` apart, at first,
 * first + step ...: Newton's differences, multiplied out. */
static void to_powers(long double *v, int stride, int points, long double first,
                      long double step)
{
    long double difference[MOST_POINTS], power[MOST_POINTS] = {0};
    for (int i = 0; i < points; i++)
        difference[i] = v[i * stride];
    for (int order = 1; order < points; order++)
        for (int i = points - 1; i >= order; i--)
            difference[i] = (difference[i] - difference[i - 1]) / (order * step);
    for (int i = points - 1; i >= 0; i--) {
        for (int k = points - 1; k > 0; k--)
            power[k] = power[k - 1] - power[k] * (first + i * step);
        power[0] = difference[i] - power[0] * (first + i * step);
    }
    for (int i = 0; i < points; i++)
        v[i * stride] = power[i];
}

static void polynomial_of(const model *m, int piece, int which, long double *v)
{
    int stride = 1;
    for (int c = 0; c < m->corners; c++)
        v[c] = (long double)piece_boxes_number(&m->piece[c][piece], which);
    for (int i = 0; i < m->n; stride *= m->v[i++].points)
        for (int c = 0; c < m->corners; c++)
            if (c / stride % m->v[i].points == 0)
                to_powers(v + c, stride, m->v[i].points, (long double)m->v[i].first,
                          (long double)m->v[i].step);
}

static void variables_at(const model *m, const int64_t *size, double *x)
{
    for (int i = 0; i < m->n; i++) {
        const int64_t block = m->at[m->v[i].symbol].block, n = size[m->v[i].symbol];
        const int64_t blocks = (n + block - 1) / block;
        x[i] = (double)(m->v[i].part == SIZE     ? n
                        : m->v[i].part == BLOCKS ? blocks
                                                 : blocks * block - n);
    }
}

static double value_at(const model *m, const long double *v, const double *x)
{
    long double sum = 0;
    for (int c = 0; c < m->corners; c++) {
        long double term = v[c];
        for (int i = 0, rest = c; i < m->n && term != 0; rest /= m->v[i++].points)
            for (int power = rest % m->v[i].points; power > 0; power--)
                term *= x[i];
        sum += term;
    }
    return (double)sum;
}

/* Whether what the grid says of these sizes is what the op says; sizes that the types do not allow
 * never come. */
static bool holds(const model *m, const int64_t *size)
{
    optune_piece at[OPTUNE_MAX_PIECES];
    long double v[GRID];
    double x[VARIABLES];
    const int n = piece_boxes_ask(m->call, &m->symbols, size, at);
    if (n < 0)
        return true;
    if (n != m->pieces || !alike(at, m->piece[0], n))
        return false;
    variables_at(m, size, x);
    for (int i = 0; i < n; i++)
        for (int which = 0; which < 2 + 3 * at[i].rank; which++) {
            polynomial_of(m, i, which, v);
            const double value = round(value_at(m, v, x) * 1024) / 1024;
            const bool extent = which >= 2 && (which - 2) % 3 == 0;
            if (is_empty(&at[i]) && !extent)
                continue;
            if ((extent ? fmax(value, 0) : value) !=
                fmax((double)piece_boxes_number(&at[i], which), extent ? 0 : -INFINITY))
                return false;
        }
    return true;
}

/* ---- segments of a symbol ---------------------------------------------------------------- */

/* The first size from `lo` on where the model does not hold, looked for in growing steps: what
 * failed once is taken to fail from there. */
static int64_t first_failure(const model *m, int k, int64_t *size, int64_t lo, int64_t hi)
{
    int64_t good = lo - 1;
    for (int64_t n = lo; n <= hi; n += 1 + (n - lo) / 64) {
        size[k] = n;
        if (!holds(m, size)) {
            for (int64_t bad = n; bad - good > 1;) {
                size[k] = good + (bad - good) / 2;
                *(holds(m, size) ? &good : &bad) = size[k];
            }
            return good + 1;
        }
        good = n;
    }
    size[k] = hi;
    return holds(m, size) ? hi + 1 : good + 1;
}

/* How far from `lo` on what the first sizes say of symbol k holds, in blocks of `block`; the others
 * stay at `base`. Below lo: nothing was found. */
static int64_t reach(model *m, int k, const int64_t *base, int64_t lo, int64_t hi,
                     int64_t block, bool whole, int most)
{
    int64_t size[BOXES_SYMBOLS];
    for (int i = 0; i < m->symbols.n; i++) {
        m->at[i] = (segment){base[i], base[i], 1, false};
        size[i] = base[i];
    }
    for (; most > 0; most--) {
        const int64_t end = lo + (most + 1) * block - 1;
        m->at[k] = (segment){lo, end < hi ? end : hi, block, whole};
        if (make(m, most))
            return first_failure(m, k, size, lo, hi) - 1;
    }
    return lo - 1;
}

/* In how many dims a symbol stands. */
static int dims_of(const model *m, int k)
{
    int n = 0;
    for (int i = 0; i < m->call->n_inputs; i++)
        for (int d = 0; d < m->call->input[i].type.rank; d++)
            n += !strcmp(m->call->input[i].type.dim[d].name, m->symbols.at[k].name);
    return n;
}

/* What is said of more sizes than were asked to say it has earned belief; of what only repeats its
 * points the simplest is taken. */
static segment longest(model *m, int k, const int64_t *base, int64_t lo, int64_t hi)
{
    const int points[] = {3, 2, dims_of(m, k) > 2 ? MOST_POINTS : 3}; /* its powers */
    segment best = {.lo = lo, .hi = lo - 1, .block = 1};
    int64_t most = 0;
    for (int i = 0; i < 3 * 2 * (int)(sizeof lengths / sizeof *lengths); i++) {
        const int64_t block = lengths[i / 6];
        const bool whole = i / 3 % 2;
        if (whole && block == 1)
            continue;
        const int64_t end = reach(m, k, base, lo, hi, block, whole, points[i % 3]);
        /* Sizes that were not asked, and more than a few: an end that nothing changes at. */
        const int64_t earned = end - lo + 1 - 2 * m->corners;
        if (end >= lo && (best.hi < lo || earned > most)) {
            best = (segment){lo, end, block, whole};
            most = host_max(earned, 0);
        }
        if (best.hi >= hi && (most > 0 || best.block == 1))
            break;
    }
    return best;
}

static int cut(model *m, int k, const int64_t *base, int64_t lo, int64_t hi, segment *to)
{
    int n = 0;
    for (; lo <= hi && n < MOST_SEGMENTS; lo = to[n++].hi + 1) {
        to[n] = longest(m, k, base, lo, hi);
        if (to[n].hi < lo)
            return 0;
        if (to[n].hi == lo)
            to[n].block = 1;
    }
    return lo > hi ? n : 0;
}

/* ---- text -------------------------------------------------------------------------------- */

static int block_number(piece_boxes *to, int symbol, int64_t block)
{
    for (int i = 0; i < to->n_blocks; i++)
        if (to->block_of[i] == symbol && to->block[i] == block)
            return i;
    if (to->n_blocks == BOXES_BLOCKS)
        return -1;
    to->block_of[to->n_blocks] = symbol;
    to->block[to->n_blocks] = block;
    return to->n_blocks++;
}

/* The number that all coefficients become whole by; 0: there is none. */
static int64_t whole_by(const model *m, const long double *v)
{
    static const int64_t by[] = {1,  2,  3,  4,  5,  6,   7,   8,   12,  16,  24,
                                 32, 36, 48, 60, 64, 120, 144, 240, 720, 1024};
    for (int i = 0; i < (int)(sizeof by / sizeof *by); i++) {
        bool whole = true;
        for (int c = 0; c < m->corners && whole; c++) {
            const double n = (double)(v[c] * (long double)by[i]);
            whole = fabs(n - round(n)) < 1e-5 && fabs(n) < 1e15;
        }
        if (whole)
            return by[i];
    }
    return 0;
}

static bool add(char *text, int *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool add(char *text, int *at, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    *at += vsnprintf(text + *at, (size_t)(BOXES_TEXT - *at), format, list);
    va_end(list);
    return *at < BOXES_TEXT - 1 || (*at = BOXES_TEXT - 1, false);
}

static bool print_polynomial(const model *m, piece_boxes *to, const long double *v, char *text,
                             int *at)
{
    const int64_t by = whole_by(m, v);
    bool fits = by > 0 && add(text, at, by > 1 ? "(" : "");
    int terms = 0;
    for (int c = m->corners - 1; c >= 0 && fits; c--) {
        const double n = round((double)(v[c] * (long double)by));
        if (n == 0 && (c || terms))
            continue;
        fits = add(text, at, "%s%.0f", terms++ && n >= 0 ? "+" : "", n);
        for (int i = 0, rest = c; i < m->n && fits; rest /= m->v[i++].points)
            for (int power = rest % m->v[i].points; power > 0 && fits; power--) {
                const variable *x = &m->v[i];
                const int number = x->part == SIZE
                                       ? x->symbol
                                       : block_number(to, x->symbol, m->at[x->symbol].block);
                fits = number >= 0 && add(text, at, "*%c%d", "SQR"[x->part], number);
            }
    }
    return fits && (by == 1 || add(text, at, ")/%lld", (long long)by));
}

static bool print_when(const model *m, const segment *first, const segment *last, char *text)
{
    int at = 0;
    bool fits = add(text, &at, "(1");
    for (int k = 0; k < m->symbols.n && fits; k++) {
        if (m->at[k].lo > first[k].lo)
            fits = add(text, &at, "&&S%d>=%lld", k, (long long)m->at[k].lo);
        if (fits && m->at[k].hi < last[k].hi)
            fits = add(text, &at, "&&S%d<=%lld", k, (long long)m->at[k].hi);
    }
    return fits && add(text, &at, ")");
}

static bool print_box(const model *m, const segment *first, const segment *last,
                      piece_boxes *to)
{
    long double v[GRID];
    for (int i = 0; i < m->pieces; i++) {
        const optune_piece *p = &m->piece[0][i];
        if (to->n == BOXES_PIECES)
            return false;
        char *text = to->piece[to->n];
        int at = 0;
        if (p->input < 0 && p->fill != 0)
            to->fill = p->fill;
        bool fits = add(text, &at, "{%d,%d", p->input, p->rank);
        for (int which = 0; which < 2 + 3 * p->rank && fits; which++) {
            polynomial_of(m, i, which, v);
            fits = add(text, &at, ",") && print_polynomial(m, to, v, text, &at);
        }
        if (!fits || !add(text, &at, "}") || !print_when(m, first, last, to->when[to->n]))
            return false;
        to->n++;
    }
    return true;
}

/* ---- boxes ------------------------------------------------------------------------------- */

static int64_t random_in(const segment *s, uint64_t *rng)
{
    return s->lo + optune_random_below(rng, s->hi - s->lo + 1);
}

/* What a far end cuts off is seen at the largest sizes, also of whole blocks. */
static bool holds_above(const model *m)
{
    int64_t size[BOXES_SYMBOLS];
    for (int k = 0; k < m->symbols.n; k++)
        for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
            for (int other = 0; other < m->symbols.n; other++)
                size[other] = m->at[other].lo;
            size[k] = m->most[k] / lengths[i] * lengths[i];
            if (m->at[k].hi == m->top[k] && size[k] > m->at[k].hi && !holds(m, size))
                return false;
        }
    return true;
}

/* The model of the present segments, held against the op's own answers all over the box. */
static bool settle(model *m)
{
    int64_t size[BOXES_SYMBOLS];
    for (int most = 2; most <= MOST_POINTS; most++) {
        uint64_t rng = 5;
        bool good = make(m, most);
        for (int t = 0; t < TRIALS && good; t++) {
            for (int k = 0; k < m->symbols.n; k++)
                size[k] = t < 2 ? (t ? m->at[k].hi : m->at[k].lo) : random_in(&m->at[k], &rng);
            good = holds(m, size);
        }
        if (good && holds_above(m))
            return true;
    }
    return false;
}

static bool each_box(model *m, segment cuts[][MOST_SEGMENTS], const int *n, piece_boxes *to)
{
    segment first[BOXES_SYMBOLS], last[BOXES_SYMBOLS];
    int boxes = 1;
    for (int k = 0; k < m->symbols.n; k++) {
        first[k] = cuts[k][0];
        last[k] = cuts[k][n[k] - 1];
        boxes *= n[k];
        if (boxes > 8 * BOXES_PIECES)
            return false;
    }
    for (int b = 0; b < boxes; b++) {
        for (int k = 0, rest = b; k < m->symbols.n; rest /= n[k++])
            m->at[k] = cuts[k][rest % n[k]];
        if (!settle(m) || !print_box(m, first, last, to))
            return false;
    }
    return true;
}

/* Few sizes that the types allow, and all of them moved alike. */
static bool all_alike(model *m, const segment *whole, piece_boxes *to)
{
    int64_t size[BOXES_SYMBOLS], all = 1;
    bool met = false;
    int open = -1; /* what the relation tells of the others, where there are too many sizes */
    for (int k = 0; k < m->symbols.n; k++) {
        all *= whole[k].hi - whole[k].lo + 1;
        if (open < 0 || whole[k].hi - whole[k].lo > whole[open].hi - whole[open].lo)
            open = k;
    }
    if (all > ENUMERATED)
        all /= whole[open].hi - whole[open].lo + 1;
    else
        open = -1;
    if (all > ENUMERATED)
        return false;
    m->n = 0;
    m->corners = 1;
    for (int64_t i = 0; i < all; i++) {
        int64_t rest = i;
        for (int k = 0; k < m->symbols.n; k++) {
            const int64_t extent = k == open ? 1 : whole[k].hi - whole[k].lo + 1;
            size[k] = k == open ? 0 : whole[k].lo + rest % extent;
            rest /= extent;
        }
        if (met ? !holds(m, size)
                : (m->pieces = piece_boxes_ask(m->call, &m->symbols, size, m->piece[0])) < 0) {
            if (met)
                return false;
            continue;
        }
        met = true;
    }
    for (int k = 0; k < m->symbols.n; k++)
        m->at[k] = whole[k];
    return met && print_box(m, whole, whole, to);
}

/* Large sizes that the types allow: ends, or whole blocks of some length near them. */
static bool find_base(const model *m, const segment *whole, int64_t *base)
{
    optune_piece piece[OPTUNE_MAX_PIECES];
    uint64_t rng = 3;
    for (int t = 0; t < ENUMERATED / 4; t++) {
        for (int k = 0; k < m->symbols.n; k++) {
            const int n = sizeof lengths / sizeof *lengths;
            const int64_t block = lengths[t ? optune_random_below(&rng, n) : 0];
            const int64_t at = whole[k].hi - (t && whole[k].hi > whole[k].lo + 8);
            base[k] = host_max(at / block * block, whole[k].lo);
        }
        if (piece_boxes_ask(m->call, &m->symbols, base, piece) >= 0)
            return true;
    }
    return false;
}

bool piece_boxes_of(const optune_call *call, piece_boxes *to)
{
    *to = (piece_boxes){0};
    model *m = malloc(sizeof *m);
    segment cuts[BOXES_SYMBOLS][MOST_SEGMENTS], whole[BOXES_SYMBOLS];
    int n[BOXES_SYMBOLS];
    if (!m)
        return false;
    m->call = call;
    m->symbols = generic_symbols_of(call);
    bool good = m->symbols.n > 0 && m->symbols.n <= BOXES_SYMBOLS;
    int64_t base[BOXES_SYMBOLS];
    for (int k = 0; k < m->symbols.n && good; k++) {
        const optune_dim *dim =
            &call->input[m->symbols.at[k].input].type.dim[m->symbols.at[k].dim];
        const int64_t highest = host_max(HIGHEST, dim->min + HIGHEST / 16);
        const int64_t beyond = dim->min == 0 ? 3 : 0; /* what 0 or 1 make is told by these */
        whole[k] = (segment){host_max(dim->min, 1),
                             host_max(host_min(dim->max, highest), beyond), 1, false};
        m->top[k] = whole[k].hi;
        m->most[k] = host_min(dim->max, OPTUNE_MAX_DIM);
        good = whole[k].lo <= whole[k].hi;
    }
    good = good && find_base(m, whole, base);
    for (int k = 0; k < m->symbols.n && good; k++)
        good = (n[k] = cut(m, k, base, whole[k].lo, whole[k].hi, cuts[k])) > 0;
    good = good && each_box(m, cuts, n, to);
    if (!good && m->symbols.n > 0 && m->symbols.n <= BOXES_SYMBOLS) {
        *to = (piece_boxes){0};
        good = all_alike(m, whole, to);
    }
    free(m);
    return good;
}
