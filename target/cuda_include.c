/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the headers of CUDA's toolkit are, which kernels that are brought include (cuda_fp16.h,
 * mma.h, cooperative_groups.h): NVRTC has none of them in itself. Those beside the NVRTC at hand
 * come first, as headers and compiler are of one version there.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "target/cuda.h"

static const char header[] = "cuda_fp16.h";

/* The newest folder of such a pattern that has the header. */
static bool try_pattern(const char *folder, char *path, size_t size)
{
    char pattern[OT_CUDA_PLACE + sizeof header];
    glob_t found = {0};
    bool took = false;
    snprintf(pattern, sizeof pattern, "%s/%s", folder, header);
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !took;) {
            *strrchr(found.gl_pathv[i], '/') = '\0';
            took = ot_copy(path, size, found.gl_pathv[i]);
        }
    globfree(&found);
    return took;
}

/* LIB/libnvrtc.so: the toolkit's folder is one above LIB or, of targets/ARCH/lib, three; Python's
 * packages lie side by side, the headers in those of the runtime. */
static bool try_beside(const ot_nvrtc *nvrtc, char *path, size_t size)
{
    Dl_info at;
    static const char *const near[] = {"../include", "../../../include", "../../*/include"};
    char real[PATH_MAX], folder[OT_CUDA_PLACE];
    void *function;
    memcpy(&function, &nvrtc->nvrtcVersion, sizeof function);
    char *slash =
        dladdr(function, &at) && realpath(at.dli_fname, real) ? strrchr(real, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    for (int i = 0; i < OT_COUNT(near); i++) {
        snprintf(folder, sizeof folder, "%s/%s", real, near[i]);
        if (try_pattern(folder, path, size))
            return true;
    }
    return false;
}

static bool try_home(const char *variable, char *path, size_t size)
{
    const char *home = getenv(variable);
    char folder[PATH_MAX];
    return home && *home &&
           snprintf(folder, sizeof folder, "%s/include", home) < (int)sizeof folder &&
           try_pattern(folder, path, size);
}

bool ot_cuda_headers(const ot_nvrtc *nvrtc, char *path, size_t size)
{
    static const char *const patterns[] = {
        "/usr/local/cuda/include", "/usr/local/cuda-*/include", "/opt/cuda*/include",
        "/usr/include", "/usr/{lib,local/lib}/python3*/{site,dist}-packages/nvidia/*/include"};
    char python[2][OT_CUDA_PLACE];
    if (try_beside(nvrtc, path, size) || try_home("CUDA_HOME", path, size) ||
        try_home("CUDA_PATH", path, size))
        return true;
    for (int i = 0; i < OT_COUNT(patterns); i++)
        if (try_pattern(patterns[i], path, size))
            return true;
    const int n = ot_cuda_python("include", python);
    for (int i = 0; i < n; i++)
        if (try_pattern(python[i], path, size))
            return true;
    return false;
}
