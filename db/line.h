/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between log.c, which handles files, and line.c, which knows what stands on one line. Nothing
 * outside db/ includes this.
 */
#ifndef OPTUNE_DB_LINE_H
#define OPTUNE_DB_LINE_H

#include "db/db.h"

/* Reads one line without its newline. Fills everything of `line` but its number; texts are in
 * the arena, args belong to *root, which the caller releases. False: nothing to report on this
 * line (a comment, an empty line). */
bool ot_line_parse(const char *text, size_t n, const char *source, ot_arena *arena,
                   ot_log_line *line, json_t **root);
void ot_device_line(const optune_device *device, ot_text *to); /* with its newline */

#endif
