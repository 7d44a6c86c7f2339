/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum, generic. */
#include "kernels/scan/impls_loops.kernel.h"
