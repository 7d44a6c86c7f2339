/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels/move/piece_polys.h declares.
 *
 * The one idea: an op gives its pieces for constant dims only, but their extents, strides and
 * offsets are polynomials of the dims. So those of a call with dims known at run time are found by
 * asking at a few sizes and held against the op's own answers at others.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/move/injective.h"
#include "kernels/move/piece_boxes.h"
#include "kernels/move/piece_polys.h"

enum {
    POINTS = 3,      /* a symbol's sizes: polynomials up to the square */
    FEW_SYMBOLS = 4, /* of more, one that stands in one dim has no square */
    CORNERS = 256,   /* all combinations of them, for as many symbols as there may be */
    SYMBOLS_MOST = POLYS_SYMBOLS,
    PIECES_MOST = POLYS_PIECES,
    PIECE_TEXT = POLYS_TEXT,
    TRIALS = 24,
};

typedef struct fit {
    const optune_call *call;
    bool rows; /* pieces as bodies that copy rows have them */
    generic_symbols symbols;
    int64_t least[SYMBOLS_MOST], low[SYMBOLS_MOST], high[SYMBOLS_MOST], first[SYMBOLS_MOST],
        step[SYMBOLS_MOST], most[SYMBOLS_MOST];
    int points[SYMBOLS_MOST], corners;
    bool empty[SYMBOLS_MOST]; /* it may be 0 */
    int n;                    /* pieces */
    optune_piece piece[CORNERS][OPTUNE_MAX_PIECES];
} fit;

static int pieces_at(const fit *f, const int64_t *size, optune_piece *piece)
{
    const int n = piece_boxes_ask(f->call, &f->symbols, size, piece);
    for (int i = 0; i < n && f->rows; i++)
        moves_settle(&piece[i]);
    return n;
}

/* In how many dims a symbol stands. */
static int stands_in(const fit *f, int k)
{
    int n = 0;
    for (int i = 0; i < f->call->n_inputs; i++)
        for (int d = 0; d < f->call->input[i].type.rank; d++)
            n += generic_symbol_at(&f->symbols, &f->call->input[i].type.dim[d]) == k;
    return n;
}

/* Sizes that the types allow, `step` apart: a dim that is cut in blocks has multiples only. */
static bool find_points(fit *f, bool top)
{
    int64_t size[SYMBOLS_MOST];
    optune_piece piece[OPTUNE_MAX_PIECES];
    for (int k = 0; k < f->symbols.n; k++)
        size[k] = f->first[k] = f->low[k];
    for (int64_t from = 0; from < 64; from++) {
        for (int k = 0; k < f->symbols.n; k++) {
            const int64_t least = top ? f->high[k] - (POINTS - 1) : f->low[k];
            size[k] = f->first[k] = host_min(host_max(f->low[k], least) + from, f->high[k]);
        }
        if (pieces_at(f, size, piece) >= 0)
            break;
    }
    if (pieces_at(f, size, piece) < 0) /* sizes that the types fix */
        for (int k = 0; k < f->symbols.n; k++)
            size[k] = f->first[k] = f->least[k];
    f->corners = 1;
    for (int k = 0; k < f->symbols.n; k++) {
        f->points[k] = 1;
        const int most = f->symbols.n > FEW_SYMBOLS && stands_in(f, k) < 2 ? 2 : POINTS;
        for (int64_t step = 1; step <= 64 && f->points[k] < most; step *= 2) {
            int points = 1;
            for (; points < most; points++) {
                size[k] = f->first[k] + points * step;
                if (size[k] > f->high[k] || pieces_at(f, size, piece) < 0)
                    break;
            }
            if (points > f->points[k]) {
                f->points[k] = points;
                f->step[k] = step;
            }
        }
        size[k] = f->first[k];
        f->corners *= f->points[k];
        if (f->corners > CORNERS || (f->empty[k] && f->points[k] < 2))
            return false;
    }
    return (f->n = pieces_at(f, size, piece)) >= 0;
}

/* The sizes of corner c, symbol 0 fastest. */
static void corner_sizes(const fit *f, int c, int64_t *size)
{
    for (int k = 0; k < f->symbols.n; k++) {
        size[k] = f->first[k] + c % f->points[k] * f->step[k];
        c /= f->points[k];
    }
}

