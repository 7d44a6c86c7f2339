/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of the public headers that begin with their own size, so that one side may be compiled
 * against an older or a newer header than the other. The one idea: fields are only ever added at
 * the end, and 0 means what was done before there was the field.
 */
#include <string.h>

#include "base/base.h"

/* A size that is farther from ours than this was never set. */
enum { LARGEST_GROWTH = 4096 };

static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

/* Every such struct is aligned as its size is. */
int ot_sized_check(optune_err *err, const char *type, const void *given, size_t size)
{
    const size_t told = size_of(given);
    if (told >= sizeof told && told % sizeof told == 0 && told <= size + LARGEST_GROWTH)
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EVERSION,
                       "%s.size is %zu, which is the size of no %s: set it to sizeof(%s), "
                       "here %zu",
                       type, told, type, type, size);
}

int ot_sized_take(optune_err *err, const char *type, const void *given, void *own, size_t size)
{
    OT_RETURN_UNLESS_OK(ot_sized_check(err, type, given, size));
    const size_t told = size_of(given);
    for (size_t i = size; i < told; i++)
        if (((const char *)given)[i])
            return optune_fail(err, OPTUNE_EVERSION,
                               "%s was compiled against a newer version and uses a field that "
                               "version " OT_VERSION " does not have: it has %zu bytes, here "
                               "are %zu",
                               type, told, size);
    memset(own, 0, size);
    memcpy(own, given, told < size ? told : size);
    memcpy(own, &size, sizeof size);
    return OPTUNE_OK;
}

void ot_sized_give(const void *own, size_t size, void *given)
{
    const size_t told = size_of(given);
    memset(given, 0, told);
    memcpy(given, own, told < size ? told : size);
    memcpy(given, &told, sizeof told);
}
