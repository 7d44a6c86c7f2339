/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes: what one process of a user found out about this machine, kept so that the next one need
 * not. Nothing is lost with them: a note that is not there, is not ours, is damaged, or was written
 * under other circumstances is no note, and what it said is found out again.
 */
#ifndef OPTUNE_NOTE_H
#define OPTUNE_NOTE_H

#include "base/base.h"

/* The text of a note of that name (letters) which was written under the same circumstances: lines
 * that say all on which it depends. Appended to `to`. */
bool ot_note_read(const char *name, const char *circumstances, ot_text *to);
/* Where it cannot be written, nothing is. */
void ot_note_write(const char *name, const char *circumstances, const char *text);
/* Which file this is and since when it has been as it is: another one after each change, whatever
 * its times are set to. False: it cannot be told. */
bool ot_file_identity(const char *path, ot_text *to);

#endif
