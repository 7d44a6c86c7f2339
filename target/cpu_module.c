/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of CPUs in this process. A folder may be mounted so that nothing in it is executed
 * (noexec): what lies there is loaded from a file without a name.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "target/library.h"

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
    struct statvfs where;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *noexec = !module && statvfs(path, &where) == 0 && (where.f_flag & ST_NOEXEC);
    const int file = *noexec ? copy(path) : -1;
    if (file < 0)
        return module;
    module = ot_library_of_file(file);
    close(file);
    return module;
}
