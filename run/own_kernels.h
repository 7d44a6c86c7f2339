/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the text of the worker's own kernels for devices begins, in CUDA's words and OpenCL C's:
 * blocks of THREADS, each thread's place ME of ALL, along one axis.
 */
#ifndef OPTUNE_OWN_KERNELS_H
#define OPTUNE_OWN_KERNELS_H

#define OT_OWN_KERNELS                                                                         \
    "#ifdef __OPENCL_VERSION__\n"                                                              \
    "#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void\n"      \
    "#define GLOBAL __global\n"                                                                \
    "#define RESTRICT restrict\n"                                                              \
    "#define ME ((long)get_global_id(0))\n"                                                    \
    "#define ALL ((long)get_global_size(0))\n"                                                 \
    "typedef long i64;\n"                                                                      \
    "#else\n"                                                                                  \
    "#define KERNEL extern \"C\" __global__ __launch_bounds__(THREADS) void\n"                 \
    "#define GLOBAL\n"                                                                         \
    "#define RESTRICT __restrict__\n"                                                          \
    "#define ME ((long long)blockIdx.x * THREADS + threadIdx.x)\n"                             \
    "#define ALL ((long long)gridDim.x * THREADS)\n"                                           \
    "typedef long long i64;\n"                                                                 \
    "#endif\n"

#endif
