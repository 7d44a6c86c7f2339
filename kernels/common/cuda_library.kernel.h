/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies that call NVIDIA's libraries share. They are C for the host, built with the flag
 * `-host`; the libraries' functions and the stream come as arguments, so nothing is linked. A
 * function takes `void *const *arg`: addresses on the device for buffers, pointers to functions
 * for symbols, the stream for the symbol "ot_stream". A handle lives in a static variable from
 * the PREPACK stage to the TEARDOWN stage. A call that fails says so
 * (library_failure.kernel.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_CUDA_LIBRARY_H
#define OPTUNE_KERNELS_COMMON_CUDA_LIBRARY_H

#include "kernels/common/library_failure.kernel.h"

typedef __INT64_TYPE__ i64;
typedef __SIZE_TYPE__ usize;

/* The vendor's numbers of element types. */
#define CUDA_FLOAT 0
#define CUDA_DOUBLE 1
#define CUDA_HALF 2
#define CUDA_INT8 3
#define CUDA_INT32 10
#define CUDA_BFLOAT 14

/* Of cuBLAS and cuBLASLt; what scales are given in. */
#define COMPUTE_FLOAT 68
#define COMPUTE_DOUBLE 70
#define COMPUTE_INT 72
#define COMPUTE_TF32 77

#if DOUBLES
typedef double scale;
#define SCALE_TYPE CUDA_DOUBLE
#elif INTEGERS
typedef int scale;
#define SCALE_TYPE CUDA_INT32
#else
typedef float scale;
#define SCALE_TYPE CUDA_FLOAT
#endif

#define CANNOT_START                                                                           \
    "the library cannot start here: its version must serve this driver and this GPU, and "     \
    "device memory must be left for it"

/* Of cuBLAS and cuBLASLt; 0 is success. True when it failed, which is then said. */
static int blas_failed(const char *call, int status, const char *remedy)
{
    static const struct {
        int status;
        const char *word;
    } words[] = {
        {1, "not initialized"}, {3, "allocation failed"}, {7, "invalid value"},
        {8, "architecture"},    {11, "mapping error"},    {13, "execution failed"},
        {14, "internal error"}, {15, "not supported"},    {16, "license error"},
    };
    const char *why = "failed";
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].status == status)
            why = words[i].word;
    if (status)
        fail(call, status, why, remedy);
    return status != 0;
}

#endif
