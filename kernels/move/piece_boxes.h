/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of a move whose dims are known at run time, where no polynomials say them for all
 * sizes: the sizes are cut in boxes, in each of which every number of a piece is a polynomial of
 * the dims, or of how many blocks of some length they have and what the last one lacks. Host code
 * only.
 */
#ifndef OPTUNE_KERNELS_MOVE_PIECE_BOXES_H
#define OPTUNE_KERNELS_MOVE_PIECE_BOXES_H

#include "kernels/host/generic.h"

enum {
    BOXES_PIECES = 32, /* what the body's words can repeat */
    BOXES_TEXT = 256,
    BOXES_SYMBOLS = 4,
    BOXES_BLOCKS = 8, /* block lengths in use, for all symbols */
};

typedef struct piece_boxes {
    int n;
    double fill;
    char piece[BOXES_PIECES][BOXES_TEXT], when[BOXES_PIECES][BOXES_TEXT];
    /* Blocks of this symbol, of this length: Q<i> is how many, R<i> what they exceed it by. */
    int n_blocks, block_of[BOXES_BLOCKS];
    int64_t block[BOXES_BLOCKS];
} piece_boxes;

/* The op's pieces where the symbols have these sizes, -1 what the others make of it; negative: its
 * types do not allow them, or leave something open, or its elements cannot be counted. */
int piece_boxes_ask(const optune_call *call, const generic_symbols *symbols,
                    const int64_t *size, optune_piece *piece);

/* False: none were found, or they are too many. */
bool piece_boxes_of(const optune_call *call, piece_boxes *to);

/* Number `which` of a piece: offsets, then extent and strides of each loop. */
int64_t piece_boxes_number(const optune_piece *p, int which);

#endif
