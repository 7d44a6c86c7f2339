/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod, generic. */
#include "kernels/scan/impls_loops.kernel.h"
