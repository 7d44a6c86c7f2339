/* SPDX-License-Identifier: Apache-2.0 */
/* Every piece row by row, BLOCK elements at a time. */
#include "kernels/injective/rows_body.h"

#define HOW move_rows

#include "kernels/injective/every_piece.h"
