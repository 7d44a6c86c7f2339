/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program of somebody's is told and what it prints: a command as words with places to fill,
 * and patterns that find numbers in text. No shell ever reads either.
 */
#ifndef OPTUNE_BASE_PROGRAM_H
#define OPTUNE_BASE_PROGRAM_H

#include "base/base.h"

enum { OT_PROGRAM_WORDS = 120, OT_PATTERN_NUMBERS = 8 };

typedef struct ot_words {
    int n;
    char *word[OT_PROGRAM_WORDS + 1]; /* in an arena; NULL behind the last */
} ot_words;

/* Adds the words of a text: they end at blanks. 'What is in single quotes' is taken as it stands,
 * in double quotes a backslash keeps a quote or a backslash, elsewhere it keeps any character. "":
 * an empty word. ESYNTAX: a quote without its end; ELIMIT. */
int ot_words_add(ot_words *words, const char *text, ot_arena *arena, optune_err *err);
/* One word, so written that it is read as itself. */
void ot_word_quote(const char *word, ot_text *to);

/* Writes the value of a name; false: there is none of that name. */
typedef bool (*ot_filler)(void *arg, const char *name, ot_text *to);
/* A text with each {name} filled in; `{{` and `}}` are braces, and so is one that no name follows.
 * ENOENT: the name of a place that has no value. */
int ot_fill(const char *text, ot_filler filler, void *arg, ot_text *to, optune_err *err);
/* Every word filled in. One that is a place and nothing else becomes the words of its value, so
 * that `-O3 -g` is two and an empty value none. */
int ot_words_fill(const ot_words *words, ot_filler filler, void *arg, ot_words *to,
                  ot_arena *arena, optune_err *err);

/* `took {time} s at {rate} GFLOP/s`: text with places for numbers; a run of blanks stands for any.
 * `{}` is {time}. */
typedef struct ot_pattern {
    const char *text;
    int n; /* numbers in it */
    char name[OT_PATTERN_NUMBERS][OPTUNE_NAME_SIZE];
} ot_pattern;
/* ESYNTAX: no place in it, two places with nothing between them, a name twice. `text` must outlive
 * it. */
int ot_pattern_read(const char *text, ot_pattern *pattern, optune_err *err);
/* Where in `text` it first fits, with its numbers; NULL: nowhere. *end: behind it. Numbers are
 * written as C writes them: `1,234` and `0,5` fit nowhere, rather than by a half. */
const char *ot_pattern_find(const ot_pattern *pattern, const char *text, double *number,
                            const char **end);

/* The digest of a file's first 256 MiB and, beyond them, its length; "absent": there is no such
 * file, or it cannot be read. One that has been as it is for some seconds is read once in a
 * process, until it changes. */
void ot_file_digest(const char *path, char hex[33]);

#endif
