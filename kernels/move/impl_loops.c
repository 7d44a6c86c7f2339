/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_loops.generic: any operator that moves values, over any dtype and dims. Pieces of constant
 * dims are numbers. Of dims known at run time operators of this room say where each element comes
 * from, exactly (injective_places); of others the numbers are polynomials of these dims
 * (piece_polys.c), or where they are none for all sizes, the sizes are cut in boxes
 * (piece_boxes.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/host.h"
#include "kernels/move/injective.h"
#include "kernels/move/piece_boxes.h"
#include "kernels/move/piece_polys.h"

/* One polynomial each for all sizes, with `boxes` empty, or those of boxes. */
static bool print_pieces(const optune_call *call, piece_polys *to, piece_boxes *boxes)
{
    *boxes = (piece_boxes){0};
    return piece_polys_of(call, POLYS_ELEMENTS, to) || piece_boxes_of(call, boxes);
}

static const struct {
    const char *op;
    void (*places)(const optune_call *call, injective_places *to);
} exact[] = {
    {"transpose", transpose_places},
    {"reverse", reverse_places},
    {"pad", pad_places},
    {"concatenate", concatenate_places},
    {"strided_slice", strided_slice_places},
    {"layout_transform", layout_transform_places},
};

/* False: all is known and inputs are few enough that each piece has code of its own, or the
 * operator does not say. */
static bool places_of(const optune_call *call, injective_places *to)
{
    enum { MOST_PIECES = 16 };
    bool known = call->n_inputs <= MOST_PIECES;
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    if (known)
        return false;
    if (call->op->pieces == injective_flat) { /* in order, so in the data's own shape */
        *to = injective_axes(call);
        return true;
    }
    for (int i = 0; i < (int)(sizeof exact / sizeof *exact); i++)
        if (strcmp(exact[i].op, call->op->name) == 0) {
            exact[i].places(call, to);
            return true;
        }
    return false;
}

static bool applies(const optune_task *task, char *why)
{
    injective_places exactly;
    if (!generic_applies(task, why))
        return false;
    if (places_of(task->call, &exactly))
        return true;
    piece_polys *text = malloc(sizeof *text);
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

static void define_fill(optune_plan *plan, int m, double fill)
{
    char text[32];
    snprintf(text, sizeof text, "(%.17g)", fill);
    optune_plan_define_text(plan, m, "FILL",
                            isnan(fill)         ? "(-GENERIC_INFINITY * 0)"
                            : fill == INFINITY  ? "GENERIC_INFINITY"
                            : fill == -INFINITY ? "(-GENERIC_INFINITY)"
                                                : text);
}

static void define_list(optune_plan *plan, int m, const char *name, const int64_t *first, int n,
                        size_t step)
{
    char text[OPTUNE_MAX_RANK * 24] = "0";
    for (int i = 0, at = 0; i < n; i++) {
        const int64_t value = *(const int64_t *)((const char *)first + (size_t)i * step);
        const int64_t most = 4 * OPTUNE_MAX_DIM; /* what lies farther outside is no other */
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%" PRId64, i ? ", " : "",
                       host_max(host_min(value, most), -most));
    }
    optune_plan_define_text(plan, m, name, text);
}

static void define_dims(optune_plan *plan, int m, const char *side, const injective_dim *dim,
                        int n)
{
    int64_t axis[OPTUNE_MAX_RANK];
    char name[24];
    for (int d = 0; d < n; d++)
        axis[d] = dim[d].axis;
    snprintf(name, sizeof name, "%s_AXIS", side);
    define_list(plan, m, name, axis, n, sizeof *axis);
    snprintf(name, sizeof name, "%s_UNIT", side);
    define_list(plan, m, name, &dim->unit, n, sizeof *dim);
    snprintf(name, sizeof name, "%s_WITHIN", side);
    define_list(plan, m, name, &dim->within, n, sizeof *dim);
}

static void define_places(optune_plan *plan, int m, const injective_places *p)
{
    bool cut = false, split = false;
    for (int a = 0; a < p->axes; a++)
        cut = cut || p->step[a] || p->from[a] || p->to[a];
    for (int d = 0; d < p->n_in; d++)
        split = split || p->in[d].within || p->in[d].unit > 1;
    optune_plan_define(plan, m, "PLACES", 1);
    optune_plan_define(plan, m, "AXES", p->axes);
    optune_plan_define(plan, m, "CUT", cut);
    optune_plan_define(plan, m, "SPLIT", split);
    optune_plan_define(plan, m, "JOINED", p->joined);
    define_dims(plan, m, "IN", p->in, p->n_in);
    define_dims(plan, m, "OUT", p->out, p->n_out);
    define_list(plan, m, "FROM", p->from, p->axes, sizeof *p->from);
    define_list(plan, m, "TO", p->to, p->axes, sizeof *p->to);
    define_list(plan, m, "STEP", p->step, p->axes, sizeof *p->step);
    optune_plan_define(plan, m, "PLACES_RANK", p->n_out);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    injective_places exactly;
    if (places_of(call, &exactly)) {
        define_places(plan, m, &exactly);
        define_fill(plan, m, exactly.fill);
        generic_stage(task, plan, m);
        return;
    }
    piece_polys *text = malloc(sizeof *text);
    piece_boxes *boxes = malloc(sizeof *boxes);
    if (text && boxes && print_pieces(call, text, boxes)) {
        define_fill(plan, m, boxes->n ? boxes->fill : text->fill);
        optune_plan_define(plan, m, "PIECES", boxes->n ? boxes->n : text->n);
        for (int i = 0; i < text->n_numbers && !boxes->n; i++)
            define_text(plan, m, "N", i, text->number[i]);
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
