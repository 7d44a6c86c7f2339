/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remedy.h"

#include <errno.h>

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
    default:
        return "";
    }
}

const char *ot_start_remedy(int number)
{
    return number == EAGAIN
               ? "; this user may have no more processes: raise `ulimit -u`, or end "
                 "some"
               : ot_errno_remedy(number);
}
