/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_team.gpu: the body that both scans share. */
#include "kernels/scan/impls_team.kernel.cu"
