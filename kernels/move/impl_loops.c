/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_loops.generic: any operator that moves values, over any dtype and dims. The numbers of its
 * pieces are polynomials of the dims known at run time (piece_polys.c); where they are none for all
 * sizes, the sizes are cut in boxes (piece_boxes.c).
 */
#include <stdlib.h>

#include "kernels/move/piece_boxes.h"
#include "kernels/move/piece_polys.h"

/* One polynomial each for all sizes, with `boxes` empty, or those of boxes. */
static bool print_pieces(const optune_call *call, piece_polys *to, piece_boxes *boxes)
{
    *boxes = (piece_boxes){0};
    return piece_polys_of(call, POLYS_ELEMENTS, to) || piece_boxes_of(call, boxes);
}

static bool applies(const optune_task *task, char *why)
{
    if (!generic_applies(task, why))
        return false;
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

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    piece_polys *text = malloc(sizeof *text);
    piece_boxes *boxes = malloc(sizeof *boxes);
    if (text && boxes && print_pieces(call, text, boxes)) {
        char fill[32];
        snprintf(fill, sizeof fill, "(%.17g)", boxes->n ? boxes->fill : text->fill);
        optune_plan_define_text(plan, m, "FILL", fill);
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
