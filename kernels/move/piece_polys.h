/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of a move whose dims are known at run time as polynomials of these, S0 ... in the
 * order of `symbols`: as text of a body's arrays. Host code only.
 */
#ifndef OPTUNE_KERNELS_MOVE_PIECE_POLYS_H
#define OPTUNE_KERNELS_MOVE_PIECE_POLYS_H

#include "kernels/host/generic.h"
#include "kernels/move/moves.h"

enum {
    POLYS_SYMBOLS = 8,
    POLYS_PIECES = OPTUNE_MAX_PIECES, /* what the bodies' words can repeat */
    POLYS_TEXT = 256,
    POLYS_NUMBERS = 40, /* that have macros of their own, N0 ... */
};

typedef enum polys_kind {
    POLYS_ELEMENTS, /* as the op says them, for impl_loops.kernel.h */
    POLYS_ROWS,     /* as moves_of makes them, for rows_body.kernel.h */
} polys_kind;

typedef struct piece_polys {
    int n;
    double fill;
    generic_symbols symbols;
    char piece[POLYS_PIECES][POLYS_TEXT];
    int n_numbers; /* of pieces with many dims: what would make their texts too long */
    char number[POLYS_NUMBERS][POLYS_TEXT];
} piece_polys;

/* False: they are no polynomials for all sizes, or too long. */
bool piece_polys_of(const optune_call *call, polys_kind kind, piece_polys *to);

#endif
