/* SPDX-License-Identifier: Apache-2.0 */
/* Notes (base/note.h) in a cache of the test's own, and one that says something else. */
#ifndef OPTUNE_TESTS_NOTES_H
#define OPTUNE_TESTS_NOTES_H

#include <stdbool.h>

/* From now on the cache is DIR/cache, which is empty. */
void notes_begin(const char *dir);
const char *notes_path(void); /* DIR/cache/notes */
int notes_count(void);
/* The path of the first one whose name begins so; it is there, or the test fails. */
const char *notes_one(const char *name);
/* Another text in place of what it has, once; its digest is right again. */
void notes_change(const char *path, const char *from, const char *to);

#endif
