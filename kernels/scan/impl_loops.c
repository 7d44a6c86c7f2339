/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_loops.generic: any dtype, axis and dims. */
#include "kernels/scan/generic.h"

OPTUNE_IMPL(scan, loops) = GENERIC_ROW("cumsum", "one line after the other, in any dtype",
                                         scan_generic_plan);
