/* SPDX-License-Identifier: Apache-2.0 */
/* cumprod_loops.generic: any dtype, axis and dims. */
#include "kernels/scan/generic.h"

OPTUNE_IMPL(cumprod, loops) = GENERIC_ROW("cumprod", "one line after the other, in any dtype",
                                          scan_generic_plan);