static bool find_corners(fit *f)
{
    int64_t size[SYMBOLS_MOST];
    for (int c = 0; c < f->corners; c++) {
        corner_sizes(f, c, size);
        if (pieces_at(f, size, f->piece[c]) != f->n)
            return false;
        for (int i = 0; i < f->n; i++)
            if (f->piece[c][i].rank != f->piece[0][i].rank ||
                f->piece[c][i].input != f->piece[0][i].input)
                return false;
    }
    return true;
}

/* Coefficients of powers 0, 1, 2 in place of values at points first, first + step ... */
static void to_powers(double *v, int stride, int points, double first, double step)
{
    if (points < 2)
        return;
    const double v0 = v[0], v1 = v[stride], v2 = points > 2 ? v[2 * stride] : 0;
    const double square = points > 2 ? (v2 - 2 * v1 + v0) / (2 * step * step) : 0;
    const double slope = (v1 - v0) / step - square * (2 * first + step);
    v[0] = v0 - slope * first - square * first * first;
    v[stride] = slope;
    if (points > 2)
        v[2 * stride] = square;
}

static void find_polynomial(const fit *f, int piece, int which, double *v)
{
    for (int c = 0; c < f->corners; c++)
        v[c] = (double)piece_boxes_number(&f->piece[c][piece], which);
    int stride = 1;
    for (int k = 0; k < f->symbols.n; k++) {
        for (int c = 0; c < f->corners; c++)
            if (c / stride % f->points[k] == 0)
                to_powers(v + c, stride, f->points[k], (double)f->first[k], (double)f->step[k]);
        stride *= f->points[k];
    }
}

static double value_at(const fit *f, const double *v, const int64_t *size)
{
    double sum = 0;
    for (int c = 0; c < f->corners; c++) {
        double term = v[c];
        for (int k = 0, rest = c; k < f->symbols.n; rest /= f->points[k++])
            for (int power = rest % f->points[k]; power > 0; power--)
                term *= (double)size[k];
        sum += term;
    }
    return sum;
}

/* "(2*S0*S1+6)/16" */
static bool print_polynomial(const fit *f, const double *v, char *text, size_t size, int *at)
{
    double by = 1;
    for (int c = 0; c < f->corners; c++)
        while (by < 1 << 20 && v[c] * by != floor(v[c] * by))
            by *= 2;
    int terms = 0;
    *at += snprintf(text + *at, size - (size_t)*at, by > 1 ? "(" : "");
    for (int c = f->corners - 1; c >= 0 && (size_t)*at < size; c--) {
        if (v[c] == 0 && (c || terms))
            continue;
        *at += snprintf(text + *at, size - (size_t)*at, "%s%.0f",
                        terms++ && v[c] >= 0 ? "+" : "", v[c] * by);
        for (int k = 0, rest = c; k < f->symbols.n; rest /= f->points[k++])
            for (int power = rest % f->points[k]; power > 0 && (size_t)*at < size; power--)
                *at += snprintf(text + *at, size - (size_t)*at, "*S%d", k);
    }
    if (by > 1 && (size_t)*at < size)
        *at += snprintf(text + *at, size - (size_t)*at, ")/%.0f", by);
    return (size_t)*at < size && by < 1 << 20;
}

/* The coefficients with and without a symbol that has no square: all = without + S * with. */
static void split(const fit *f, const double *all, int k, double *with, double *without)
{
    int stride = 1;
    for (int i = 0; i < k; i++)
        stride *= f->points[i];
    for (int c = 0; c < f->corners; c++) {
        const bool has = c / stride % f->points[k];
        without[c] = has ? 0 : all[c];
        with[c] = has || c + stride >= f->corners ? 0 : all[c + stride];
    }
}

/* "((S0+2)*(S1+2)+1)*S2": what offsets and strides over many dims are, where it would be a text too
 * long as a sum. False: it is none. */
