/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that call cuBLAS: the stages around theirs. Body side:
 * kernels/matmul/library/cublas.kernel.h. Host code only. */
#ifndef OPTUNE_KERNELS_COMMON_CUBLAS_PLAN_H
#define OPTUNE_KERNELS_COMMON_CUBLAS_PLAN_H

#include "kernels/host/cuda_types.h"

/* Makes the handle before any run and destroys it behind the last. */
void cublas_handle(optune_plan *plan, int module);

/* Adds the stage that calls it, with what `ready` of the body side takes behind its arguments. */
void cublas_stage(optune_plan *plan, optune_stage stage);

#endif
