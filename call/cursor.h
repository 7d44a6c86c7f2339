/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the text of a call: a place in it, the words there, and messages that point at one.
 * Seen by the files of this room that read calls, and by nobody else.
 */
#ifndef OPTUNE_CALL_CURSOR_H
#define OPTUNE_CALL_CURSOR_H

#include "call/inside.h"

enum { OT_MAX_WORD = 256 };

typedef struct ot_cursor {
    const char *text; /* all of it */
    const char *p;    /* where reading goes on */
    optune_err *err;
} ot_cursor;

/* The reason, the text around `at`, and a caret under it. Both return `status`. */
int ot_point_text(const ot_cursor *c, const char *at, int status, const char *reason);
int ot_point(const ot_cursor *c, const char *at, int status, const char *format, ...)
    OPTUNE_PRINTF(4, 5);

void ot_skip(ot_cursor *c);           /* white space */
bool ot_eat(ot_cursor *c, char what); /* after white space; false: something else is there */
size_t ot_identifier(const char *p);  /* length of the one that starts there; 0: none does */
/* ELIMIT, with its message, when it has OT_MAX_WORD characters or more. */
int ot_copy_word(const ot_cursor *c, const char *from, size_t n, char word[OT_MAX_WORD]);

/* tensor_text.c: f32[?m:1..64,768] at the cursor, which moves behind it. */
int ot_read_tensor(ot_cursor *c, optune_tensor *type);

#endif
