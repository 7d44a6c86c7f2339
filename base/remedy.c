/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remedy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *ot_errno_remedy(int number)
{
    switch (number) {
    case EMFILE:
        return "; this process may open no more files: raise `ulimit -n`";
    case ENFILE:
        return "; the system can open no more files: end some programs";
    case ENOMEM:
        return "; free some memory, or raise `ulimit -v`";
    case EFBIG:
        return "; a file may grow no larger: raise `ulimit -f`";
    case ELOOP:
        return "; links go in circles, or there is one where none is followed: remove it";
    default:
        return "";
    }
}

const char *ot_start_remedy(int number)
{
    if (number == ENOENT && access("/dev/null", F_OK) < 0)
        return "; there is no /dev/null here: mknod -m 666 /dev/null c 1 3";
    return number == EAGAIN
               ? "; this user may have no more processes: raise `ulimit -u`, or end "
                 "some"
               : ot_errno_remedy(number);
}

const char *ot_temp_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent ? parent : "/tmp";
}

const char *ot_write_remedy(const char *path, int number)
{
    const char *parent = ot_temp_parent();
    const size_t n = strlen(parent);
    const bool full = number == ENOSPC || number == EDQUOT;
    return full && strncmp(path, parent, n) == 0 && strncmp(path + n, "/optune-", 8) == 0
               ? "; free some space there, or name another folder for temporary files with "
                 "TMPDIR"
               : ot_errno_remedy(number);
}
