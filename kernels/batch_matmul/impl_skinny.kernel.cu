/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul_skinny.gpu by the body that all matrix products share. */
#include "kernels/common/gemm_gpu.h"
