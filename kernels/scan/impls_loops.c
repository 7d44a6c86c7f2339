/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loops.generic: any dtype, axis and dims. */
#include "kernels/scan/generic.h"

#define ROW(op) GENERIC_ROW(op, "one line after the other, in any dtype", scan_generic_plan)

OPTUNE_IMPLS(scan, loops) = {ROW("cumsum"), ROW("cumprod"), {0}};
