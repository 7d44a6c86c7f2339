/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'rows'. */
#include "kernels/pool/compute.h"
#include "kernels/pool/impls_rows.kernel.c"
