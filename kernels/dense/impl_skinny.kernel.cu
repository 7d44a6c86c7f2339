/* SPDX-License-Identifier: Apache-2.0 */
/* dense_skinny.gpu by the body that all matrix products share. */
#include "kernels/common/gemm_gpu.h"
