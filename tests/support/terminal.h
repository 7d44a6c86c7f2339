/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built program at a terminal of its own, of any size.
 */
#ifndef OPTUNE_TESTS_TERMINAL_H
#define OPTUNE_TESTS_TERMINAL_H

#include "support/command.h"

/* All that it wrote to its terminal, stderr included, and its exit code. The text is the
 * caller's. */
ot_text terminal_start(int rows, int columns, const char *const *argv, int *code);

#endif
