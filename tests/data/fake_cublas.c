/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libcublas.so that cannot start, as a library does that is too new for the driver.
 *
 * Build: cc -shared -fPIC -o libcublas.so tests/data/fake_cublas.c, found through LD_LIBRARY_PATH
 */
#define API __attribute__((visibility("default"))) int

enum { NOT_INITIALIZED = 1 };

API cublasGetProperty(int part, int *value)
{
    *value = part;
    return 0;
}

API cublasCreate_v2(void **handle)
{
    *handle = 0;
    return NOT_INITIALIZED;
}

API cublasSetStream_v2(void *handle, void *stream)
{
    (void)handle;
    (void)stream;
    return NOT_INITIALIZED;
}

API cublasSetWorkspace_v2(void *handle, void *workspace)
{
    (void)handle;
    (void)workspace;
    return NOT_INITIALIZED;
}

API cublasGemmEx(void *handle)
{
    (void)handle;
    return NOT_INITIALIZED;
}

API cublasDestroy_v2(void *handle)
{
    (void)handle;
    return NOT_INITIALIZED;
}