static bool print_nested(const fit *f, const double *v, char *text, size_t size, int *at)
{
    bool depends = false;
    for (int c = 1; c < f->corners; c++)
        depends = depends || v[c] != 0;
    if (!depends) {
        *at += snprintf(text + *at, size - (size_t)*at, "%.0f", v[0]);
        return (size_t)*at < size && v[0] == floor(v[0]);
    }
    for (int k = f->symbols.n - 1; k >= 0; k--) {
        double with[CORNERS], without[CORNERS], shift = 0;
        int nonzero = -1;
        if (f->points[k] != 2)
            continue;
        split(f, v, k, with, without);
        for (int c = f->corners - 1; c > 0 && nonzero < 0; c--)
            nonzero = with[c] != 0 ? c : -1;
        if (nonzero < 0 && with[0] == 0)
            continue;
        shift = nonzero < 0 ? 0 : without[nonzero] / with[nonzero];
        bool fits = shift == floor(shift);
        for (int c = 1; c < f->corners && fits; c++)
            fits = without[c] == shift * with[c];
        if (!fits)
            continue;
        *at += snprintf(text + *at, size - (size_t)*at, "((");
        if ((size_t)*at >= size || !print_nested(f, with, text, size, at))
            return false;
        *at += snprintf(text + *at, size - (size_t)*at, ")*(S%d%+.0f)%+.0f)", k, shift,
                        without[0] - shift * with[0]);
        return (size_t)*at < size;
    }
    return false;
}

static bool is_empty(const optune_piece *p)
{
    for (int d = 0; d < p->rank; d++)
        if (p->extent[d] == 0)
            return true;
    return false;
}

/* How many there are: all symbols that may be 0 are so at last, each alone before. */
static int trials_of(const fit *f)
{
    int n = TRIALS + f->symbols.n;
    for (int k = 0; k < f->symbols.n; k++)
        n = f->empty[k] ? TRIALS + 2 * f->symbols.n + 1 : n;
    return f->symbols.n ? n : 0;
}

/* Other sizes than those of the corners: ends, some small ones, random ones, also beside ends; then
 * each symbol at its very largest, where what a far end cuts off is seen, and at 0, where a piece
 * that is as long at all other sizes may have nothing. */
static void trial_sizes(const fit *f, int t, uint64_t *rng, int64_t *size)
{
    const int zeros = TRIALS + f->symbols.n, all = zeros + f->symbols.n;
    for (int k = 0; k < f->symbols.n && t >= zeros; k++)
        size[k] = f->empty[k] && (t == all || t - zeros == k) ? 0 : f->first[k];
    for (int k = 0; k < f->symbols.n && t >= TRIALS && t < zeros; k++)
        size[k] = t - TRIALS == k
                      ? f->first[k] + (f->most[k] - f->first[k]) / f->step[k] * f->step[k]
                      : f->first[k];
    for (int k = 0; k < f->symbols.n && t < TRIALS; k++) {
        const int64_t below = (f->first[k] - f->low[k]) / f->step[k];
        const int64_t from = f->first[k] - below * f->step[k];
        const int64_t steps = (f->high[k] - from) / f->step[k];
        size[k] = t == 0       ? from + steps * f->step[k]
                  : t % 8 == 1 ? f->least[k]
                  : t < 6      ? from + host_min(t - 2, steps) * f->step[k]
                               : from + optune_random_below(rng, steps + 1) * f->step[k];
        if (t >= 6 && optune_random_below(rng, 4) == 0)
            size[k] = f->least[k];
    }
}

/* Holds a polynomial against the op's own pieces at other sizes. An extent below 0 is none, and
 * where there is none, offsets and strides are nobody's. */
