/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_window.gpu: the mean of each window. */
#define MEAN 1
#include "kernels/pool/impls_window.kernel.cu"
