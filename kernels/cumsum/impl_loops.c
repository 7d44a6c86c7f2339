/* SPDX-License-Identifier: Apache-2.0 */
/* cumsum_loops.generic: any dtype, axis and dims. */
#include "kernels/cumsum/generic.h"

OPTUNE_IMPL(cumsum, loops) = GENERIC_ROW("cumsum", "one line after the other, in any dtype",
                                         scan_generic_plan);
