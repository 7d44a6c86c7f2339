/* SPDX-License-Identifier: Apache-2.0 */
/* What helps against an errno that is no file's fault. */
#ifndef OPTUNE_BASE_REMEDY_H
#define OPTUNE_BASE_REMEDY_H

/* Goes behind the text of the error: "; raise ..."; empty for most. */
const char *ot_errno_remedy(int number);
/* As ot_errno_remedy, of a file that could not be written: where it is a temporary one and its disk
 * is full, how to name another. */
const char *ot_write_remedy(const char *path, int number);
/* The folder of temporary files. */
const char *ot_temp_parent(void);
/* As ot_errno_remedy, of a process that could not be started. */
const char *ot_start_remedy(int number);

#endif
