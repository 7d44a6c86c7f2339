/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is refused. What the library allocates comes from malloc, and where that has nothing
 * from a reserve of its own, so that what was begun ends as it always does, with nothing leaked and
 * no lock held; the public function then gives ENOMEM instead of what it made (ot_memory_end). The
 * build includes this file first in every file of the library (CMakeLists.txt), so that no file
 * needs to know of it: what other libraries allocate stays theirs.
 */
#ifndef OPTUNE_BASE_RESERVE_H
#define OPTUNE_BASE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* As malloc and its like; memory of the reserve is only ever given to who cannot do without. */
void *ot_reserve_calloc(size_t n, size_t size);
void *ot_reserve_malloc(size_t size);
void *ot_reserve_realloc(void *memory, size_t size);
void ot_reserve_free(void *memory); /* of either, and of what others got by malloc */
/* Whether this thread took of the reserve since it was last asked. */
bool ot_reserve_taken(void);

#define free ot_reserve_free
#define realloc ot_reserve_realloc

#endif
