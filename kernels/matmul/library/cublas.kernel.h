/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies that call cuBLAS share: the handle's life and the interface's numbers. cuBLAS
 * stores by columns, so bodies let it compute the transposed product. Row side:
 * kernels/matmul/library/cublas_plan.h, which defines WORKSPACE.
 */
#ifndef OPTUNE_KERNELS_COMMON_CUBLAS_H
#define OPTUNE_KERNELS_COMMON_CUBLAS_H

#include "kernels/common/cuda_users.kernel.h"

enum { NO_TRANS = 0, TRANS = 1, DEFAULT_ALGORITHM = -1 };

static void *handles[MOST_STREAMS];

/* arg: cublasCreate, cublasSetStream, stream */
void begin(void *const *arg)
{
    const int place = first_user(arg[2]);
    if (place < 0)
        return;
    void *handle = 0;
    const int status = ((int (*)(void **))arg[0])(&handle);
    handles[place] = blas_failed("cublasCreate", status, CANNOT_START) ? 0 : handle;
    if (handles[place])
        blas_failed("cublasSetStream", ((int (*)(void *, void *))arg[1])(handle, arg[2]), "");
}

/* arg: cublasSetWorkspace, workspace, stream. Without one that is ours it would allocate one in
 * every graph that captures it. The handle, which has one; NULL: it has failed, which is said. */
static void *ready(void *const *arg)
{
    typedef int set_workspace(void *handle, void *workspace, usize bytes);
    const int place = place_of(arg[2]);
    void *const handle = place < 0 ? 0 : handles[place];
    if (!handle)
        fail("cublasSetWorkspace", 0, "there is no handle", "");
    else if (!blas_failed("cublasSetWorkspace",
                          ((set_workspace *)arg[0])(handle, arg[1], WORKSPACE), ""))
        return handle;
    return 0;
}

/* arg: cublasDestroy, stream */
void end(void *const *arg)
{
    const int place = last_user(arg[1]);
    if (place >= 0 && handles[place])
        ((int (*)(void *))arg[0])(handles[place]);
    if (place >= 0)
        handles[place] = 0;
    leave(arg[1]);
}

#endif
