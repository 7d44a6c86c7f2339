/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries from open files. The loader takes a name that it knows for the object it knows, which
 * may be one that it keeps though it was closed, while the numbers of files come again.
 *
 * The one idea: a path may have any number of `/` and `/./` between two of its parts, so that one
 * file has as many names as are wanted, and none is used twice.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "target/library.h"

static const char files[] = "/proc/thread-self/fd";
enum { BITS = 32, NAME = sizeof files + 2 * BITS + 16 };

/* By chance, as another copy of this code may be in the same process. */
static void new_name(int file, char name[NAME])
{
    uint32_t chance = (uint32_t)(ot_now() * 1e9);
    if (getrandom(&chance, sizeof chance, 0) < 0)
        chance ^= (uint32_t)file;
    char *at = stpcpy(name, files);
    for (int i = 0; i < BITS; i++)
        at = stpcpy(at, chance >> i & 1 ? "/." : "/");
    snprintf(at, (size_t)(name + NAME - at), "/%d", file);
}

void *ot_library_of_file(int file)
{
    char name[NAME];
    new_name(file, name);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

const char *ot_library_why(void)
{
    const char *why = dlerror(), *behind;
    if (!why)
        return "";
    behind = strncmp(why, files, sizeof files - 1) == 0 ? strstr(why, ": ") : NULL;
    return behind ? behind + 2 : why;
}
