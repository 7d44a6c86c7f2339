/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between log.c, which handles files, and line.c, which knows what stands on one line. Nothing
 * outside db/ includes this.
 */
#ifndef OPTUNE_DB_LINE_H
#define OPTUNE_DB_LINE_H

#include "db/db.h"

struct ot_record_field;
typedef struct ot_heads ot_heads;

enum { OT_LINE_VERSION = 1 };
#define OT_INPUT_PREFIX "{\"input\":"

/* Reads one line of n bytes without its newline, whatever they are. Fills everything of `line` but
 * its number; texts are in the arena or those of a head, args belong to *root, which the caller
 * releases. `heads`: those of the log so far (head.h), to which the line may add; NULL: none.
 * False: nothing to report on this line (a comment, an empty line, a head). */
bool ot_line_parse(const char *text, size_t n, const char *source, ot_heads *heads,
                   ot_arena *arena, ot_log_line *line, json_t **root);
bool ot_line_is_head(const char *text, size_t n); /* it says what short lines lean on */
/* The same for a line that is, byte for byte, as ot_record_line wrote it, and whose record is
 * sound; false: ot_line_parse's other ways may still read it, and `line` is to be made anew. */
bool ot_line_own(const char *text, size_t n, ot_arena *arena, ot_log_line *line);
/* line_field.c: a field as a member of a JSON object, with a comma unless it is the first one, as
 * many objects as lines have; AutoTVM's [target, task, args, kwargs]; and the reverse of the i-th
 * field, texts into the arena: NULL, or the problem. */
void ot_line_add_field(ot_text *to, const optune_record *record,
                       const struct ot_record_field *field);
void ot_line_add_input(ot_text *to, const optune_record *record);
const char *ot_line_read_field(const json_t *ours, int number, ot_arena *arena,
                               optune_record *record);
/* Length of the JSON value at the start of s[n]; 0: it does not end there. */
size_t ot_line_value_length(const char *s, size_t n);
/* A device line begins so; the rest of it is read by ot_device_read: NULL, or the problem. */
#define OT_FORGET_PREFIX "# optune forget "
#define OT_DEVICE_PREFIX "# optune device "
const char *ot_device_read(const json_t *json, ot_arena *arena, const optune_device **device);
void ot_device_line(const optune_device *device, ot_text *to); /* with its newline */

/* log.c: whole lines, with one write(2). */
int ot_log_append_lines(ot_log *log, ot_text *lines, optune_err *err);
struct ot_said *ot_log_said(ot_log *log); /* head.h: what it has said, as far as it is there */

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
