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
    default:
        return "";
    }
}
