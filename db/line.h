/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between log.c, which handles files, and line.c, which knows what stands on one line. Nothing
 * outside db/ includes this.
 */
#ifndef OPTUNE_DB_LINE_H
#define OPTUNE_DB_LINE_H

#include "db/db.h"

/* Reads one line of n bytes without its newline, whatever they are. Fills everything of `line` but
 * its number; texts are in the arena, args belong to *root, which the caller releases. False:
 * nothing to report on this line (a comment, an empty line). */
bool ot_line_parse(const char *text, size_t n, const char *source, ot_arena *arena,
                   ot_log_line *line, json_t **root);
/* The same for a line that is, byte for byte, as ot_record_line wrote it, and whose record is
 * sound; false: ot_line_parse's other ways may still read it, and `line` is to be made anew. */
bool ot_line_own(const char *text, size_t n, ot_arena *arena, ot_log_line *line);
/* A device line begins so; the rest of it is read by ot_device_read: NULL, or the problem. */
#define OT_FORGET_PREFIX "# optune forget "
#define OT_DEVICE_PREFIX "# optune device "
const char *ot_device_read(const json_t *json, ot_arena *arena, const optune_device **device);
void ot_device_line(const optune_device *device, ot_text *to); /* with its newline */

/* log.c: whole lines, with one write(2). */
int ot_log_append_lines(ot_log *log, ot_text *lines, optune_err *err);

/* input.c: the lines of a source that may be anything. */
typedef struct ot_input ot_input;
/* EUSAGE, EIO, ENOENT with the remedy. */
int ot_input_open(const ot_log_source *source, ot_input **input, optune_err *err);
/* The next line without its newline; a line that is too long is cut off behind OT_LONGEST_LINE and
 * a byte. *ended: it had its newline. 1: there is none; else as ot_log_read_from. */
int ot_input_line(ot_input *input, ot_text *line, bool *ended, optune_err *err);
/* The caller took the last line for something. */
void ot_input_good(ot_input *input);
void ot_input_close(ot_input *input);

#endif