static bool holds(const fit *f, int piece, int which, const double *v)
{
    const bool extent = which >= 2 && (which - 2) % 3 == 0;
    uint64_t rng = 5;
    int64_t size[SYMBOLS_MOST];
    optune_piece at[OPTUNE_MAX_PIECES];
    for (int t = 0; t < trials_of(f); t++) {
        trial_sizes(f, t, &rng, size);
        const int n = pieces_at(f, size, at);
        if (n < 0)
            continue;
        bool one = false; /* then a loop may be left out, which does not change the piece */
        bool none =
            false; /* how many elements there are is all that counts then: counts_hold */
        for (int k = 0; k < f->symbols.n; k++) {
            one = one || size[k] == 1;
            none = none || size[k] == 0;
        }
        if (none && n == f->n && is_empty(&at[piece]))
            continue;
        const bool whole = n == f->n && at[piece].rank == f->piece[0][piece].rank;
        const bool empty = n == f->n && is_empty(&at[piece]);
        const double value = value_at(f, v, size);
        if (f->rows && empty && !whole) /* a loop of one turn, which is left out, has none */
            return false;
        if (n != f->n || at[piece].input != f->piece[0][piece].input ||
            (!whole && !one && !empty) ||
            ((extent ? whole : !empty && (whole || which < 2)) &&
             (double)piece_boxes_number(&at[piece], which) !=
                 (extent ? fmax(value, 0) : value)))
            return false;
    }
    return true;
}

/* As many elements at every size as the op's own piece has: a loop that it leaves out has one turn,
 * and no number of its own to be held against. */
static bool counts_hold(const fit *f, int piece)
{
    uint64_t rng = 5;
    int64_t size[SYMBOLS_MOST];
    optune_piece at[OPTUNE_MAX_PIECES];
    double extent[OPTUNE_MAX_AXES][CORNERS];
    const int rank = f->piece[0][piece].rank;
    for (int d = 0; d < rank; d++)
        find_polynomial(f, piece, 2 + 3 * d, extent[d]);
    for (int t = 0; t < trials_of(f); t++) {
        double own = 1, fitted = 1;
        trial_sizes(f, t, &rng, size);
        if (pieces_at(f, size, at) != f->n)
            continue;
        for (int d = 0; d < at[piece].rank; d++)
            own *= (double)at[piece].extent[d];
        for (int d = 0; d < rank; d++)
            fitted *= fmax(0, value_at(f, extent[d], size));
        if (own != fitted)
            return false;
    }
    return true;
}

static int add_text(char text[PIECE_TEXT], int at, const char *what)
{
    return at + snprintf(text + at, PIECE_TEXT - (size_t)at, "%s", what);
}

/* A number of a piece with many dims: the same one is written once. */
static bool add_number(const fit *f, const double *v, piece_polys *to, char text[PIECE_TEXT],
                       int *at)
{
    char number[PIECE_TEXT];
    int n = 0, k = 0;
    if (!print_nested(f, v, number, sizeof number, &n) &&
        (n = 0, !print_polynomial(f, v, number, sizeof number, &n)))
        return false;
    while (n > 4 && k < to->n_numbers && strcmp(to->number[k], number) != 0)
        k++;
    if (n > 4 && k == POLYS_NUMBERS)
        return false;
    if (n > 4 && k == to->n_numbers)
        memcpy(to->number[to->n_numbers++], number, (size_t)n + 1);
    if (n > 4)
        snprintf(number, sizeof number, "N%d", k);
    *at = add_text(text, *at, number);
    return *at < PIECE_TEXT - 8;
}

/* {input, rank, offsets, extent and strides of each loop}; of rows {mode, input, offsets, rank,
 * ...}, where no extent is below 0. */
static bool print_piece(const fit *f, int piece, char text[PIECE_TEXT], piece_polys *to)
{
    const optune_piece *p = &f->piece[0][piece];
    char rank[16];
    snprintf(rank, sizeof rank, ",%d", p->rank);
    int at = f->rows ? snprintf(text, PIECE_TEXT, "{%d,%d",
                                p->input < 0 ? MOVES_FILL : MOVES_ROWS, p->input)
                     : snprintf(text, PIECE_TEXT, "{%d,%d", p->input, p->rank);
    for (int which = 0; which < 2 + 3 * p->rank; which++) {
        const bool extent = which >= 2 && (which - 2) % 3 == 0;
        double v[CORNERS];
        find_polynomial(f, piece, which, v);
        at = f->rows && which == 2 ? add_text(text, at, rank) : at;
        at = at < PIECE_TEXT - 8 ? add_text(text, at, extent && f->rows ? ",MAX(0," : ",") : at;
        if (at >= PIECE_TEXT - 8 || !holds(f, piece, which, v))
            return false;
        if (f->symbols.n > FEW_SYMBOLS ? !add_number(f, v, to, text, &at)
                                       : !print_polynomial(f, v, text, PIECE_TEXT - 8, &at))
            return false;
        at = extent && f->rows ? add_text(text, at, ")") : at;
    }
    return counts_hold(f, piece) && at + 1 < PIECE_TEXT &&
           snprintf(text + at, PIECE_TEXT - (size_t)at, "}") == 1;
}

