/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's libraries that implementations call, opened at run time and never linked: cuBLAS,
 * cuBLASLt and cuDNN. Nothing here calls them but for their version.
 */
#include <dlfcn.h>
#include <string.h>

#include "target/cuda.h"

static const struct {
    const char *lib, *stem, *version; /* the function size_t f(void) that tells its version */
} known[] = {
    {"cublas", "cublas", NULL},
    {"cublaslt", "cublasLt", "cublasLtGetVersion"},
    {"cudnn", "cudnn", "cudnnGetVersion"},
};

static int position(const char *lib, optune_err *err)
{
    for (int i = 0; i < OT_COUNT(known); i++)
        if (strcmp(known[i].lib, lib) == 0)
            return i;
    return optune_fail(err, OPTUNE_ENODEV,
                       "cuda knows no library '%s': it has cublas, cublaslt and cudnn", lib);
}

int ot_cuda_library_of(const char *lib, void **handle, optune_err *err)
{
    const int i = position(lib, err);
    return i < 0 ? i : ot_cuda_library_open(known[i].stem, handle, NULL, 0, err);
}

int ot_cuda_library_version(const char *lib, char *text, size_t size, optune_err *err)
{
    void *handle;
    const int i = position(lib, err);
    if (i < 0)
        return i;
    const int status = ot_cuda_library_open(known[i].stem, &handle, NULL, 0, err);
    if (status < 0)
        return status;
    if (known[i].version) {
        size_t (*tell)(void);
        void *const symbol = dlsym(handle, known[i].version);
        if (!symbol)
            return optune_fail(err, OPTUNE_EVERSION, "lib%s does not tell its version",
                               known[i].stem);
        memcpy(&tell, &symbol, sizeof tell);
        snprintf(text, size, "library=%s %zu\n", lib, tell());
        return OPTUNE_OK;
    }
    /* cuBLAS tells its version by parts, without a handle. */
    int (*property)(int, int *);
    void *const symbol = dlsym(handle, "cublasGetProperty");
    int part[3] = {0};
    if (!symbol)
        return optune_fail(err, OPTUNE_EVERSION, "libcublas does not tell its version");
    memcpy(&property, &symbol, sizeof property);
    for (int k = 0; k < 3; k++)
        property(k, &part[k]);
    snprintf(text, size, "library=%s %d.%d.%d\n", lib, part[0], part[1], part[2]);
    return OPTUNE_OK;
}
