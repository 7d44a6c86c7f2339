/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies that call cuBLAS share: the handle's life and the interface's numbers. cuBLAS
 * stores by columns, so bodies let it compute the transposed product. Row side:
 * kernels/matmul/library/cublas_plan.h, which defines WORKSPACE.
 */
#ifndef OPTUNE_KERNELS_COMMON_CUBLAS_H
#define OPTUNE_KERNELS_COMMON_CUBLAS_H

#include "kernels/common/cuda_library.kernel.h"

enum { NO_TRANS = 0, TRANS = 1, DEFAULT_ALGORITHM = -1 };

static void *handle;

/* arg: cublasCreate, cublasSetStream, stream */
void begin(void *const *arg)
{
    if (!blas_failed("cublasCreate", ((int (*)(void **))arg[0])(&handle), CANNOT_START))
        blas_failed("cublasSetStream", ((int (*)(void *, void *))arg[1])(handle, arg[2]), "");
}

/* arg: cublasSetWorkspace, workspace. Without one that is ours it would allocate one in every
 * graph that captures it. True: there is a handle and it has one. */
static int ready(void *const *arg)
{
    typedef int set_workspace(void *handle, void *workspace, usize bytes);
    return handle && !blas_failed("cublasSetWorkspace",
                                  ((set_workspace *)arg[0])(handle, arg[1], WORKSPACE), "");
}

/* arg: cublasDestroy */
void end(void *const *arg)
{
    if (handle)
        ((int (*)(void *))arg[0])(handle);
    handle = 0;
}

#endif
