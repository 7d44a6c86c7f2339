/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies that call NVIDIA's libraries share. They are C for the host, built with the flag
 * `-host`; the libraries' functions and the stream come as arguments, so nothing is linked. A
 * function takes `void *const *arg`: addresses on the device for buffers, pointers to functions
 * for symbols, the stream for the symbol "ot_stream". A handle lives in a static variable from the
 * PREPACK stage to the TEARDOWN stage. A call that fails leaves the output as it was, which
 * verifying notices.
 */
#ifndef OPTUNE_KERNELS_COMMON_CUDA_LIBRARY_H
#define OPTUNE_KERNELS_COMMON_CUDA_LIBRARY_H

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

#endif
