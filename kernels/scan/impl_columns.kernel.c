/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_columns.cpu: the body that both scans share, with PRODUCT from the plan. */
#include "kernels/scan/impls_columns.kernel.c"
