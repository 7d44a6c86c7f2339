/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a process is. One that exists to run candidates is the target's: where its threads sit, how
 * they wait and what its environment says is set for all of it. Any other is somebody's program,
 * whose threads, old and new, and whose environment stay as they are, but for what the math
 * libraries that it computes with read, at their first call and later (MKL_THREADING_LAYER ...).
 */
#ifndef OPTUNE_TARGET_PROCESS_H
#define OPTUNE_TARGET_PROCESS_H

#include <stdbool.h>

/* Says that this process, and what is forked of it, is the target's. */
void ot_process_claim(void);
bool ot_process_claimed(void);

/* Of such a process, for when it waits for something else than its next run: threads of OpenMP that
 * idle, and spin for a while at first, end; the next run makes others. Nothing where there are
 * none, and in any other process. */
void ot_process_rest(void);

#endif
