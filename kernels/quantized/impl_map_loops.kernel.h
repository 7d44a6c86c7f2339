/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_map, generic: an item is an element of the output. LEAST is the data's least number. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(out, O0);
    return elements(out, RANK);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    for (; first < last; first++)
        WRITE(0, first, READ(1, (i64)READ(0, first) - (LEAST)));
}

GENERIC_ENTRY
