/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of CPUs in this process. A folder may be mounted so that nothing in it is executed
 * (noexec): what lies there is loaded from a file without a name.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "target/library.h"

/* Ours alone: who has such a file himself names it /proc/self. */
static const char nameless[] = "/proc/thread-self/fd/";

/* -1: this machine has no such files, or the module cannot be read. */
static int copy(const char *path)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    const int to = from < 0 ? -1 : memfd_create("optune-module", MFD_CLOEXEC);
    ssize_t n = 0;
    while (to >= 0 &&
           ((n = sendfile(to, from, NULL, 1 << 20)) > 0 || (n < 0 && errno == EINTR)))
        ;
    if (from >= 0)
        close(from);
    if (to >= 0 && n < 0) {
        close(to);
        return -1;
    }
    return to;
}

void *ot_cpu_module_open(const char *path, bool *noexec)
{
    char name[sizeof nameless + 16];
    struct statvfs where;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *noexec = !module && statvfs(path, &where) == 0 && (where.f_flag & ST_NOEXEC);
    const int file = *noexec ? copy(path) : -1;
    if (file < 0)
        return module;
    snprintf(name, sizeof name, "%s%d", nameless, file);
    module = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        close(file);
    return module;
}

void ot_cpu_module_close(void *module)
{
    struct link_map *map = NULL;
    int file = -1;
    /* Open until now: the loader takes a second module of one name for the first. */
    if (dlinfo(module, RTLD_DI_LINKMAP, &map) == 0 &&
        strncmp(map->l_name, nameless, sizeof nameless - 1) == 0)
        file = atoi(map->l_name + sizeof nameless - 1);
    dlclose(module);
    if (file >= 0)
        close(file);
}
