/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons: two operands of one dtype, a bool (u1: one byte, 0 or 1) out. */
#ifndef OPTUNE_KERNELS_COMPARE_H
#define OPTUNE_KERNELS_COMPARE_H

#include "kernels/elementwise/binary.h"

static inline int compare_types(optune_call *call, optune_err *err)
{
    optune_tensor *lhs = &call->input[0].type, *rhs = &call->input[1].type;
    optune_dtype truth = {.code = OPTUNE_DTYPE_BOOL, .bits = 1, .lanes = 1};
    if (!optune_dtype_unify(&lhs->dtype, &rhs->dtype))
        return optune_types_differ(err, "their dtypes differ", "lhs", lhs, "rhs", rhs);
    if (!optune_dtype_unify(&call->output[0].dtype, &truth))
        return optune_fail(err, OPTUNE_ETYPE, "the output of '%s' is bool", call->op->name);
    return optune_broadcast_shapes(call, 0, 1, err);
}

#endif
