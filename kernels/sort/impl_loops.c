/* SPDX-License-Identifier: Apache-2.0 */
/* sort_loops.generic: any dtype, axis and dims. */
#include "kernels/sort/generic.h"

GENERIC_IMPL(sort, loops, "a heap in the output, line by line, in any dtype",
             order_generic_plan);
