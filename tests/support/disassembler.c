/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/support/disassembler.h declares. */
#include "support/disassembler.h"

#include <glob.h>

#include "support/check.h"

#include "target/cuda.h"

bool disassembler_here(void)
{
    static const char *const builds[] = {OT_BUILD_DIR, OT_SOURCE_DIR "/build"};
    optune_err err = {0};
    char text[OPTUNE_TEXT_SIZE], path[4096];
    for (int i = 0; i < OT_COUNT(builds) && !getenv("OPTUNE_NVDISASM"); i++) {
        glob_t found = {0};
        snprintf(path, sizeof path, "%s/peers/nvdisasm/nvidia/*/bin/nvdisasm", builds[i]);
        if (glob(path, 0, NULL, &found) == 0)
            setenv("OPTUNE_NVDISASM", found.gl_pathv[0], 1);
        globfree(&found);
    }
    const bool here = ot_cuda_ask_version(NULL, text, sizeof text, &err) >= 0 &&
                      ot_cuda_disassembler(path, sizeof path, &err) >= 0;
    if (!here)
        print_message("%s\n", err.text);
    return here;
}
