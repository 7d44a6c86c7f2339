/* SPDX-License-Identifier: Apache-2.0 */
/* What recorded.c and recorded_text.c share. Nothing else includes this. */
#ifndef OPTUNE_RECORDED_INSIDE_H
#define OPTUNE_RECORDED_INSIDE_H

#include <jansson.h>

#include "db/recorded.h"

typedef struct ot_recording {
    const char *path;
    ot_text text;
    size_t at;
    ot_recorded *to;
    int n_raw;  /* entries so far */
    int *digit; /* n_knobs of each entry: indices need all values first */
    size_t digit_capacity;
    bool fixed;  /* the knobs are known from a head; T4 files tell them entry by entry */
    double unit; /* seconds of one unit of time */
    optune_err *err;
} ot_recording;

/* recorded_text.c: all of the file's text, in which numbers that are none are null. */
int ot_recorded_text(ot_recording *r);
/* The next character that is no space, which stays; 0: the text ends. */
char ot_recorded_next(ot_recording *r);
bool ot_recorded_take(ot_recording *r, char c); /* whether it is this one, which is passed */
/* One JSON value from here on (new reference); NULL with a message that names `what`. */
json_t *ot_recorded_value(ot_recording *r, const char *what);
/* ESYNTAX, with the number of the entry. */
int ot_recorded_wrong(ot_recording *r, const char *what);

#endif
