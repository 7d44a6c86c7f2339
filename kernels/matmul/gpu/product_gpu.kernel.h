/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels of a product on GPUs are given behind their operands, in all bodies: each
 * parameter is there where the call has such a thing, in the order in which plans pass them
 * (matmul_gpu_dims of kernels/matmul/gpu/matmul_gpu.h). Macros of the plan: BIAS, B and M (the
 * most, where B_VARIES or M_VARIES says that they come at run time), SPLITS.
 *
 * OUTPUT_PARAMETERS(type) are those of a kernel that stores an output of this type,
 * PRODUCT_PARAMETERS those of the one that multiplies: where SPLITS blocks share the depth, it
 * knows nothing of the bias and of what is fused. BATCHES and ROWS are how many there are.
 */
#ifndef OPTUNE_KERNELS_COMMON_PRODUCT_GPU_H
#define OPTUNE_KERNELS_COMMON_PRODUCT_GPU_H

#include "kernels/common/epilogue_gpu.kernel.h"

#if BIAS
#define BIAS_PARAMETER(type) , GLOBAL const type *RESTRICT bias
#else
#define BIAS_PARAMETER(type)
#endif

#if B_VARIES
#define BATCHES_PARAMETER , i64 all_batches
#define BATCHES all_batches
#else
#define BATCHES_PARAMETER
#define BATCHES B
#endif

#if M_VARIES
#define ROWS_PARAMETER , i64 all_rows
#define ROWS all_rows
#else
#define ROWS_PARAMETER
#define ROWS M
#endif

#define OUTPUT_PARAMETERS(type)                                                                \
    BIAS_PARAMETER(type) BATCHES_PARAMETER ROWS_PARAMETER EPILOGUE_PARAMETERS

#if SPLITS > 1
#define BIAS_HERE 0
#define EPILOGUE_HERE 0
#define PRODUCT_PARAMETERS(type) BATCHES_PARAMETER ROWS_PARAMETER
#else
#define BIAS_HERE BIAS
#define EPILOGUE_HERE EPILOGUE
#define PRODUCT_PARAMETERS(type) OUTPUT_PARAMETERS(type)
#endif

#endif
