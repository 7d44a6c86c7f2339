/* SPDX-License-Identifier: Apache-2.0 */
/* A long run at a glance: each workload so far in a row, for `--watch`. */
#ifndef OPTUNE_CLI_BOARD_H
#define OPTUNE_CLI_BOARD_H

#include <stdio.h>

#include "optune/optune.h"

typedef struct ot_board ot_board;

ot_board *ot_board_open(void); /* NULL: out of memory */
void ot_board_close(ot_board *board);
void ot_board_add(ot_board *board, const optune_progress *progress);
/* At most `lines` lines, each behind itself with an end, none wider than `width`: a heading and
 * the rows around the current workload. `pictures`: of the best so far, in UTF-8. Returns how many
 * lines; 0: nothing is known yet, or there is no room. */
int ot_board_print(const ot_board *board, int width, int lines, bool pictures, FILE *to);

#endif
