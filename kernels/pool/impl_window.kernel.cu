/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_window.gpu: the largest of each window. */
#define MEAN 0
#include "kernels/pool/impls_window.kernel.cu"
