/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_loops.generic: any dtype, axis and dims. */
#include "kernels/cumsum/generic.h"

GENERIC_IMPL(cumsum, loops, "one line after the other, in any dtype", scan_generic_plan);
