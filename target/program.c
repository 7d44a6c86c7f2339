/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the worker program is. It is part of the product, so it is looked for relative to the
 * code that asks, wherever that was installed or moved to; never on PATH, where another version
 * may lie.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/target.h"

/* From the folder of the library or program: installed, moved, or in the build tree. Then the one
 * folder that this build was told (OPTUNE_WORKER_DIR). */
static const char *const places[] = {
    "",
    "/optune",
    "/../lib/optune",
    "/../libexec/optune",
    "/../lib64/optune",
    "/../../libexec/optune",
    "/..",
    "/../bin",
};

int ot_worker_program(char *path, size_t size, optune_err *err)
{
    const char *named = getenv("OPTUNE_WORKER");
    if (named && *named) {
        if (ot_copy(path, size, named) && access(path, X_OK) == 0)
            return OPTUNE_OK;
        return optune_fail(err, OPTUNE_ETOOL, "OPTUNE_WORKER names '%s', which cannot be run",
                           named);
    }
    char self[2048], text[2048 + 64];
    ot_text looked = {0};
    int status = OPTUNE_ETOOL;
    const bool placed = ot_self_dir(self, sizeof self) >= 0;
    for (int i = placed ? 0 : OT_COUNT(places); i <= OT_COUNT(places) && status < 0; i++) {
        if (i < OT_COUNT(places))
            snprintf(text, sizeof text, "%s%s/optune-worker", self, places[i]);
        else
            snprintf(text, sizeof text, "%s/optune-worker", OT_WORKER_DIR);
        if (access(text, X_OK) == 0 && ot_copy(path, size, text))
            status = OPTUNE_OK;
        else
            ot_text_printf(&looked, "%s%s", looked.n ? ", " : "", text);
    }
    if (status < 0)
        optune_fail(err, status,
                    "no program 'optune-worker'; set OPTUNE_WORKER to it; looked at %s",
                    ot_text_str(&looked));
    ot_text_release(&looked);
    return status;
}
