/* SPDX-License-Identifier: Apache-2.0 */
/* What helps against an errno that is no file's fault. */
#ifndef OPTUNE_BASE_REMEDY_H
#define OPTUNE_BASE_REMEDY_H

/* Goes behind the text of the error: "; raise ..."; empty for most. */
const char *ot_errno_remedy(int number);
/* The same of a process that could not be started. */
const char *ot_start_remedy(int number);

#endif
