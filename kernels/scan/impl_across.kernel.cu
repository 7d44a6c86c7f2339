/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_across.gpu: the body that both scans share. */
#include "kernels/scan/impls_across.kernel.cu"
