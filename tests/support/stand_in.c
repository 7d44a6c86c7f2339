/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins take the system's compiler and no header of ours. */
#include "support/stand_in.h"

#include "support/check.h"

const char *stand_in_build(const char *dir, const char *source, const char *name,
                           const char *define)
{
    static char path[4][1200];
    static int turn;
    optune_err err = {0};
    char from[512], nothing[] = "-DSTAND_IN";
    char *file = path[turn = (turn + 1) % OT_COUNT(path)];
    snprintf(from, sizeof from, OT_SOURCE_DIR "/tests/data/%s", source);
    snprintf(file, sizeof *path, "%s/%s", dir, name);
    char *build[] = {(char[]){OT_CC},
                     (char[]){"-shared"},
                     (char[]){"-fPIC"},
                     define ? (char *)(uintptr_t)define : nothing,
                     (char[]){"-o"},
                     file,
                     from,
                     NULL};
    check_ok(ot_run_program(build, 60, NULL, &err));
    return file;
}