/* False: they are no polynomials, or too long. `top`: as far as the largest sizes tell, where
 * nothing is cut off. */
static bool print_pieces_at(const optune_call *call, polys_kind kind, bool top, fit *f,
                            piece_polys *to)
{
    memset(f, 0, offsetof(fit, piece)); /* what is behind is written before it is read */
    f->call = call;
    f->rows = kind == POLYS_ROWS;
    f->symbols = generic_symbols_of(call);
    if (f->symbols.n > (f->rows ? FEW_SYMBOLS : SYMBOLS_MOST))
        return false;
    for (int k = 0; k < f->symbols.n; k++) {
        const optune_dim *dim =
            &call->input[f->symbols.at[k].input].type.dim[f->symbols.at[k].dim];
        /* Loops of 1 may be missing; up to 2 they have to do, or there is but one size. What 0 or 1
         * make is told by sizes beyond them. */
        const bool few = dim->min == 0 && dim->max < 2;
        f->low[k] = dim->min > 1 || (dim->max < 2 && !few) ? dim->min : dim->max == 2 ? 1 : 2;
        f->least[k] = dim->min > 1 ? dim->min : 1;
        f->high[k] =
            few ? 2 + POINTS : host_min(dim->max, host_max(dim->min + 4096, (int64_t)1 << 16));
        f->empty[k] = dim->min == 0;
        f->most[k] = host_min(dim->max, OPTUNE_MAX_DIM);
        f->low[k] = host_min(f->low[k], f->high[k]);
        f->step[k] = 1;
    }
    if (!find_points(f, top) || f->n > PIECES_MOST || !find_corners(f))
        return false;
    to->n = f->n;
    to->n_numbers = 0;
    to->symbols = f->symbols;
    to->fill = 0;
    for (int i = 0; i < f->n; i++) {
        const optune_piece *p = &f->piece[0][i];
        if (p->input < 0 && p->fill != 0)
            to->fill = p->fill;
        if (!print_piece(f, i, to->piece[i], to))
            return false;
    }
    return true;
}

/* A copy in order is one loop over all elements, also where the types allow so few sizes that
 * nothing is to be found by asking. */
static bool print_flat(const optune_call *call, piece_polys *to)
{
    const optune_tensor *in = &call->input[0].type;
    char *text = to->piece[0];
    int n = snprintf(text, PIECE_TEXT, "{0,1,0,0,1");
    to->n = 1;
    to->n_numbers = 0;
    to->fill = 0;
    to->symbols = generic_symbols_of(call);
    for (int d = 0; d < in->rank && n < PIECE_TEXT; d++) {
        const int symbol = generic_symbol_at(&to->symbols, &in->dim[d]);
        if (optune_dim_known(&in->dim[d]))
            n += snprintf(text + n, PIECE_TEXT - (size_t)n, "*%" PRId64, in->dim[d].min);
        else if (symbol < 0)
            return false;
        else
            n += snprintf(text + n, PIECE_TEXT - (size_t)n, "*S%d", symbol);
    }
    n += n < PIECE_TEXT ? snprintf(text + n, PIECE_TEXT - (size_t)n, ",1,1}") : 0;
    return n < PIECE_TEXT;
}

bool piece_polys_of(const optune_call *call, polys_kind kind, piece_polys *to)
{
    fit *f = malloc(sizeof *f);
    const bool whole = f && (print_pieces_at(call, kind, false, f, to) ||
                             print_pieces_at(call, kind, true, f, to) ||
                             (kind == POLYS_ELEMENTS && call->op->pieces == injective_flat &&
                              print_flat(call, to)));
    free(f);
    return whole;
}
