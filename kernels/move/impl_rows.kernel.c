/* SPDX-License-Identifier: Apache-2.0 */
/* Every piece row by row, BLOCK elements at a time. */
#include "kernels/move/rows_body.h"

#define HOW move_rows

#include "kernels/move/every_piece.h"
