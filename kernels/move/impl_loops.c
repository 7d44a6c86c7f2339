/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_loops.generic: any operator that moves values, over any dtype and dims.
 *
 * The one idea: an op gives its pieces for constant dims only, but their extents, strides and
 * offsets are polynomials of the dims. So those of a call with dims known at run time are found by
 * asking at a few sizes and held against the op's own answers at others. Where that fails, the
 * sizes are cut in boxes (piece_boxes.c).
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/move/piece_boxes.h"

enum {
    POINTS = 3,   /* a symbol's sizes: polynomials up to the square */
    CORNERS = 81, /* all combinations of them, for as many symbols as there may be */
    SYMBOLS_MOST = 4,
    PIECES_MOST = 16, /* what the body's words can repeat */
    PIECE_TEXT = 256,
    TRIALS = 24,
};

typedef struct fit {
    const optune_call *call;
    generic_symbols symbols;
    int64_t least[SYMBOLS_MOST], low[SYMBOLS_MOST], high[SYMBOLS_MOST], first[SYMBOLS_MOST],
        step[SYMBOLS_MOST];
    int points[SYMBOLS_MOST], corners;
    int n; /* pieces */
    optune_piece piece[CORNERS][OPTUNE_MAX_PIECES];
} fit;

static int pieces_at(const fit *f, const int64_t *size, optune_piece *piece)
{
    return piece_boxes_ask(f->call, &f->symbols, size, piece);
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
        for (int64_t step = 1; step <= 64 && f->points[k] < POINTS; step *= 2) {
            int points = 1;
            for (; points < POINTS; points++) {
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

/* Number `which` of a piece: offsets, then extent and strides of each loop. */
static int64_t number_of(const optune_piece *p, int which)
{
    const int d = (which - 2) / 3;
    return which == 0             ? p->in_offset
           : which == 1           ? p->out_offset
           : (which - 2) % 3 == 0 ? p->extent[d]
           : (which - 2) % 3 == 1 ? p->in_stride[d]
                                  : p->out_stride[d];
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
        v[c] = (double)number_of(&f->piece[c][piece], which);
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

static bool is_empty(const optune_piece *p)
{
    for (int d = 0; d < p->rank; d++)
        if (p->extent[d] == 0)
            return true;
    return false;
}

/* Holds a polynomial against the op's own pieces at other sizes. An extent below 0 is none, and
 * where there is none, offsets and strides are nobody's. */
static bool holds(const fit *f, int piece, int which, const double *v)
{
    const bool extent = which >= 2 && (which - 2) % 3 == 0;
    uint64_t rng = 5;
    int64_t size[SYMBOLS_MOST];
    optune_piece at[OPTUNE_MAX_PIECES];
    for (int t = 0; t < TRIALS && f->symbols.n; t++) {
        for (int k = 0; k < f->symbols.n; k++) {
            const int64_t below = (f->first[k] - f->low[k]) / f->step[k];
            const int64_t from = f->first[k] - below * f->step[k];
            const int64_t steps = (f->high[k] - from) / f->step[k];
            size[k] = t == 0       ? from + steps * f->step[k]
                      : t % 8 == 1 ? f->least[k]
                      : t < 6      ? from + host_min(t - 2, steps) * f->step[k]
                                   : from + optune_random_below(&rng, steps + 1) * f->step[k];
        }
        const int n = pieces_at(f, size, at);
        if (n < 0)
            continue;
        bool one = false; /* then a loop may be left out, which does not change the piece */
        for (int k = 0; k < f->symbols.n; k++)
            one = one || size[k] == 1;
        const bool whole = n == f->n && at[piece].rank == f->piece[0][piece].rank;
        const bool empty = n == f->n && is_empty(&at[piece]);
        const double value = value_at(f, v, size);
        if (n != f->n || at[piece].input != f->piece[0][piece].input ||
            (!whole && !one && !empty) ||
            ((extent ? whole : !empty && (whole || which < 2)) &&
             (double)number_of(&at[piece], which) != (extent ? fmax(value, 0) : value)))
            return false;
    }
    return true;
}

/* {input, rank, offsets, extent and strides of each loop} */
static bool print_piece(const fit *f, int piece, char text[PIECE_TEXT])
{
    const optune_piece *p = &f->piece[0][piece];
    int at = snprintf(text, PIECE_TEXT, "{%d,%d", p->input, p->rank);
    for (int which = 0; which < 2 + 3 * p->rank; which++) {
        double v[CORNERS];
        find_polynomial(f, piece, which, v);
        at += snprintf(text + at, PIECE_TEXT - (size_t)at, ",");
        if (at >= PIECE_TEXT - 1 || !holds(f, piece, which, v) ||
            !print_polynomial(f, v, text, PIECE_TEXT - 1, &at))
            return false;
    }
    return at + 1 < PIECE_TEXT && snprintf(text + at, PIECE_TEXT - (size_t)at, "}") == 1;
}

typedef struct pieces_text {
    int n;
    double fill;
    char piece[PIECES_MOST][PIECE_TEXT];
} pieces_text;

/* False: they are no polynomials, or too long. `top`: as far as the largest sizes tell, where
 * nothing is cut off. */
static bool print_pieces_at(const optune_call *call, bool top, fit *f, pieces_text *to)
{
    *f = (fit){.call = call, .symbols = generic_symbols_of(call)};
    if (f->symbols.n > SYMBOLS_MOST)
        return false;
    for (int k = 0; k < f->symbols.n; k++) {
        const optune_dim *dim =
            &call->input[f->symbols.at[k].input].type.dim[f->symbols.at[k].dim];
        /* Loops of 1 may be missing; up to 2 they have to do, or there is but one size. */
        f->low[k] = dim->min > 1 || dim->max < 2 ? dim->min : dim->max == 2 ? 1 : 2;
        f->least[k] = dim->min > 1 ? dim->min : 1;
        f->high[k] = host_min(dim->max, host_max(dim->min + 4096, (int64_t)1 << 16));
        f->low[k] = host_min(f->low[k], f->high[k]);
        f->step[k] = 1;
    }
    if (!find_points(f, top) || f->n > PIECES_MOST || !find_corners(f))
        return false;
    to->n = f->n;
    to->fill = 0;
    for (int i = 0; i < f->n; i++) {
        const optune_piece *p = &f->piece[0][i];
        if (p->input < 0 && p->fill != 0)
            to->fill = p->fill;
        if (!print_piece(f, i, to->piece[i]))
            return false;
    }
    return true;
}

/* One polynomial each for all sizes, with `boxes` empty, or those of boxes. */
static bool print_pieces(const optune_call *call, pieces_text *to, piece_boxes *boxes)
{
    fit *f = malloc(sizeof *f);
    *boxes = (piece_boxes){0};
    const bool whole =
        f && (print_pieces_at(call, false, f, to) || print_pieces_at(call, true, f, to));
    free(f);
    return whole || piece_boxes_of(call, boxes);
}

static bool applies(const optune_task *task, char *why)
{
    if (!generic_applies(task, why))
        return false;
    pieces_text *text = malloc(sizeof *text);
    piece_boxes *boxes = malloc(sizeof *boxes);
    const bool fits = text && boxes && print_pieces(task->call, text, boxes);
    free(boxes);
    free(text);
    return fits || optune_refuse(why, "its strides are no polynomials of the dims that are "
                                      "known at run time, nor of parts of their ranges");
}

static void define_text(optune_plan *plan, int m, const char *name, int i, const char *text)
{
    char whole[24];
    snprintf(whole, sizeof whole, "%s%d", name, i);
    optune_plan_define_text(plan, m, whole, text);
}

static void define_boxes(optune_plan *plan, int m, const piece_boxes *b)
{
    char text[96];
    for (int i = 0; i < b->n_blocks; i++) {
        const int64_t block = b->block[i];
        snprintf(text, sizeof text, "((S%d+%" PRId64 ")/%" PRId64 ")", b->block_of[i],
                 block - 1, block);
        define_text(plan, m, "Q", i, text);
        snprintf(text, sizeof text, "(%" PRId64 "*Q%d-S%d)", block, i, b->block_of[i]);
        define_text(plan, m, "R", i, text);
    }
    for (int i = 0; i < b->n; i++) {
        define_text(plan, m, "PIECE", i, b->piece[i]);
        define_text(plan, m, "WHEN", i, b->when[i]);
    }
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    pieces_text *text = malloc(sizeof *text);
    piece_boxes *boxes = malloc(sizeof *boxes);
    if (text && boxes && print_pieces(call, text, boxes)) {
        char fill[32];
        snprintf(fill, sizeof fill, "(%.17g)", boxes->n ? boxes->fill : text->fill);
        optune_plan_define_text(plan, m, "FILL", fill);
        optune_plan_define(plan, m, "PIECES", boxes->n ? boxes->n : text->n);
        for (int i = 0; i < text->n && !boxes->n; i++) {
            define_text(plan, m, "PIECE", i, text->piece[i]);
            define_text(plan, m, "WHEN", i, "1");
        }
        define_boxes(plan, m, boxes);
    }
    free(boxes);
    free(text);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(move, loops) = {
    .name = "loops.generic",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "element by element: any dtype, dims known at run time",
    .applies = applies,
    .plan = plan,
    .symbolic = "*",
    .generic = true,
};
