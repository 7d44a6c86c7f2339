/* SPDX-License-Identifier: Apache-2.0 */
/* EXPRESSION over operands that are broadcast to the output; an item is one of its elements. */
#define ALONE 1024
#include "kernels/common/generic_scalar.kernel.h"

/* An operand's dims reach the output's last ones; a 1 is repeated, 0 is not. What the call's
 * type says of the output (a shape that an attribute gives) counts, too; -1: nothing. */
#define WIDEN(k)                                                                               \
    {                                                                                          \
        DIMS(dim, X##k);                                                                       \
        for (int d = 0; d < X##k##_RANK; d++)                                                  \
            if (dim[d] != 1)                                                                   \
                out[O0_RANK - X##k##_RANK + d] = dim[d];                                       \
    }

INLINE void shape(const generic_call *c, i64 *out)
{
    DIMS(known, O0);
    for (int d = 0; d < 8; d++)
        out[d] = d < O0_RANK && known[d] >= 0 ? known[d] : 1;
    EACH_INPUT(WIDEN)
}

/* Where an operand has the element at a place of the output. */
INLINE i64 offset(const i64 *dim, int rank, const i64 *at)
{
    i64 o = 0, stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        if (dim[d] != 1)
            o += at[O0_RANK - rank + d] * stride;
        stride *= dim[d];
    }
    return o;
}

INLINE i64 items(const generic_call *c)
{
    i64 out[8];
    shape(c, out);
    return elements(out, O0_RANK);
}

#define OPERAND(k)                                                                             \
    DIMS(dim##k, X##k);                                                                        \
    const i64 from##k = offset(dim##k, X##k##_RANK, at);                                       \
    const i64 step##k = X##k##_RANK > 0 && dim##k[X##k##_RANK > 0 ? X##k##_RANK - 1 : 0] != 1;
#define VALUE(k) const X##k##_V x##k = (X##k##_V)READ(k, from##k + j * step##k);

/* Runs along the innermost dim. */
INLINE void some(const generic_call *c, i64 first, i64 last)
{
    i64 out[8], at[8];
    shape(c, out);
    while (first < last) {
        place(first, out, O0_RANK, at);
        const i64 row =
            O0_RANK > 0 ? out[O0_RANK > 0 ? O0_RANK - 1 : 0] - at[O0_RANK > 0 ? O0_RANK - 1 : 0]
                        : 1;
        const i64 n = MIN(last - first, row);
        EACH_INPUT(OPERAND)
        for (i64 j = 0; j < n; j++) {
            EACH_INPUT(VALUE)
            WRITE(0, first + j, RESULT(EXPRESSION));
        }
        first += n;
    }
}

GENERIC_ENTRY
