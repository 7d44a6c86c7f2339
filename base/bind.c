/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries opened when they are first needed, so that a program that only asks questions
 * loads none of them. What was opened stays open. */
#include <dlfcn.h>
#include <string.h>

#include "base/base.h"

int ot_bind(const char *const *files, const char *package, const char *const *symbols, int n,
            void *functions, optune_err *err)
{
    void *handle = NULL;
    for (int i = 0; files[i] && !handle; i++)
        handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return optune_fail(err, OPTUNE_ETOOL, "cannot open '%s' (%s); install %s", files[0],
                           dlerror(), package);
    for (int i = 0; i < n; i++) {
        void *const symbol = dlsym(handle, symbols[i]);
        if (!symbol)
            return optune_fail(err, OPTUNE_EVERSION, "'%s' has no function '%s'", files[0],
                               symbols[i]);
        memcpy((char *)functions + (size_t)i * sizeof symbol, &symbol, sizeof symbol);
    }
    return OPTUNE_OK;
}
