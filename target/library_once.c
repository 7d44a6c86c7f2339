/* SPDX-License-Identifier: Apache-2.0 */
/* A worker opens each library once, whoever asks for functions of it how often. */
#include <string.h>

#include "target/library.h"

void *ot_libraries_open(ot_libraries *all, const char *name,
                        int (*open)(void *arg, const char *name, void **handle,
                                    optune_err *err),
                        void *arg, optune_err *err)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->item[i].name, name) == 0)
            return all->item[i].handle;
    if (all->n == OT_MOST_LIBRARIES) {
        optune_fail(err, OPTUNE_ELIMIT, "more than %d libraries", (int)OT_MOST_LIBRARIES);
        return NULL;
    }
    void *handle = NULL;
    if (open(arg, name, &handle, err) < 0)
        return NULL;
    ot_copy(all->item[all->n].name, OPTUNE_NAME_SIZE, name);
    all->item[all->n++].handle = handle;
    return handle;
}
